//! The columns of a part's result: those the client sees, then the hidden ones that merging
//! needs.

use remora_merge::Key;

use crate::Refusal;
use crate::catalog::{Column, ColumnKind};
use crate::text::Span;

/// The text of an expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Text {
    /// The client's own.
    Span(Span),
    /// A column that `*` stands for.
    Column(Box<[u8]>),
}

/// A column that the client sees.
#[derive(Clone, Debug)]
pub(crate) struct Visible {
    /// Its expression.
    pub(crate) text: Text,
    /// The tokens of the expression; none for a column that `*` stands for.
    pub(crate) tokens: Option<(usize, usize)>,
    /// Its alias.
    pub(crate) alias: Option<String>,
    /// The manifest table's column that it is: which use, and which of its columns.
    pub(crate) column: Option<(usize, String)>,
    /// How its values compare, if that is known.
    pub(crate) kind: Option<ColumnKind>,
    /// Its item in the select list.
    pub(crate) item: usize,
    /// Whether aggregates stand in it.
    pub(crate) aggregate: bool,
    /// Whether a UNION would show it otherwise, and how it sorts.
    pub(crate) facts: ColumnFacts,
}

/// What a plain column's definition says that matters to merging.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnFacts {
    /// ZEROFILL, which a UNION drops.
    pub(crate) zerofill: bool,
    /// A collation in which no two different strings without regard to trailing blanks are
    /// equal: the 0900 ones and `binary`.
    pub(crate) no_pad: bool,
}

impl ColumnFacts {
    pub(crate) fn of(column: &Column) -> Self {
        let no_pad = match column.kind {
            ColumnKind::Text => column
                .collation
                .as_deref()
                .is_some_and(|name| name.contains("_0900_") || name == "binary"),
            _ => true,
        };
        Self {
            zerofill: column.zerofill,
            no_pad,
        }
    }
}

/// A column that only the merge sees: an expression between two pieces of text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Hidden {
    pub(crate) prefix: &'static str,
    pub(crate) text: Text,
    pub(crate) suffix: &'static str,
}

/// The columns of a part's result.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) visible: Vec<Visible>,
    pub(crate) hidden: Vec<Hidden>,
    /// Whether the SELECT groups, so that only grouped expressions and `ANY_VALUE` are
    /// accepted under ONLY_FULL_GROUP_BY.
    pub(crate) grouped: bool,
}

impl Columns {
    /// The number of a hidden column with this text, added if it is new.
    pub(crate) fn hide(
        &mut self,
        prefix: &'static str,
        text: &Text,
        suffix: &'static str,
    ) -> usize {
        let hidden = Hidden {
            prefix,
            text: text.clone(),
            suffix,
        };
        let found = self.hidden.iter().position(|known| *known == hidden);
        let number = found.unwrap_or_else(|| {
            self.hidden.push(hidden);
            self.hidden.len() - 1
        });
        self.visible.len() + number
    }

    /// What to compare an expression by; `value` is the visible column that holds it, if one
    /// does. `aggregate`: the expression is an aggregate itself.
    pub(crate) fn key(
        &mut self,
        text: &Text,
        value: Option<usize>,
        kind: Option<ColumnKind>,
        aggregate: bool,
    ) -> Result<Key, Refusal> {
        let any = self.grouped && !aggregate;
        match kind {
            Some(ColumnKind::Opaque) => Err(Refusal::unsupported(
                "rows of several shards cannot be ordered or grouped by a JSON, geometry or \
                 vector value; convert it to text or a number with CAST",
            )),
            Some(ColumnKind::Value) => {
                let value = value.unwrap_or_else(|| self.hide("", text, ""));
                Ok(Key {
                    value,
                    weight: None,
                    collation: None,
                })
            }
            Some(ColumnKind::Float) => {
                let value = self.wrap(any, ["ANY_VALUE((", "("], text, [")+0e0)", ")+0e0"]);
                Ok(Key {
                    value,
                    weight: None,
                    collation: None,
                })
            }
            Some(ColumnKind::Index) if !aggregate => {
                let value = self.wrap(any, ["ANY_VALUE((", "("], text, [")+0)", ")+0"]);
                Ok(Key {
                    value,
                    weight: None,
                    collation: None,
                })
            }
            Some(ColumnKind::Text | ColumnKind::Index) | None => {
                let value = value.unwrap_or_else(|| self.hide("", text, ""));
                let collations = ["ANY_VALUE(COLLATION(", "COLLATION("];
                // A number's weight string claims to be text, but is none.
                let (weights, ends) = if kind.is_some() {
                    (["ANY_VALUE(WEIGHT_STRING(", "WEIGHT_STRING("], ["))", ")"])
                } else {
                    (
                        ["ANY_VALUE(CAST(WEIGHT_STRING(", "CAST(WEIGHT_STRING("],
                        [") AS BINARY))", ") AS BINARY)"],
                    )
                };
                let weight = self.wrap(any, weights, text, ends);
                let collation = self.wrap(any, collations, text, ["))", ")"]);
                Ok(Key {
                    value,
                    weight: Some(weight),
                    collation: Some(collation),
                })
            }
        }
    }

    /// Hides a column in the first form if `any`, else in the second.
    fn wrap(
        &mut self,
        any: bool,
        prefixes: [&'static str; 2],
        text: &Text,
        suffixes: [&'static str; 2],
    ) -> usize {
        let form = usize::from(!any);
        self.hide(prefixes[form], text, suffixes[form])
    }
}
