//! The page of results, of which each part of the benchmark writes its own.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::ValueEnum;

/// A part of the benchmark, in the page's order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub enum Part {
    /// sysbench's point select beside a direct connection and HAProxy.
    Load,
    /// What 10,000 idle clients cost.
    Idle,
    /// 1,000 busy clients over 50 connections beside 1,000 direct ones.
    Busy,
    /// A result of 1 GB to a slow and to a fast reader.
    Large,
    /// What hostile clients cost the others.
    Hostile,
}

impl Part {
    /// The line that begins it on the page.
    fn mark(self) -> String {
        format!("<!-- {} -->", self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Large => "large",
            Self::Hostile => "hostile",
        }
    }
}

const HEAD: &str = "# Results\n\nWritten by `make bench` (`QUICK=1 make bench` for rounds of 5 s); \
                    do not edit. `make bench PARTS=idle` measures one part and leaves the others \
                    as they are.\n";

/// Puts what `part` found into the page at `path`, in place of what it found before.
///
/// # Errors
/// If the page cannot be read or written.
pub fn put(path: &Path, part: Part, text: &str) -> Result<()> {
    let before = match fs::read_to_string(path) {
        Ok(page) => page,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    fs::write(path, with(&before, part, text))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn with(page: &str, part: Part, text: &str) -> String {
    let mut made = HEAD.to_owned();
    for other in Part::value_variants() {
        let body = match *other == part {
            true => Some(text.trim()),
            false => section(page, *other),
        };
        if let Some(body) = body {
            let _never_fails = write!(made, "\n{}\n\n{body}\n", other.mark());
        }
    }
    made
}

/// What the page holds of a part.
fn section(page: &str, part: Part) -> Option<&str> {
    let (_, rest) = page.split_once(&part.mark())?;
    let end = rest.find("\n<!-- ").unwrap_or(rest.len());
    Some(rest[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_takes_its_own_place_and_leaves_the_others() {
        let page = with("", Part::Busy, "## Busy\n\nold");
        let page = with(&page, Part::Idle, "## Idle\n\nfirst");
        let page = with(&page, Part::Busy, "## Busy\n\nnew\n");
        assert_eq!(
            page,
            format!(
                "{HEAD}\n<!-- idle -->\n\n## Idle\n\nfirst\n\n<!-- busy -->\n\n## Busy\n\nnew\n"
            )
        );
    }
}
