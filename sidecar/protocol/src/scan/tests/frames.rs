//! Rows that are large.

use super::*;

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
