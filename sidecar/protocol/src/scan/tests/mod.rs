//! The scanner against answers as MySQL sends them, in both EOF styles.

mod frames;
mod kinds;

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
        let mut expected = vec![
            Event::ResultSet { columns: 2 },
            Event::Column,
            Event::Column,
            Event::Row,
            Event::Row,
            Event::End { status: AUTOCOMMIT },
        ];
        if style == OLD {
            expected.insert(3, Event::DefinitionsEnd);
        }
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
