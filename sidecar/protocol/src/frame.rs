//! Packets: a header of three bytes of length and one of sequence, then the payload.
//!
//! A payload of 16 MiB - 1 bytes or more travels in several frames: full ones,
//! then one that is shorter, and is empty where the length is an exact multiple.

use std::borrow::Cow;

use bytes::{Buf, BufMut, BytesMut};

use crate::error::{ProtocolError, Result};

/// The length of a frame's header.
pub const HEADER: usize = 4;
/// The payload of a full frame; one of this length is continued by the next.
pub const MAX_FRAME: usize = 0xFF_FFFF;

/// Length and sequence number of the frame at the front of `buf`, once its header is there.
#[inline]
pub(crate) fn header(buf: &[u8]) -> Option<(usize, u8)> {
    let head = buf.first_chunk::<HEADER>()?;
    let word = u32::from_le_bytes(*head);
    Some(((word & 0xFF_FFFF) as usize, head[3]))
}

/// Cuts a stream into packets and frames packets for it.
///
/// Both directions share one sequence number, as on the server's side of MySQL:
/// it starts at 0 with each command and counts every frame, whoever sends it.
#[derive(Debug)]
pub struct PacketCodec {
    sequence: u8,
    /// Whether frames must carry the number that is due.
    ordered: bool,
    max_packet: usize,
    /// The payloads of the full frames of a packet whose last frame is still to come.
    partial: BytesMut,
}

impl PacketCodec {
    /// A codec that refuses packets of more than `max_packet` bytes of payload.
    #[must_use]
    pub fn new(max_packet: usize) -> Self {
        Self {
            sequence: 0,
            ordered: true,
            max_packet,
            partial: BytesMut::new(),
        }
    }

    /// Takes frames whatever their numbers are. Under compression the outer packets are counted,
    /// and peers number what is inside as they like.
    pub fn take_any_sequence(&mut self) {
        self.ordered = false;
    }

    /// Starts a new exchange, that is, a new command.
    pub fn restart(&mut self) {
        self.sequence = 0;
    }

    /// The number that the next frame must carry.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Goes on at `sequence`, after frames that something else sent or received.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Changes the limit; a login allows less than a session.
    pub fn set_max_packet(&mut self, max_packet: usize) {
        self.max_packet = max_packet;
    }

    /// Takes the next packet's payload from the front of `buf`, or nothing where
    /// it is not complete yet.
    ///
    /// A packet of one frame is split off without a copy. The limit is held
    /// against the header, before the caller buffers what it announces.
    pub fn decode(&mut self, buf: &mut BytesMut) -> Result<Option<BytesMut>> {
        while let Some((length, sequence)) = header(buf) {
            if sequence != self.sequence && self.ordered {
                return Err(ProtocolError::OutOfOrder {
                    expected: self.sequence,
                    got: sequence,
                });
            }
            self.sequence = sequence;
            if self.partial.len() + length > self.max_packet {
                // MySQL's error counts as the answer to this frame.
                self.sequence = sequence.wrapping_add(1);
                return Err(ProtocolError::TooLarge {
                    limit: self.max_packet,
                });
            }
            if buf.len() < HEADER + length {
                return Ok(None);
            }
            buf.advance(HEADER);
            let frame = buf.split_to(length);
            self.sequence = self.sequence.wrapping_add(1);
            match (self.partial.is_empty(), length == MAX_FRAME) {
                (true, false) => return Ok(Some(frame)),
                (true, true) => self.partial = frame,
                (false, true) => self.partial.extend_from_slice(&frame),
                (false, false) => {
                    self.partial.extend_from_slice(&frame);
                    return Ok(Some(std::mem::take(&mut self.partial)));
                }
            }
        }
        Ok(None)
    }

    /// How many bytes are missing for the frame at the front of `buf`: what a
    /// caller reserves before it reads. [`PacketCodec::decode`] comes first, so
    /// that the frame is within the limit.
    #[must_use]
    pub fn missing(&self, buf: &[u8]) -> usize {
        match header(buf) {
            Some((length, _)) => (HEADER + length).saturating_sub(buf.len()),
            None => HEADER - buf.len(),
        }
    }

    /// Appends `payload` as a packet.
    pub fn encode(&mut self, payload: &[u8], out: &mut BytesMut) {
        encode_packet(&mut self.sequence, payload, out);
    }

    /// Appends the payload that `fill` writes as a packet, in place.
    pub fn encode_with(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut BytesMut)) {
        encode_packet_with(&mut self.sequence, out, fill);
    }
}

/// Appends `payload` to `out` as a packet whose first frame carries `sequence`,
/// and moves `sequence` behind its last frame.
pub fn encode_packet(sequence: &mut u8, payload: &[u8], out: &mut BytesMut) {
    out.reserve(HEADER + payload.len());
    let mut rest = payload;
    loop {
        let (frame, tail) = rest.split_at(rest.len().min(MAX_FRAME));
        put_header(sequence, frame.len(), out);
        out.put_slice(frame);
        if frame.len() < MAX_FRAME {
            return;
        }
        rest = tail;
    }
}

/// As [`encode_packet`], with the payload written by `fill` at the end of `out`,
/// which `fill` may only append to.
pub fn encode_packet_with(sequence: &mut u8, out: &mut BytesMut, fill: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_bytes(0, HEADER);
    fill(out);
    let length = out.len() - start - HEADER;
    if length < MAX_FRAME {
        let mut head = (length as u32).to_le_bytes();
        head[3] = *sequence;
        out[start..start + HEADER].copy_from_slice(&head);
        *sequence = sequence.wrapping_add(1);
    } else {
        put_headers(sequence, start, length, out);
    }
}

/// Makes room in a payload that takes several frames for their headers, from behind, so that it
/// is not there twice.
fn put_headers(sequence: &mut u8, start: usize, length: usize, out: &mut BytesMut) {
    let last = length / MAX_FRAME;
    out.put_bytes(0, last * HEADER);
    for frame in (0..=last).rev() {
        let in_frame = MAX_FRAME.min(length - frame * MAX_FRAME);
        let from = start + HEADER + frame * MAX_FRAME;
        let to = from + frame * HEADER;
        out.copy_within(from..from + in_frame, to);
        let mut head = (in_frame as u32).to_le_bytes();
        head[3] = sequence.wrapping_add(frame as u8);
        out[to - HEADER..to].copy_from_slice(&head);
    }
    *sequence = sequence.wrapping_add(last as u8).wrapping_add(1);
}

fn put_header(sequence: &mut u8, length: usize, out: &mut BytesMut) {
    out.put_uint_le(length as u64, 3);
    out.put_u8(*sequence);
    *sequence = sequence.wrapping_add(1);
}

/// The payload of a complete framed packet, as [`ReplyScanner`](crate::ReplyScanner)
/// finds it: borrowed for one frame, put together where there are several.
#[must_use]
pub fn payload(packet: &[u8]) -> Cow<'_, [u8]> {
    match header(packet) {
        Some((length, _)) if length < MAX_FRAME => {
            Cow::Borrowed(packet.get(HEADER..HEADER + length).unwrap_or_default())
        }
        Some(_) => {
            let mut whole = Vec::with_capacity(packet.len());
            let mut rest = packet;
            while let Some((length, _)) = header(rest) {
                let end = rest.len().min(HEADER + length);
                whole.extend_from_slice(&rest[HEADER..end]);
                rest = &rest[end..];
            }
            Cow::Owned(whole)
        }
        None => Cow::Borrowed(&[]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 64 << 20;

    fn framed(payload: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        PacketCodec::new(LIMIT).encode(payload, &mut out);
        out
    }

    #[test]
    fn a_small_packet_is_one_frame() {
        assert_eq!(&framed(b"\x0e")[..], b"\x01\x00\x00\x00\x0e");
    }

    #[test]
    fn lengths_around_a_full_frame_come_back_and_count_their_frames() {
        for (length, frames) in [
            (0, 1),
            (MAX_FRAME - 1, 1),
            (MAX_FRAME, 2),
            (MAX_FRAME + 1, 2),
            (2 * MAX_FRAME, 3),
        ] {
            let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut wire = framed(&sent);
            assert_eq!(wire.len(), length + frames * HEADER);
            assert_eq!(payload(&wire), sent);
            let mut in_place = BytesMut::new();
            encode_packet_with(&mut 0, &mut in_place, |out| out.extend_from_slice(&sent));
            assert!(in_place == wire, "{length}");

            let mut codec = PacketCodec::new(LIMIT);
            assert!(
                codec.decode(&mut wire).unwrap().unwrap() == sent,
                "{length}"
            );
            assert_eq!(usize::from(codec.sequence()), frames);
            assert!(wire.is_empty());
        }
    }

    #[test]
    fn the_limit_holds_before_the_bytes_arrive() {
        let mut codec = PacketCodec::new(100);
        let mut wire = BytesMut::from(&b"\x65\x00\x00\x00"[..]);
        assert_eq!(
            codec.decode(&mut wire),
            Err(ProtocolError::TooLarge { limit: 100 })
        );
        assert_eq!(codec.sequence(), 1, "the error's number");
    }

    #[test]
    fn inside_of_compressed_packets_numbers_are_the_peers() {
        let mut codec = PacketCodec::new(100);
        codec.take_any_sequence();
        let mut wire = BytesMut::from(&b"\x01\x00\x00\x07\x0e"[..]);
        assert_eq!(codec.decode(&mut wire).unwrap().unwrap(), b"\x0e"[..]);
        assert_eq!(codec.sequence(), 8);
    }

    #[test]
    fn the_limit_counts_all_frames_of_a_packet() {
        let mut codec = PacketCodec::new(MAX_FRAME + 9);
        let mut wire = framed(&vec![7; MAX_FRAME + 10]);
        assert_eq!(
            codec.decode(&mut wire),
            Err(ProtocolError::TooLarge {
                limit: MAX_FRAME + 9
            })
        );
    }

    #[test]
    fn a_wrong_sequence_number_is_refused() {
        let mut codec = PacketCodec::new(LIMIT);
        let mut wire = BytesMut::from(&b"\x01\x00\x00\x01\x0e"[..]);
        let refused = Err(ProtocolError::OutOfOrder {
            expected: 0,
            got: 1,
        });
        assert_eq!(codec.decode(&mut wire), refused);
    }

    #[test]
    fn missing_tells_what_to_reserve() {
        let mut codec = PacketCodec::new(LIMIT);
        let mut wire = BytesMut::from(&b"\x05\x00"[..]);
        assert_eq!(codec.missing(&wire), 2);
        wire.extend_from_slice(b"\x00\x00ab");
        assert_eq!(codec.decode(&mut wire), Ok(None));
        assert_eq!(codec.missing(&wire), 3);
    }

    proptest! {
        #[test]
        fn packets_come_back_however_the_stream_is_cut(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
            cut in 1usize..20,
        ) {
            let mut wire = BytesMut::new();
            let mut writer = PacketCodec::new(LIMIT);
            for packet in &packets {
                writer.encode(packet, &mut wire);
            }
            let mut reader = PacketCodec::new(LIMIT);
            let (mut buf, mut got) = (BytesMut::new(), Vec::new());
            for piece in wire.chunks(cut) {
                buf.extend_from_slice(piece);
                while let Some(packet) = reader.decode(&mut buf).unwrap() {
                    got.push(packet.to_vec());
                }
            }
            prop_assert_eq!(got, packets);
        }
    }
}
