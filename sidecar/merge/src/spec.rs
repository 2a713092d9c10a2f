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
    /// The order of each part, and of the result unless `resort` says otherwise.
    pub order: Vec<OrderKey>,
    /// The order of the groups, where it is not `order` (`GROUP BY g ORDER BY SUM(x)`); else
    /// empty. All groups are held before the first is given. Its keys may be any columns,
    /// those that aggregate included.
    pub resort: Vec<OrderKey>,
    /// Rows to skip and to give, after grouping.
    pub limit: Option<Limit>,
}

impl MergeSpec {
    /// Whether the rows of a group follow each other: its keys are what the order begins with.
    pub(crate) fn streams(&self) -> bool {
        let Some(group) = &self.group else {
            return true;
        };
        let order = self.order.iter().map(|order| order.key);
        let leading = order.take_while(|key| group.keys.contains(key));
        group
            .keys
            .iter()
            .all(|key| leading.clone().any(|other| other == *key))
    }
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
    /// Equality decides which rows are one. Empty: all rows of all parts are one group,
    /// which exists even if there is no row (as `SELECT COUNT(*)` always gives one).
    pub keys: Vec<Key>,
    /// What happens to the columns that aggregate; every other column keeps the value of
    /// the group's first row.
    pub aggregates: Vec<Aggregate>,
}

/// A value to compare by.
///
/// Numbers and times compare by `value`; strings by the bytes of `WEIGHT_STRING(value)` in
/// column `weight`, padded as the collation named in column `collation` pads. Which of the
/// two holds is decided by the type in the result set's metadata. The collation is asked for
/// because metadata do not tell it: a column definition carries the character set of
/// `character_set_results`.
///
/// ENUM and SET order by their index: `value` must then be a column of `x + 0`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Key {
    /// The column that holds the value.
    pub value: usize,
    /// The column of `WEIGHT_STRING(value)`, where the value may be text.
    pub weight: Option<usize>,
    /// The column of `COLLATION(value)`, where the value may be text.
    pub collation: Option<usize>,
}

/// One key of ORDER BY.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OrderKey {
    /// What to compare.
    pub key: Key,
    /// NULL is the lowest value: first when ascending, last when descending.
    pub descending: bool,
}

/// One column that aggregates the values of its group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Aggregate {
    /// The column that takes the group's value; hidden where only `resort` needs it.
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
    /// The lowest value that is not NULL. Its weight goes with it, so that `resort` can
    /// compare by it.
    Min(Key),
    /// The highest value that is not NULL, likewise.
    Max(Key),
    /// `sum / count` of two hidden columns, rounded as MySQL rounds AVG.
    Avg {
        /// Column of `SUM(x)`.
        sum: usize,
        /// Column of `COUNT(x)`.
        count: usize,
    },
}
