//! Read buffers that nobody needs at the moment.
//!
//! A connection that waits holds none, so that thousands of idle clients cost little, and one
//! that has something to read takes the one that another just gave back: a busy thread asks the
//! allocator for none, and its buffers stay in the processor's cache.

use std::cell::RefCell;

use bytes::BytesMut;

use super::channel::SMALL_READ;

/// How many a thread keeps: about as many as it has statements under way, 128 KiB.
const MOST: usize = 32;

thread_local! {
    static SPARE: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// A buffer; it may have no memory yet.
pub(super) fn take() -> BytesMut {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives back what is not needed any more. Only buffers of the smallest size are kept.
pub(super) fn give_back(mut buffer: BytesMut) {
    buffer.clear();
    // Asks for the whole memory behind it: its front was taken away with each packet.
    let large = buffer.try_reclaim(2 * SMALL_READ);
    if large || !buffer.try_reclaim(SMALL_READ) {
        return;
    }
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < MOST {
            spare.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_whole_after_packets_were_taken_from_its_front() {
        let mut buffer = BytesMut::with_capacity(SMALL_READ);
        buffer.extend_from_slice(b"command");
        drop(buffer.split_to(7));
        give_back(buffer);
        assert_eq!(take().capacity(), SMALL_READ);
        assert_eq!(take().capacity(), 0);
    }

    #[test]
    fn a_large_one_and_one_that_somebody_still_reads_are_not_kept() {
        let mut large = BytesMut::with_capacity(1 << 20);
        large.extend_from_slice(&[7; 1 << 20]);
        drop(large.split_to((1 << 20) - 1));
        give_back(large);
        assert_eq!(take().capacity(), 0);

        let mut shared = BytesMut::with_capacity(SMALL_READ);
        shared.extend_from_slice(b"command");
        let payload = shared.split_to(7);
        give_back(shared);
        assert_eq!(take().capacity(), 0);
        assert_eq!(&payload[..], b"command");
    }
}
