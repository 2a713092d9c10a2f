//! The statement's bytes, and how pieces of them become other statements.
//!
//! Nothing is ever printed from a tree: a rewritten statement is the client's own bytes with
//! a few places replaced.

mod position;
mod renderer;
mod source;

pub(crate) use position::{Frame, Position, Span};
pub(crate) use renderer::{Edit, Piece, Renderer, SessionFunction};
pub(crate) use source::Source;
