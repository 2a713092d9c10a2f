//! The parts of `sql_mode` that change how bytes become tokens, or tokens a meaning.

/// The `sql_mode` flags that a reader of SQL text must know.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct SqlMode {
    /// `"x"` is an identifier, not a string.
    pub ansi_quotes: bool,
    /// `\` is an ordinary character inside a string.
    pub no_backslash_escapes: bool,
    /// `||` joins strings, and binds tighter than comparisons, instead of being OR.
    pub pipes_as_concat: bool,
    /// `NOT a BETWEEN b AND c` means `(NOT a) BETWEEN b AND c`.
    pub high_not_precedence: bool,
    /// Blanks are allowed between a function's name and its parenthesis.
    pub ignore_space: bool,
}

impl SqlMode {
    /// Reads the value of `sql_mode` as SET takes it: names joined by commas, in any case.
    /// Names without influence on the text are passed over.
    #[must_use]
    pub fn from_names(value: &str) -> Self {
        let mut mode = Self::default();
        for name in value.split(',').map(str::trim) {
            match name.to_ascii_uppercase().as_str() {
                "ANSI" => {
                    mode.ansi_quotes = true;
                    mode.pipes_as_concat = true;
                    mode.ignore_space = true;
                }
                "ANSI_QUOTES" => mode.ansi_quotes = true,
                "NO_BACKSLASH_ESCAPES" => mode.no_backslash_escapes = true,
                "PIPES_AS_CONCAT" => mode.pipes_as_concat = true,
                "HIGH_NOT_PRECEDENCE" => mode.high_not_precedence = true,
                "IGNORE_SPACE" => mode.ignore_space = true,
                _ => {}
            }
        }
        mode
    }

    /// One byte that tells modes apart, for cache keys.
    #[must_use]
    pub fn class(self) -> u8 {
        u8::from(self.ansi_quotes)
            | u8::from(self.no_backslash_escapes) << 1
            | u8::from(self.pipes_as_concat) << 2
            | u8::from(self.high_not_precedence) << 3
            | u8::from(self.ignore_space) << 4
    }
}
