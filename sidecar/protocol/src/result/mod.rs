//! The packets that end a command or head its answer: OK, EOF, ERR and PREPARE's.

mod eof;
mod err;
mod ok;
mod prepare;
mod session_change;

pub use eof::{EofPacket, decode_end};
pub use err::ErrPacket;
pub use ok::OkPacket;
pub use prepare::PrepareOk;
pub use session_change::{SessionChange, SessionChanges};
