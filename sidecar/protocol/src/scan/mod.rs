//! Watches the answer to one command go by, so that a relay can pass it on unread.
//!
//! The scanner walks from header to header. It looks at the first packet, at the
//! packets that end a part, and, where asked to, at column definitions or rows;
//! everything else it only counts. A row costs a few nanoseconds and no memory.

mod event;
mod packet;

pub use event::{Event, Found, Reply};
use packet::{Ends, status_of_ok};

use crate::capability::{CapabilityFlags, StatusFlags};
use crate::error::{ProtocolError, Result};
use crate::frame::{HEADER, MAX_FRAME, header};
use crate::result::{EofPacket, ErrPacket, OkPacket, PrepareOk};
use crate::wire::get_lenenc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Params { left: u64, columns: u64 },
    ParamsEof { columns: u64 },
    Columns { left: u64 },
    ColumnsEof,
    Rows,
    Fields,
    Complete,
    Done,
}

impl State {
    /// The state behind the parameters in PREPARE's answer.
    fn prepared_columns(columns: u64) -> Self {
        match columns {
            0 => Self::Complete,
            left => Self::Columns { left },
        }
    }
}

/// The scanner of one command's answer.
#[derive(Debug)]
pub struct ReplyScanner {
    reply: Reply,
    capabilities: CapabilityFlags,
    columns: bool,
    rows: bool,
    state: State,
    sequence: u8,
    /// So many bytes of a frame, whose front was passed on, are still to come.
    open: usize,
    /// The next frame goes on with a row.
    continued: bool,
    /// Flags that belong to the end of the rows, though that packet lacks them.
    promised: StatusFlags,
    /// Rows that went by.
    counted: u64,
}

/// A row of which only a part is here is kept back until it is whole, so that an
/// error can still be sent in its place when the server goes away; unless it is
/// longer than this, when keeping it would cost too much memory.
const KEPT_BACK: usize = 64 << 10;

impl ReplyScanner {
    /// A scanner for an answer of kind `reply` over a connection that negotiated
    /// `capabilities`. The first frame carries `sequence`: 1 after a command of one frame.
    #[must_use]
    pub fn new(reply: Reply, capabilities: CapabilityFlags, sequence: u8) -> Self {
        let state = match reply {
            Reply::Command | Reply::Prepare | Reply::Statistics => State::First,
            Reply::FieldList => State::Fields,
            Reply::Fetch => State::Rows,
        };
        Self {
            reply,
            capabilities,
            columns: false,
            rows: false,
            state,
            sequence,
            open: 0,
            continued: false,
            promised: StatusFlags::empty(),
            counted: 0,
        }
    }

    /// Whether [`Event::Column`] and [`Event::Param`] are wanted.
    #[must_use]
    pub fn surface_columns(mut self, wanted: bool) -> Self {
        self.columns = wanted;
        self
    }

    /// Whether [`Event::Row`] is wanted.
    #[must_use]
    pub fn surface_rows(mut self, wanted: bool) -> Self {
        self.rows = wanted;
        self
    }

    /// How many rows went by, of all result sets.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Whether the answer is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the bytes passed on so far end within a packet. Then nothing else
    /// can be sent in the answer's place any more.
    #[must_use]
    pub fn is_inside_packet(&self) -> bool {
        self.open > 0 || self.continued
    }

    /// The number that the next frame carries.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Goes on at `sequence`, after the client sent the file that [`Event::Infile`] asked for.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Looks at `buf`, which begins where the last step ended: behind its `skip`
    /// and `len` bytes. At the end of the answer, bytes may be left over only
    /// where commands are pipelined; scanning on finds nothing.
    pub fn scan(&mut self, buf: &[u8]) -> Result<Found> {
        let mut at = self.open.min(buf.len());
        self.open -= at;
        if self.open > 0 {
            return Ok(found(at, 0, Event::NeedMore));
        }
        loop {
            if self.state == State::Rows {
                at = self.pass_rows(buf, at)?;
                if self.open > 0 {
                    return Ok(found(at, 0, Event::NeedMore));
                }
            }
            if self.state == State::Complete {
                self.state = State::Done;
                return Ok(found(at, 0, Event::Complete));
            }
            if self.state == State::Done {
                return Ok(found(at, 0, Event::NeedMore));
            }
            let Some(len) = self.whole_packet(&buf[at..])? else {
                return Ok(found(at, 0, Event::NeedMore));
            };
            let frames = 1 + (len - HEADER) / (HEADER + MAX_FRAME);
            let payload = &buf[at + HEADER..at + len];
            let event = self.step(payload, frames)?;
            self.sequence = self.sequence.wrapping_add(frames as u8);
            match event {
                Some(event) => return Ok(found(at, len, event)),
                None => at += len,
            }
        }
    }

    /// Walks over rows that nobody asked for, from `at` to the packet that ends
    /// them or to the end of the input.
    fn pass_rows(&mut self, buf: &[u8], mut at: usize) -> Result<usize> {
        if self.rows {
            return Ok(at);
        }
        let (mut sequence, mut continued) = (self.sequence, self.continued);
        let mut counted = self.counted;
        let deprecate = self.deprecates_eof();
        while let Some((length, got)) = header(&buf[at..]) {
            if got != sequence {
                return Err(ProtocolError::OutOfOrder {
                    expected: sequence,
                    got,
                });
            }
            let end = at + HEADER + length;
            if !continued {
                match buf.get(at + HEADER) {
                    Some(&tag) if length > 0 && !Ends::rows(tag, length, deprecate) => {}
                    _ => break,
                }
            }
            if end > buf.len() {
                if length <= KEPT_BACK {
                    break;
                }
                self.open = end - buf.len();
            }
            sequence = sequence.wrapping_add(1);
            counted += u64::from(!continued);
            continued = length == MAX_FRAME;
            at = end.min(buf.len());
            if self.open > 0 {
                break;
            }
        }
        (self.sequence, self.continued) = (sequence, continued);
        self.counted = counted;
        Ok(at)
    }

    /// The length of the packet at the front of `buf`, if all of it is there.
    fn whole_packet(&self, buf: &[u8]) -> Result<Option<usize>> {
        let (mut at, mut sequence) = (0, self.sequence);
        while let Some((length, got)) = header(&buf[at..]) {
            if got != sequence {
                return Err(ProtocolError::OutOfOrder {
                    expected: sequence,
                    got,
                });
            }
            if length == MAX_FRAME && self.state != State::Rows {
                return Err(ProtocolError::Malformed("only a row has several frames"));
            }
            at += HEADER + length;
            if at > buf.len() {
                return Ok(None);
            }
            if length < MAX_FRAME {
                return Ok(Some(at));
            }
            sequence = sequence.wrapping_add(1);
        }
        Ok(None)
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    }

    /// Moves over one whole packet. No event means that it is passed on.
    fn step(&mut self, payload: &[u8], frames: usize) -> Result<Option<Event>> {
        let tag = *payload
            .first()
            .ok_or(ProtocolError::Malformed("an empty packet"))?;
        if tag == ErrPacket::TAG && frames == 1 {
            self.state = State::Done;
            return Ok(Some(Event::Err));
        }
        match self.state {
            State::Rows => self.row(tag, payload, frames).map(Some),
            State::First => self.first(tag, payload).map(Some),
            State::Params { left, columns } => {
                self.state = match left - 1 {
                    0 if self.deprecates_eof() => State::prepared_columns(columns),
                    0 => State::ParamsEof { columns },
                    left => State::Params { left, columns },
                };
                Ok(self.columns.then_some(Event::Param))
            }
            State::ParamsEof { columns } => {
                EofPacket::decode(payload)?;
                self.state = State::prepared_columns(columns);
                Ok(self.columns.then_some(Event::DefinitionsEnd))
            }
            State::Columns { left } => {
                self.state = match left - 1 {
                    0 if self.deprecates_eof() => self.after_columns(),
                    0 => State::ColumnsEof,
                    left => State::Columns { left },
                };
                Ok(self.columns.then_some(Event::Column))
            }
            State::ColumnsEof => self.columns_eof(payload),
            State::Fields if Ends::rows(tag, payload.len(), self.deprecates_eof()) => {
                self.end(payload).map(Some)
            }
            State::Fields => Ok(self.columns.then_some(Event::Column)),
            State::Complete | State::Done => Ok(None),
        }
    }

    fn first(&mut self, tag: u8, payload: &[u8]) -> Result<Event> {
        match (self.reply, tag) {
            (Reply::Statistics, _) => {
                self.state = State::Done;
                Ok(Event::Text)
            }
            (Reply::Prepare, OkPacket::TAG) => {
                let head = PrepareOk::decode(payload)?;
                let columns = u64::from(head.columns);
                self.state = match u64::from(head.params) {
                    0 => State::prepared_columns(columns),
                    left => State::Params { left, columns },
                };
                Ok(Event::PrepareOk(head))
            }
            (Reply::Prepare, _) => Err(ProtocolError::Malformed("not an answer to PREPARE")),
            (_, OkPacket::TAG) => {
                let status = status_of_ok(payload)?;
                self.finish(status);
                Ok(Event::Ok { status })
            }
            (_, packet::INFILE) => Ok(Event::Infile),
            (_, tag) if Ends::rows(tag, payload.len(), self.deprecates_eof()) => self.end(payload),
            _ => {
                let (columns, used) = get_lenenc(payload)?;
                if used != payload.len() || columns == 0 {
                    return Err(ProtocolError::Malformed("not a number of columns"));
                }
                self.state = State::Columns { left: columns };
                Ok(Event::ResultSet { columns })
            }
        }
    }

    fn row(&mut self, tag: u8, payload: &[u8], frames: usize) -> Result<Event> {
        if frames == 1 && Ends::rows(tag, payload.len(), self.deprecates_eof()) {
            self.end(payload)
        } else {
            self.counted += 1;
            Ok(Event::Row)
        }
    }

    fn after_columns(&self) -> State {
        if self.reply == Reply::Prepare {
            State::Complete
        } else {
            State::Rows
        }
    }

    /// With a cursor, the rows come by FETCH, and the definitions end the answer.
    ///
    /// The result that holds a procedure's OUT parameters says here, and not at
    /// its end, that more follows.
    fn columns_eof(&mut self, payload: &[u8]) -> Result<Option<Event>> {
        let EofPacket { status, .. } = EofPacket::decode(payload)?;
        self.state = self.after_columns();
        if self.state == State::Rows && status.contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS) {
            self.finish(status);
            return Ok(Some(Event::End { status }));
        }
        if status.contains(StatusFlags::SERVER_PS_OUT_PARAMS) {
            self.promised = status
                & (StatusFlags::SERVER_PS_OUT_PARAMS | StatusFlags::SERVER_MORE_RESULTS_EXISTS);
        }
        Ok(self.columns.then_some(Event::DefinitionsEnd))
    }

    fn end(&mut self, payload: &[u8]) -> Result<Event> {
        let status = if self.deprecates_eof() {
            status_of_ok(payload)?
        } else {
            EofPacket::decode(payload)?.status | std::mem::take(&mut self.promised)
        };
        self.finish(status);
        Ok(Event::End { status })
    }

    fn finish(&mut self, status: StatusFlags) {
        let more = status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS);
        self.state = if more && self.reply == Reply::Command {
            State::First
        } else {
            State::Done
        };
    }
}

fn found(skip: usize, len: usize, event: Event) -> Found {
    Found { skip, len, event }
}

#[cfg(test)]
mod tests;
