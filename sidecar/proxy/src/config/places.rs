//! Where in the file each field stands, for mistakes that only the whole of it shows.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::mistake::Mistake;

/// A document without its meaning: names, and lines.
#[derive(Debug)]
pub(super) struct Places {
    root: Node,
}

#[derive(Debug)]
enum Node {
    Map(Vec<(Spanned<String>, Node)>),
    List(Vec<(Location, Node)>),
    Word(String),
    Other,
}

/// A field's place, and its path with list items by their names rather than their numbers.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) path: String,
}

impl Places {
    /// Reads a document.
    ///
    /// # Errors
    /// If it is not YAML.
    pub(super) fn read(text: &str) -> Result<Self, Mistake> {
        match serde_saphyr::from_str(text) {
            Ok(root) => Ok(Self { root }),
            Err(error) => Err(Mistake::syntax(&error, text)),
        }
    }

    /// Whether there is nothing in the document.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.root, Node::Other)
    }

    /// What the document's own field `name` says, if that is a word.
    pub(super) fn word(&self, name: &str) -> Option<&str> {
        match self.root.field(name) {
            Some((_, Node::Word(word))) => Some(word),
            _ => None,
        }
    }

    /// The names of the document's own fields.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        let entries = match &self.root {
            Node::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, _)| key.value.as_str())
    }

    /// Where `path` is, such as `spec.tables[payment].sharding.key`, or that part of it which is
    /// there at all.
    pub(super) fn find(&self, path: &str) -> Place {
        let mut found = Place {
            line: 1,
            column: 1,
            path: String::new(),
        };
        let mut node = Some(&self.root);
        if let Node::Map(entries) = &self.root
            && let Some((first, _)) = entries.first()
        {
            found.move_to(first.referenced);
        }
        for step in steps(path) {
            let next = match step {
                Step::Field(name) => {
                    if !found.path.is_empty() {
                        found.path.push('.');
                    }
                    found.path.push_str(name);
                    node.and_then(|node| node.field(name))
                }
                Step::Item(which) => {
                    let next = node.and_then(|node| node.item(which));
                    let name = next.and_then(|(_, item)| item.name()).unwrap_or(which);
                    found.path.push_str(&format!("[{name}]"));
                    next
                }
            };
            if let Some((at, _)) = next {
                found.move_to(at);
            }
            node = next.map(|(_, node)| node);
        }
        found
    }
}

impl Place {
    fn move_to(&mut self, at: Location) {
        (self.line, self.column) = (at.line(), at.column());
    }
}

impl Node {
    fn field(&self, name: &str) -> Option<(Location, &Node)> {
        let Self::Map(entries) = self else {
            return None;
        };
        let (key, value) = entries.iter().find(|(key, _)| key.value == name)?;
        Some((key.referenced, value))
    }

    /// The list's item with that name, the last one if it stands twice; or with that number.
    fn item(&self, which: &str) -> Option<(Location, &Node)> {
        let Self::List(items) = self else { return None };
        let named = items.iter().rfind(|(_, item)| item.name() == Some(which));
        let (at, item) = named.or_else(|| items.get(which.parse::<usize>().ok()?))?;
        Some((*at, item))
    }

    fn name(&self) -> Option<&str> {
        match self.field("name") {
            Some((_, Self::Word(name))) => Some(name),
            _ => None,
        }
    }
}

enum Step<'a> {
    Field(&'a str),
    Item(&'a str),
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split_inclusive(['.', ']']).flat_map(|part| {
        let part = part.trim_end_matches('.');
        let (field, item) = match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
            Some((field, item)) => (field, Some(item)),
            None => (part, None),
        };
        let field = Some(field).filter(|field| !field.is_empty());
        field
            .map(Step::Field)
            .into_iter()
            .chain(item.map(Step::Item))
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<Node>>()? {
            items.push((item.referenced, item.value));
        }
        Ok(Node::List(items))
    }

    fn visit_str<E>(self, word: &str) -> Result<Node, E> {
        Ok(Node::Word(word.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        let (IgnoredAny, _) = tagged.variant()?;
        Ok(Node::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
a: 1
list:
- {name: one, x: 1}
- name: two
  deep: {y: 2}
";

    #[test]
    fn a_path_is_found_and_items_go_by_name() {
        let places = Places::read(TEXT).unwrap();
        let at = |path| {
            let Place { line, column, path } = places.find(path);
            format!("{line}:{column} {path}")
        };
        assert_eq!(at("list[1].deep.y"), "6:10 list[two].deep.y");
        assert_eq!(at("list[two].deep"), "6:3 list[two].deep");
        assert_eq!(at("list[0].x"), "4:15 list[one].x");
    }

    #[test]
    fn of_what_is_not_there_the_nearest_is_found() {
        let places = Places::read(TEXT).unwrap();
        assert_eq!(places.find("list[one].z.w").line, 4);
        assert_eq!(places.find("b.c").line, 2);
    }
}
