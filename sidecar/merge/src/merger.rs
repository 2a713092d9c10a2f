//! The merge itself: rows of the parts in, rows of the client out.

use bytes::BytesMut;

use crate::client_row::ClientRow;
use crate::column::{Class, Column, Format};
use crate::error::MergeError;
use crate::group::Grouping;
use crate::key::Keys;
use crate::resort::Resort;
use crate::row::{Row, Shape};
use crate::source::{Next, Source};
use crate::spec::{Limit, MergeSpec};
use crate::widening::Widening;

/// What a merge may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all rows that are held at a time.
    pub bytes: usize,
}

/// What [`Merger::poll`] came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// The next row of this part is needed: [`Merger::push`] it, or [`Merger::finish`] the part.
    NeedRow(usize),
    /// A row's payload was appended to the output.
    Row,
    /// The client has all its rows. Parts may still have some, where a LIMIT was reached.
    Done,
}

/// Merges the rows of several parts into the client's. Back-pressure is the caller's: a part is
/// read only when it is asked for.
#[derive(Debug)]
pub struct Merger {
    shape: Shape,
    /// For parts whose integers are narrower than others'.
    widenings: Vec<Option<Widening>>,
    keys: Keys,
    source: Source,
    grouping: Option<Grouping>,
    resort: Option<Resort>,
    /// All parts are at their end.
    ended: bool,
    /// The row of the group that ended last.
    group_row: Row,
    window: Window,
    client_row: ClientRow,
    limits: Limits,
}

impl Merger {
    /// A merge of `parts`, each given by its own column definitions, for a client that was told
    /// of the columns `client`.
    pub fn new(
        spec: &MergeSpec,
        parts: &[Vec<Column>],
        client: &[Column],
        format: Format,
        limits: Limits,
    ) -> Result<Self, MergeError> {
        let columns = agreed(parts, spec.group.is_some())?;
        let widenings = parts
            .iter()
            .map(|part| Widening::new(format, part, &columns))
            .collect::<Result<_, _>>()?;
        if client.len() != spec.visible || columns.len() < spec.visible {
            return Err(MergeError::Changed {
                column: columns.len().min(client.len()),
            });
        }
        if !spec.streams() {
            return Err(MergeError::Unsupported(
                "grouping rows that do not come in the groups' order",
            ));
        }
        let shape = Shape::new(format, columns);
        let mut keys = Keys::new(&spec.order, &shape, client)?;
        let grouping = spec
            .group
            .as_ref()
            .map(|group| Grouping::new(group, &mut keys, &shape, client))
            .transpose()?;
        let window = Window::new(spec.limit);
        let resort = if spec.resort.is_empty() {
            None
        } else {
            Some(Resort::new(
                Keys::new(&spec.resort, &shape, client)?,
                window.wanted(),
            ))
        };
        Ok(Self {
            client_row: ClientRow::new(&shape, client)?,
            source: Source::new(parts.len(), !spec.order.is_empty()),
            shape,
            keys,
            grouping,
            resort,
            ended: false,
            group_row: Row::default(),
            window,
            limits,
            widenings,
        })
    }

    /// Goes on until a row is out or another is needed.
    pub fn poll(&mut self, out: &mut BytesMut) -> Result<Step, MergeError> {
        while !self.window.closed() {
            if self.ended {
                let Some(row) = self.resort.as_mut().and_then(Resort::next) else {
                    break;
                };
                if self.window.admits() {
                    self.client_row.write(row, out)?;
                    return Ok(Step::Row);
                }
                continue;
            }
            let has_row = match self.source.next(&self.keys)? {
                Next::Need(part) => return Ok(Step::NeedRow(part)),
                Next::Row => self.accept()?,
                Next::End => self.end()?,
            };
            if has_row && self.window.admits() {
                let row = if self.grouping.is_some() {
                    &self.group_row
                } else {
                    self.source.current()
                };
                self.client_row.write(row, out)?;
                return Ok(Step::Row);
            }
        }
        Ok(Step::Done)
    }

    /// Gives the payload of the row that was asked for.
    pub fn push(&mut self, part: usize, row: &[u8]) -> Result<(), MergeError> {
        if self.held() + row.len() > self.limits.bytes {
            return Err(MergeError::TooLarge {
                limit: self.limits.bytes,
            });
        }
        let row = match self.widenings.get_mut(part) {
            Some(Some(widening)) => widening.row(row)?,
            _ => row,
        };
        self.source.push(part, row, &self.shape, &mut self.keys)
    }

    /// Says that a part has no more rows.
    pub fn finish(&mut self, part: usize) {
        self.source.finish(part);
    }

    fn held(&self) -> usize {
        self.source.held()
            + self.grouping.as_ref().map_or(0, Grouping::held)
            + self.resort.as_ref().map_or(0, Resort::held)
    }

    /// Takes the source's row. Whether a row is ready to be given.
    fn accept(&mut self) -> Result<bool, MergeError> {
        let row = self.source.current();
        let Some(grouping) = &mut self.grouping else {
            return Ok(true);
        };
        if grouping.is_open() && grouping.holds(row, &self.keys) {
            grouping.add(row, &self.keys)?;
            return Ok(false);
        }
        let ended = grouping.is_open();
        if ended {
            grouping.end(&self.shape, &mut self.group_row)?;
        }
        grouping.begin(row, &self.keys)?;
        if ended { self.deliver() } else { Ok(false) }
    }

    /// All parts are at their end. Whether one more row is ready to be given.
    fn end(&mut self) -> Result<bool, MergeError> {
        self.ended = true;
        let ready = match &mut self.grouping {
            None => false,
            Some(grouping) if grouping.is_open() => {
                grouping.end(&self.shape, &mut self.group_row)?;
                true
            }
            Some(grouping) => grouping.end_of_nothing(&self.shape, &mut self.group_row)?,
        };
        let ready = ready && self.deliver()?;
        if let Some(resort) = &mut self.resort {
            resort.sort();
        }
        Ok(ready)
    }

    /// Puts a group's row aside where all are to be sorted. Whether it is ready to be given.
    fn deliver(&mut self) -> Result<bool, MergeError> {
        let Some(resort) = &mut self.resort else {
            return Ok(true);
        };
        resort.add(std::mem::take(&mut self.group_row))?;
        if self.held() > self.limits.bytes {
            return Err(MergeError::TooLarge {
                limit: self.limits.bytes,
            });
        }
        Ok(false)
    }
}

/// The columns that all parts have. Of a bare NULL and something else, of bytes and text, of a
/// string and an ENUM, it is the one on whose comparison more depends.
fn agreed(parts: &[Vec<Column>], groups: bool) -> Result<Vec<Column>, MergeError> {
    let mut columns = parts.first().cloned().unwrap_or_default();
    for part in parts {
        if part.len() != columns.len() {
            return Err(MergeError::Changed {
                column: part.len().min(columns.len()),
            });
        }
        for (column, (known, other)) in columns.iter_mut().zip(part).enumerate() {
            if groups && !known.agrees(other) && known.differs_in_width(other) {
                if other.integer_width() > known.integer_width() {
                    *known = *other;
                }
                continue;
            }
            if !known.agrees(other) {
                return Err(MergeError::Changed { column });
            }
            let (mine, theirs) = (known.class(), other.class());
            let weaker = mine == Class::Null || (mine, theirs) == (Class::Bytes, Class::Text);
            if weaker || other.indexed() {
                *known = *other;
            }
        }
    }
    Ok(columns)
}

/// LIMIT and OFFSET over the merged rows.
#[derive(Debug)]
struct Window {
    skip: u64,
    left: u64,
}

impl Window {
    fn new(limit: Option<Limit>) -> Self {
        let Limit { offset, count } = limit.unwrap_or(Limit {
            offset: 0,
            count: u64::MAX,
        });
        Self {
            skip: offset,
            left: count,
        }
    }

    /// How many rows it takes to fill the window.
    fn wanted(&self) -> usize {
        usize::try_from(self.skip.saturating_add(self.left)).unwrap_or(usize::MAX)
    }

    fn closed(&self) -> bool {
        self.left == 0
    }

    /// Whether the next row is to be given.
    fn admits(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.left = self.left.saturating_sub(1);
        true
    }
}
