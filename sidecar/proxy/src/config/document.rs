//! The documents of a YAML file, each with its place in the file.

use super::mistake::Mistake;
use super::places::Places;

/// One document. Its text begins with as many empty lines as the file has lines before it, so
/// that whatever reads it counts lines as an editor does.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) places: Places,
}

impl Document {
    /// What its field `name` says, if that is a word.
    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.places.word(name)
    }
}

/// The documents of `text` that are not empty.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, Mistake> {
    let mut found = Vec::new();
    for text in split(text) {
        let places = Places::read(&text)?;
        if !places.is_empty() {
            found.push(Document { text, places });
        }
    }
    Ok(found)
}

/// Splits at the lines that YAML reserves for it: no scalar can hold them, however quoted.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_marker = |marker| {
            line.strip_prefix(marker)
                .is_some_and(|rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        if is_marker("---") || is_marker("...") {
            documents.push("\n".repeat(number));
        }
        // The marker's line stays with what follows it: it may hold content.
        if let Some(document) = documents.last_mut()
            && !is_marker("...")
        {
            document.push_str(line);
        }
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_their_lines() {
        let text = "a: 1\r\n--- # two\nb: |\n ---\n---x: 2\n...\n--- {c: 3}\n";
        let split = split(text);
        assert_eq!(split[0], "a: 1\r\n");
        assert_eq!(split[1], "\n--- # two\nb: |\n ---\n---x: 2\n");
        assert_eq!(split.last().unwrap(), "\n\n\n\n\n\n--- {c: 3}\n");
    }

    #[test]
    fn empty_documents_are_passed_over() {
        let found = documents("# only a comment\n---\na: 1\n---\n").unwrap();
        assert_eq!(found.len(), 1);
    }
}
