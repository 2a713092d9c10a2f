//! The scanner against answers as MySQL sends them, in both EOF styles.

use bytes::BytesMut;
use proptest::prelude::*;

use super::*;
use crate::capability::server_offer;
use crate::frame::{encode_packet, payload};
use crate::row::TextRowWriter;
use crate::{ColumnDef, ColumnFlags, ColumnType, OkPacket};

const MODERN: CapabilityFlags = CapabilityFlags::CLIENT_DEPRECATE_EOF;
const OLD: CapabilityFlags = CapabilityFlags::empty();
const STYLES: [CapabilityFlags; 2] = [MODERN, OLD];
const AUTOCOMMIT: StatusFlags = StatusFlags::SERVER_STATUS_AUTOCOMMIT;
const MORE: StatusFlags = StatusFlags::SERVER_MORE_RESULTS_EXISTS;

/// A server's answer under construction.
struct Answer {
    capabilities: CapabilityFlags,
    sequence: u8,
    wire: BytesMut,
}

impl Answer {
    fn new(capabilities: CapabilityFlags) -> Self {
        Self {
            capabilities,
            sequence: 1,
            wire: BytesMut::new(),
        }
    }

    fn packet(mut self, payload: &[u8]) -> Self {
        encode_packet(&mut self.sequence, payload, &mut self.wire);
        self
    }

    fn column(self, name: &[u8]) -> Self {
        let column = ColumnDef {
            catalog: b"def",
            schema: b"shop",
            table: b"t",
            org_table: b"t",
            name,
            org_name: name,
            collation: 255,
            length: 80,
            kind: ColumnType::MYSQL_TYPE_VAR_STRING,
            flags: ColumnFlags::empty(),
            decimals: 0,
            default: None,
        };
        let mut payload = BytesMut::new();
        column.encode(&mut payload);
        self.packet(&payload)
    }

    /// The EOF behind definitions, where there is one.
    fn eof(self, status: StatusFlags) -> Self {
        if self.capabilities.contains(MODERN) {
            return self;
        }
        let mut payload = BytesMut::new();
        EofPacket {
            warnings: 0,
            status,
        }
        .encode(&mut payload);
        self.packet(&payload)
    }

    fn row(self, value: &[u8]) -> Self {
        let mut payload = BytesMut::new();
        TextRowWriter::new(&mut payload).value(value);
        self.packet(&payload)
    }

    fn end(self, status: StatusFlags) -> Self {
        let mut payload = BytesMut::new();
        OkPacket {
            status,
            ..OkPacket::default()
        }
        .encode_end(self.capabilities, &mut payload);
        self.packet(&payload)
    }

    fn ok(self, status: StatusFlags) -> Self {
        let mut payload = BytesMut::new();
        OkPacket {
            status,
            ..OkPacket::default()
        }
        .encode(self.capabilities, &mut payload);
        self.packet(&payload)
    }

    fn err(self) -> Self {
        let mut payload = BytesMut::new();
        ErrPacket::new(1064, *b"42000", "no").encode(&mut payload);
        self.packet(&payload)
    }

    fn result(self, rows: &[&[u8]], status: StatusFlags) -> Self {
        let head = self
            .packet(b"\x02")
            .column(b"a")
            .column(b"b")
            .eof(AUTOCOMMIT);
        rows.iter()
            .fold(head, |answer, row| answer.row(row))
            .end(status)
    }

    fn scanner(&self, reply: Reply) -> ReplyScanner {
        ReplyScanner::new(reply, self.capabilities, 1)
    }
}

/// Feeds the answer in pieces of `piece` bytes as a relay does. Gives the events
/// and checks that every byte went by.
fn run(scanner: &mut ReplyScanner, wire: &[u8], piece: usize) -> Vec<Event> {
    let (mut buf, mut passed, mut events) = (BytesMut::new(), BytesMut::new(), Vec::new());
    for bytes in wire.chunks(piece) {
        buf.extend_from_slice(bytes);
        loop {
            let found = scanner.scan(&buf).unwrap();
            let step = buf.split_to(found.skip + found.len);
            passed.extend_from_slice(&step);
            if found.event == Event::NeedMore {
                assert_eq!(found.len, 0);
                break;
            }
            events.push(found.event);
        }
    }
    assert!(passed == wire, "every byte goes by");
    assert!(scanner.is_done());
    assert!(!scanner.is_inside_packet());
    events
}

#[test]
fn a_result_shows_its_head_and_its_end() {
    for style in STYLES {
        let answer = Answer::new(style).result(&[b"1", b"2", b"3"], AUTOCOMMIT);
        for piece in [1, 2, 3, 7, 1000] {
            let events = run(&mut answer.scanner(Reply::Command), &answer.wire, piece);
            let expected = [
                Event::ResultSet { columns: 2 },
                Event::End { status: AUTOCOMMIT },
            ];
            assert_eq!(events, expected);
        }
    }
}

#[test]
fn columns_and_rows_are_shown_when_asked_for() {
    for style in STYLES {
        let answer = Answer::new(style).result(&[b"1", b"2"], AUTOCOMMIT);
        let mut scanner = answer
            .scanner(Reply::Command)
            .surface_columns(true)
            .surface_rows(true);
        let expected = [
            Event::ResultSet { columns: 2 },
            Event::Column,
            Event::Column,
            Event::Row,
            Event::Row,
            Event::End { status: AUTOCOMMIT },
        ];
        assert_eq!(run(&mut scanner, &answer.wire, 5), expected);
    }
}

#[test]
fn an_answer_goes_on_while_there_are_more_results() {
    for style in STYLES {
        let answer = Answer::new(style)
            .result(&[b"1"], AUTOCOMMIT | MORE)
            .ok(AUTOCOMMIT | MORE)
            .result(&[], AUTOCOMMIT | MORE)
            .err();
        let events = run(&mut answer.scanner(Reply::Command), &answer.wire, 11);
        let expected = [
            Event::ResultSet { columns: 2 },
            Event::End {
                status: AUTOCOMMIT | MORE,
            },
            Event::Ok {
                status: AUTOCOMMIT | MORE,
            },
            Event::ResultSet { columns: 2 },
            Event::End {
                status: AUTOCOMMIT | MORE,
            },
            Event::Err,
        ];
        assert_eq!(events, expected);
    }
}

#[test]
fn an_error_ends_rows() {
    for style in STYLES {
        let answer = Answer::new(style)
            .packet(b"\x01")
            .column(b"a")
            .eof(AUTOCOMMIT)
            .row(b"1")
            .err();
        let events = run(&mut answer.scanner(Reply::Command), &answer.wire, 4);
        assert_eq!(events, [Event::ResultSet { columns: 1 }, Event::Err]);
    }
}

#[test]
fn a_row_of_several_frames_is_one_row_whatever_its_first_byte() {
    for style in STYLES {
        for length in [MAX_FRAME - 9, MAX_FRAME + 100] {
            // Behind the full frame the payload begins with 0xFE, as an end does.
            let answer = Answer::new(style).result(&[&vec![0xFE; length], b"x"], AUTOCOMMIT);
            let expected = [
                Event::ResultSet { columns: 2 },
                Event::End { status: AUTOCOMMIT },
            ];
            for piece in [1 << 20, 64 << 20] {
                let events = run(&mut answer.scanner(Reply::Command), &answer.wire, piece);
                assert_eq!(events, expected);
            }
            let mut scanner = answer.scanner(Reply::Command).surface_rows(true);
            let events = run(&mut scanner, &answer.wire, 16 << 20);
            assert_eq!(
                events.iter().filter(|&&event| event == Event::Row).count(),
                2
            );
        }
    }
}

#[test]
fn a_shown_row_of_several_frames_is_put_together() {
    let answer = Answer::new(MODERN).result(&[&vec![7; MAX_FRAME]], AUTOCOMMIT);
    let mut scanner = answer.scanner(Reply::Command).surface_rows(true);
    let head = scanner.scan(&answer.wire).unwrap();
    let rest = &answer.wire[head.skip + head.len..];
    let found = scanner.scan(rest).unwrap();
    assert_eq!(found.event, Event::Row);
    let row = payload(&rest[found.skip..found.skip + found.len]);
    assert_eq!(row.len(), MAX_FRAME + 4);
    assert!(row[4..].iter().all(|&byte| byte == 7));
}

#[test]
fn a_huge_row_is_passed_on_in_parts_and_a_small_one_is_not() {
    let small = Answer::new(MODERN).result(&[&[7; 1000]], AUTOCOMMIT);
    let mut scanner = small.scanner(Reply::Command);
    let head = scanner.scan(&small.wire).unwrap();
    let rest = &small.wire[head.skip + head.len..];
    let rows_at = rest.len() - 1007 - 11;
    let found = scanner.scan(&rest[..rows_at + 500]).unwrap();
    assert_eq!((found.skip, found.event), (rows_at, Event::NeedMore));
    assert!(!scanner.is_inside_packet());

    let huge = Answer::new(MODERN).result(&[&[7; KEPT_BACK]], AUTOCOMMIT);
    let mut scanner = huge.scanner(Reply::Command);
    let head = scanner.scan(&huge.wire).unwrap();
    let rest = &huge.wire[head.skip + head.len..];
    let found = scanner.scan(&rest[..rows_at + 500]).unwrap();
    assert_eq!((found.skip, found.event), (rows_at + 500, Event::NeedMore));
    assert!(scanner.is_inside_packet());
}

#[test]
fn a_cursor_ends_the_answer_behind_the_definitions() {
    let open = AUTOCOMMIT | StatusFlags::SERVER_STATUS_CURSOR_EXISTS;
    for style in STYLES {
        let head = Answer::new(style).packet(b"\x01").column(b"a").eof(open);
        let answer = if style == MODERN {
            head.end(open)
        } else {
            head
        };
        let events = run(&mut answer.scanner(Reply::Command), &answer.wire, 6);
        assert_eq!(
            events,
            [Event::ResultSet { columns: 1 }, Event::End { status: open }]
        );

        let fetched = Answer::new(style)
            .packet(b"\0\0\x01a")
            .packet(b"\0\0\x01b")
            .end(open);
        let events = run(&mut fetched.scanner(Reply::Fetch), &fetched.wire, 6);
        assert_eq!(events, [Event::End { status: open }]);
    }
}

#[test]
fn out_parameters_are_followed_by_the_calls_ok() {
    // As MySQL 9.7.4 sends them: for old clients, the EOF behind the row has no flags.
    let flags = AUTOCOMMIT | MORE | StatusFlags::SERVER_PS_OUT_PARAMS;
    for style in STYLES {
        let end = if style == MODERN { flags } else { AUTOCOMMIT };
        let answer = Answer::new(style)
            .packet(b"\x01")
            .column(b"o")
            .eof(flags)
            .packet(b"\0\0\x03\0\0\0")
            .end(end)
            .ok(AUTOCOMMIT);
        let events = run(&mut answer.scanner(Reply::Command), &answer.wire, 6);
        let expected = [
            Event::ResultSet { columns: 1 },
            Event::End { status: flags },
            Event::Ok { status: AUTOCOMMIT },
        ];
        assert_eq!(events, expected);
    }
}

#[test]
fn an_answer_to_prepare_is_complete_behind_its_last_definition() {
    for style in STYLES {
        for (params, columns) in [(0, 0), (2, 0), (0, 1), (1, 2)] {
            let head = PrepareOk {
                statement: 1,
                columns,
                params,
                warnings: 0,
            };
            let mut payload = BytesMut::new();
            head.encode(&mut payload);
            let mut answer = Answer::new(style).packet(&payload);
            let mut expected = vec![Event::PrepareOk(head)];
            for (count, event) in [(params, Event::Param), (columns, Event::Column)] {
                for _ in 0..count {
                    answer = answer.column(b"?");
                    expected.push(event);
                }
                if count > 0 {
                    answer = answer.eof(AUTOCOMMIT);
                }
            }
            expected.push(Event::Complete);
            let mut scanner = answer.scanner(Reply::Prepare).surface_columns(true);
            assert_eq!(run(&mut scanner, &answer.wire, 9), expected);
            let events = run(&mut answer.scanner(Reply::Prepare), &answer.wire, 9);
            assert_eq!(events, [Event::PrepareOk(head), Event::Complete]);
        }
    }
}

#[test]
fn the_other_answers_have_their_own_ends() {
    for style in STYLES {
        let fields = Answer::new(style).column(b"a").column(b"b").end(AUTOCOMMIT);
        let events = run(&mut fields.scanner(Reply::FieldList), &fields.wire, 8);
        assert_eq!(events, [Event::End { status: AUTOCOMMIT }]);

        let line = Answer::new(style).packet(b"Uptime: 1  Threads: 2");
        assert_eq!(
            run(&mut line.scanner(Reply::Statistics), &line.wire, 8),
            [Event::Text]
        );

        // SET_OPTION and DEBUG answer with an end rather than an OK.
        let option = Answer::new(style).end(AUTOCOMMIT);
        let events = run(&mut option.scanner(Reply::Command), &option.wire, 8);
        assert_eq!(events, [Event::End { status: AUTOCOMMIT }]);

        let refused = Answer::new(style).err();
        for reply in [
            Reply::Prepare,
            Reply::FieldList,
            Reply::Statistics,
            Reply::Fetch,
        ] {
            assert_eq!(
                run(&mut refused.scanner(reply), &refused.wire, 8),
                [Event::Err]
            );
        }
    }
}

#[test]
fn a_file_is_asked_for_and_the_answer_goes_on_behind_it() {
    let asks = Answer::new(MODERN).packet(b"\xfb/etc/passwd");
    let mut scanner = asks.scanner(Reply::Command);
    assert_eq!(scanner.scan(&asks.wire).unwrap().event, Event::Infile);
    assert!(!scanner.is_done());
    scanner.set_sequence(4);
    let ok = Answer {
        sequence: 4,
        ..Answer::new(MODERN)
    }
    .ok(AUTOCOMMIT);
    assert_eq!(
        run(&mut scanner, &ok.wire, 100),
        [Event::Ok { status: AUTOCOMMIT }]
    );
}

#[test]
fn the_next_answer_of_a_pipeline_is_left_alone() {
    let both = Answer::new(MODERN).ok(AUTOCOMMIT).ok(AUTOCOMMIT);
    let mut scanner = both.scanner(Reply::Command);
    let found = scanner.scan(&both.wire).unwrap();
    let rest = &both.wire[found.len..];
    assert!(scanner.is_done());
    let nothing = Found {
        skip: 0,
        len: 0,
        event: Event::NeedMore,
    };
    assert_eq!(scanner.scan(rest), Ok(nothing));
}

#[test]
fn sequence_numbers_wrap_and_are_checked() {
    let rows: Vec<&[u8]> = vec![b"x"; 600];
    let answer = Answer::new(MODERN).result(&rows, AUTOCOMMIT);
    assert_eq!(
        run(&mut answer.scanner(Reply::Command), &answer.wire, 100).len(),
        2
    );

    let mut broken = answer.wire.clone();
    let last_row = broken.len() - 11 - 6;
    broken[last_row + 3] ^= 1;
    let mut scanner = answer.scanner(Reply::Command);
    let head = scanner.scan(&broken).unwrap();
    let failed = scanner.scan(&broken[head.skip + head.len..]);
    assert!(
        matches!(failed, Err(ProtocolError::OutOfOrder { .. })),
        "{failed:?}"
    );
}

#[test]
fn answers_that_mysql_never_gives_are_malformed() {
    let scan = |reply, wire: &[u8]| ReplyScanner::new(reply, MODERN, 1).scan(wire);
    assert!(scan(Reply::Command, b"\0\0\0\x01").is_err());
    assert!(scan(Reply::Command, b"\x02\0\0\x01\x01\x01").is_err());
    assert!(scan(Reply::Command, b"\x02\0\0\x01\0\0").is_err());
    assert!(scan(Reply::Prepare, b"\x01\0\0\x01\x02").is_err());
    assert!(scan(Reply::Command, b"\xff\xff\xff\x01\x01").is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_pass_more_than_there_is(
        wire: Vec<u8>,
        reply in prop::sample::select(vec![
            Reply::Command, Reply::Prepare, Reply::FieldList, Reply::Statistics, Reply::Fetch,
        ]),
        modern: bool,
    ) {
        let capabilities = if modern { server_offer() } else { OLD };
        let mut scanner = ReplyScanner::new(reply, capabilities, wire.get(3).copied().unwrap_or(1));
        let mut rest = &wire[..];
        while let Ok(found) = scanner.scan(rest) {
            prop_assert!(found.skip + found.len <= rest.len());
            rest = &rest[found.skip + found.len..];
            if found.event == Event::NeedMore {
                break;
            }
        }
    }
}
