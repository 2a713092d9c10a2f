//! What the supervisor says: one line each on standard error, where `kubectl logs` shows it
//! between mysqld's own lines.

use std::{
    fmt,
    io::{self, Write},
};

/// Something happened as it should.
pub(crate) fn info(message: fmt::Arguments<'_>) {
    write("Note", message);
}

/// Something went wrong.
pub(crate) fn error(message: fmt::Arguments<'_>) {
    write("ERROR", message);
}

/// A closed standard error must not end the supervisor, so the outcome is dropped.
fn write(level: &str, message: fmt::Arguments<'_>) {
    let _ = writeln!(
        io::stderr().lock(),
        "[{level}] [remora-supervisor] {message}"
    );
}
