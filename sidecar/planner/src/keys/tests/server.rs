//! What is claimed of MySQL, asked of a server. `REMORA_TEST_MYSQL` is the command of a
//! `mysql` client that can log in and create a database, words separated by blanks.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::keys::Collation;

/// The rows that the client prints for `script`; statements that fail are passed over.
pub(crate) fn ask(script: &str) -> Vec<Vec<String>> {
    let command =
        std::env::var("REMORA_TEST_MYSQL").expect("REMORA_TEST_MYSQL names a mysql client");
    let mut words = command.split_whitespace();
    let mut child = Command::new(words.next().expect("a program"))
        .args(words)
        .args(["--batch", "--skip-column-names", "--quick", "--force"])
        .arg("--default-character-set=utf8mb4")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the client starts");
    let mut input = child.stdin.take().expect("an input");
    let script = script.to_owned();
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().expect("the client ends");
    writer
        .join()
        .expect("the writer ends")
        .expect("the client reads all");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

pub(super) fn charset(collation: Collation) -> &'static str {
    collation.name().split('_').next().expect("a name")
}

/// A database of this test alone, and a script that begins in it.
pub(super) fn database(name: &str) -> String {
    format!(
        "DROP DATABASE IF EXISTS remora_{name}; CREATE DATABASE remora_{name}; USE remora_{name};"
    )
}
