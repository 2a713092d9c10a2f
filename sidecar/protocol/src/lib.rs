//! MySQL's wire protocol, both sides, without I/O: framing, login, commands and result sets.
