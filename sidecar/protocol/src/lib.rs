//! MySQL's wire protocol, both sides, without I/O: framing, login, commands and result sets.
//!
//! Nothing here opens a socket or starts a task. A caller reads bytes into a
//! [`bytes::BytesMut`], takes packets out of it with [`PacketCodec`], and gives
//! them to a decoder or to one of the two login machines ([`ServerLogin`] towards
//! clients, [`ClientLogin`] towards MySQL). What is to be sent is appended to a
//! buffer of the caller's, which is written whenever the caller likes.
//!
//! Every decoder reads foreign bytes: it returns [`ProtocolError`], never panics,
//! and takes no memory in proportion to a length that was only claimed.

mod auth;
mod capability;
mod collation;
mod column;
mod command;
mod compress;
mod error;
mod execute;
mod frame;
mod greeting;
mod login;
mod result;
mod row;
mod scan;
mod wire;

pub use auth::{Password, RsaKey, RsaKeyError};
pub use capability::{
    CapabilityFlags, ColumnFlags, ColumnType, CursorType, StatusFlags, backend_wish, server_offer,
};
pub use collation::collation;
pub use column::{ColumnDef, rename_schema};
pub use command::{
    Attribute, ChangeUser, Command, Execute, Query, QueryAttributes, put_attributes,
};
pub use compress::{CompressedCodec, Compression};
pub use error::{ProtocolError, Result};
pub use execute::{
    DateTime, Param, ParamType, ParamValue, RawParam, Time, decode_execute, encode_execute,
    encode_long_data,
};
pub use frame::{HEADER, MAX_FRAME, PacketCodec, encode_packet, encode_packet_with, payload};
pub use greeting::{Attributes, Greeting, HandshakeResponse, SslRequest};
pub use login::{
    ClientIdentity, ClientLogin, ClientOptions, ClientStep, Credential, LoginError,
    MAX_LOGIN_PACKET, ServerIdentity, ServerLogin, ServerOptions, ServerStep, TlsMode,
};
pub use result::{
    EofPacket, ErrPacket, OkPacket, PrepareOk, SessionChange, SessionChanges, decode_end,
};
pub use row::{
    BinaryFields, BinaryRowWriter, Field, TextFields, TextRowWriter, binary_fields, text_fields,
};
pub use scan::{Event, Found, Reply, ReplyScanner};
pub use wire::{get_lenenc, put_lenenc, put_lenenc_bytes};
