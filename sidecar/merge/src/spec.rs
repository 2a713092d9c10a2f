//! What the planner asks of a merge.

/// How the rows of the parts become the client's rows.
///
/// Column numbers count the columns of the *parts'* result sets from 0. The first
/// [`visible`](Self::visible) of them are the client's; what follows are hidden columns that
/// the planner appended to the select list: sort keys, weight strings, sums and counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MergeSpec {
    /// How many leading columns the client sees.
    pub visible: usize,
    /// Rows that are equal in these keys become one. The parts deliver rows in the order of
    /// `order`, and `group`'s keys are a prefix of it up to permutation, so that groups stream.
    pub group: Option<Group>,
    /// The order of the result, and of each part.
    pub order: Vec<OrderKey>,
    /// Rows to skip and to give, after grouping.
    pub limit: Option<Limit>,
}

/// Rows to skip and to give.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limit {
    /// Rows to skip.
    pub offset: u64,
    /// Rows to give.
    pub count: u64,
}

/// GROUP BY, DISTINCT, or (without keys) an aggregate over everything, which gives one row.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Group {
    /// Equality decides which rows are one. Empty: all rows are one group, and each part
    /// gave exactly one row.
    pub keys: Vec<Key>,
    /// What happens to the visible columns that aggregate; every other column keeps the
    /// value of the group's first row.
    pub aggregates: Vec<Aggregate>,
}

/// A value to compare by.
///
/// Numbers, times and binary strings compare by `value`; text compares by the bytes of
/// `WEIGHT_STRING(value)` in column `weight`, as MySQL's collation has it. Which of the two
/// holds is decided by the type in the result set's metadata.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Key {
    /// The column that holds the value.
    pub value: usize,
    /// The column that holds its weight string, where the value may be text.
    pub weight: Option<usize>,
}

/// One key of ORDER BY.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OrderKey {
    /// What to compare.
    pub key: Key,
    /// NULL is the lowest value: first when ascending, last when descending.
    pub descending: bool,
}

/// One visible column that aggregates the values of its group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Aggregate {
    /// The visible column.
    pub column: usize,
    /// How the parts' values become one.
    pub function: Function,
}

/// How the parts' values become one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Function {
    /// The sum of the parts' counts (never NULL).
    Count,
    /// The sum of the values that are not NULL; NULL if all are.
    Sum,
    /// The lowest value that is not NULL.
    Min(Key),
    /// The highest value that is not NULL.
    Max(Key),
    /// `sum / count` of two hidden columns, rounded as MySQL rounds AVG.
    Avg {
        /// Column of `SUM(x)`.
        sum: usize,
        /// Column of `COUNT(x)`.
        count: usize,
    },
}
