//! SHOW STATUS LIKE of what is the client's own: how its connection is encrypted, and how many
//! prepared statements it closed. MySQL knows the sidecar's connection alone.

use remora_planner::lexer::string_literal;
use remora_planner::utility::{Filter, Show};
use remora_protocol::{ColumnDef, ColumnFlags};

use super::Session;
use crate::execute::{Cell, Request, put_table, text_column};
use crate::failure::Failure;

impl Session {
    /// Shows one variable of the client's own.
    pub(super) fn show_client_status(
        &mut self,
        show: &Show,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let pattern = match show.filter {
            Some(Filter::Like(span)) => {
                string_literal(span.text(request.sql), self.state.context.sql_mode).into_owned()
            }
            _ => Vec::new(),
        };
        let (version, cipher) = self.client.encryption().unwrap_or_default();
        let (name, value) = match &*pattern.to_ascii_lowercase() {
            b"ssl_version" => ("Ssl_version", version.to_owned()),
            b"com_stmt_close" => ("Com_stmt_close", self.prepared.closed().to_string()),
            _ => ("Ssl_cipher", as_openssl(&cipher)),
        };
        let collation = self.account.collation();
        let (not_null, no_default) = (
            ColumnFlags::NOT_NULL_FLAG,
            ColumnFlags::NO_DEFAULT_VALUE_FLAG,
        );
        let columns = [
            column("Variable_name", 64, not_null | no_default, collation),
            column("Value", 1024, ColumnFlags::empty(), collation),
        ];
        let row = vec![
            Cell::Text(name.as_bytes().to_vec()),
            Cell::Text(value.into_bytes()),
        ];
        self.state.succeeded();
        self.state.row_count = -1;
        let status = self.status(request.more_results);
        let binary = request.params.is_some();
        put_table(&mut self.client, &columns, &[row], binary, status);
        Ok(())
    }
}

/// A column of the table that MySQL shows.
fn column(name: &str, characters: u32, flags: ColumnFlags, collation: u8) -> ColumnDef<'_> {
    ColumnDef {
        schema: b"performance_schema",
        table: b"session_status",
        org_table: b"session_status",
        org_name: name.as_bytes(),
        flags,
        decimals: 0,
        ..text_column(name, characters, collation)
    }
}

/// A cipher as MySQL's library calls it.
fn as_openssl(cipher: &str) -> String {
    if let Some(rest) = cipher.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    cipher
        .trim_start_matches("TLS_")
        .replace("_WITH_", "_")
        .replace("AES_", "AES")
        .replace("POLY1305_SHA256", "POLY1305")
        .replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_have_the_names_that_mysql_shows() {
        for (name, shown) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            (
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "ECDHE-RSA-AES128-GCM-SHA256",
            ),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ),
            ("", ""),
        ] {
            assert_eq!(as_openssl(name), shown);
        }
    }
}
