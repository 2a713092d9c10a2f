//! Classes of errors, as few as are worth a line in a dashboard.

/// What kind of error a client got.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorClass {
    /// This version does not support it.
    Refused,
    /// The text is no SQL.
    Syntax,
    /// The user may not.
    Denied,
    /// A database, table or column is not there.
    Missing,
    /// A key or a check forbids the row.
    Constraint,
    /// A lock was not to be had.
    Lock,
    /// A shard could not be reached, or was lost.
    Unreachable,
    /// All others.
    Other,
}

impl ErrorClass {
    /// All classes, in the order of their numbers.
    pub(super) const ALL: [Self; 8] = [
        Self::Refused,
        Self::Syntax,
        Self::Denied,
        Self::Missing,
        Self::Constraint,
        Self::Lock,
        Self::Unreachable,
        Self::Other,
    ];

    /// The class of an error by its number.
    #[must_use]
    pub fn of(code: u16) -> Self {
        match code {
            1235 => Self::Refused,
            1064 | 1065 | 1149 => Self::Syntax,
            1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 3118 => Self::Denied,
            1008 | 1046 | 1049 | 1051 | 1054 | 1109 | 1146 | 1305 => Self::Missing,
            1048 | 1062 | 1169 | 1216 | 1217 | 1451 | 1452 | 3819 => Self::Constraint,
            1205 | 1213 | 3572 => Self::Lock,
            1040 | 1053 | 2002 | 2003 | 2006 | 2013 => Self::Unreachable,
            _ => Self::Other,
        }
    }

    /// The value of the label `class`.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Syntax => "syntax",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::Constraint => "constraint",
            Self::Lock => "lock",
            Self::Unreachable => "unreachable",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_class_are_told_apart() {
        let classes = [1235, 1064, 1045, 1146, 1062, 1213, 2003, 1105].map(ErrorClass::of);
        assert_eq!(classes, ErrorClass::ALL);
    }
}
