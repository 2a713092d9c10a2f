//! Answers other than plain results.

use super::*;

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
                    expected.extend((style == OLD).then_some(Event::DefinitionsEnd));
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
