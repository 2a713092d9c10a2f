//! What would show physical schemas to a client.

use crate::Refusal;
use crate::dispatch::Reading;
use crate::lexer::TokenKind;
use crate::utility::StatementKind;

impl Reading<'_> {
    /// Whether a schema is Remora's own business.
    fn is_hidden(&self, schema: &str) -> bool {
        schema == "remora" || self.catalog.is_physical_schema(schema)
    }

    /// Physical schemas do not exist for clients.
    pub(crate) fn refuse_physical_schemas(&self) -> Result<(), Refusal> {
        let source = &self.source;
        let named = (0..source.len()).find_map(|token| {
            let name = source.name(token)?;
            let before = token.checked_sub(1);
            let behind = |words: &[&str]| before.is_some_and(|it| source.is_any(it, words));
            let is_schema = source.kind(token + 1) == Some(TokenKind::Dot)
                || behind(&["USE", "DATABASE", "SCHEMA"])
                || self.kind == StatementKind::Show && behind(&["FROM", "IN"]);
            (is_schema && self.is_hidden(&name)).then_some(name)
        });
        match named {
            Some(name) => Err(Refusal {
                code: 1049,
                state: *b"42000",
                message: format!("Unknown database '{name}'"),
            }),
            None => Ok(()),
        }
    }

    /// INFORMATION_SCHEMA of the first shard knows the split tables by their physical schemas
    /// only.
    pub(crate) fn refuse_information_schema(&self) -> Result<(), Refusal> {
        const NAME: &str = "information_schema";
        if !self.catalog.has_physical_schemas() && !self.catalog.has_protected() {
            return Ok(());
        }
        let source = &self.source;
        let is = |name: String| name.eq_ignore_ascii_case(NAME);
        let current = self.context.database.clone().is_some_and(is);
        let reads = (0..source.len()).any(|token| source.is(token, "FROM"));
        let table = (0..source.len())
            .find(|token| {
                source.name(*token).is_some_and(is)
                    && source.kind(token + 1) == Some(TokenKind::Dot)
            })
            .and_then(|token| source.name(token + 2));
        let harmless = [
            "CHARACTER_SETS",
            "COLLATIONS",
            "ENGINES",
            "KEYWORDS",
            "PLUGINS",
        ];
        match table {
            Some(table) if harmless.iter().any(|name| table.eq_ignore_ascii_case(name)) => Ok(()),
            None if !(current && reads) => Ok(()),
            _ => Err(Refusal::unsupported(
                "INFORMATION_SCHEMA is not supported yet beside tables that are split within \
                 their shard or have encrypted columns; use SHOW or DESCRIBE",
            )),
        }
    }
}
