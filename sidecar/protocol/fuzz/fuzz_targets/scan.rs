//! The scanner passes every byte once, and finds the same events however the
//! answer is cut.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{CapabilityFlags, Event, Reply, ReplyScanner, Result};

/// The events, and how many bytes went by, up to the first error.
fn run<'a>(
    mut scanner: ReplyScanner,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Event>, usize, Result<()>) {
    let (mut buf, mut passed, mut events) = (BytesMut::new(), 0, Vec::new());
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            let found = match scanner.scan(&buf) {
                Ok(found) => found,
                // Rows before the error may or may not have been passed on.
                Err(error) => return (events, 0, Err(error)),
            };
            let _ = buf.split_to(found.skip + found.len);
            passed += found.skip + found.len;
            if found.event == Event::NeedMore {
                break;
            }
            events.push(found.event);
        }
    }
    (events, passed, Ok(()))
}

fuzz_target!(|input: (u8, usize, &[u8])| {
    let (choices, cut, answer) = input;
    let bit = |at: u8| choices & (1 << at) != 0;
    let reply = match choices % 8 {
        0 => Reply::Prepare,
        1 => Reply::FieldList,
        2 => Reply::Statistics,
        3 => Reply::Fetch,
        _ => Reply::Command,
    };
    let capabilities = if bit(3) {
        CapabilityFlags::CLIENT_DEPRECATE_EOF
    } else {
        CapabilityFlags::empty()
    };
    // Sequence numbers are put right, so that the fuzzer need not guess them.
    let mut answer = answer.to_vec();
    let (mut at, mut sequence) = (0, 1u8);
    while let Some(header) = answer.get_mut(at..at + 4) {
        header[3] = sequence;
        sequence = sequence.wrapping_add(1);
        at += 4 + usize::from(header[0]) + (usize::from(header[1]) << 8) + (usize::from(header[2]) << 16);
    }
    let scanner = || {
        ReplyScanner::new(reply, capabilities, 1)
            .surface_columns(bit(4))
            .surface_rows(bit(5))
    };
    let whole = run(scanner(), std::iter::once(&answer[..]));
    let pieces = run(scanner(), answer.chunks(cut % 32 + 1));
    assert_eq!(pieces.0, whole.0);
    assert_eq!(pieces.1, whole.1);
    assert_eq!(pieces.2, whole.2);
});
