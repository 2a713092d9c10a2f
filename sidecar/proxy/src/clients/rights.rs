//! What an account may do to others' sessions, as SHOW GRANTS tells.

/// What an account may do to others' sessions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Rights {
    /// It sees them (PROCESS).
    pub(crate) sees: bool,
    /// It may end them (CONNECTION_ADMIN or SUPER).
    pub(crate) kills: bool,
}

impl Rights {
    /// Reads the rows of SHOW GRANTS, which hold the rights of active roles too.
    pub(crate) fn read(rows: impl Iterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut rights = Self::default();
        for row in rows {
            let row = String::from_utf8_lossy(row.as_ref());
            // A role's name stands in quotes, and no quoted name begins a list of privileges.
            let Some((privileges, _)) = row
                .strip_prefix("GRANT ")
                .and_then(|rest| rest.split_once(" ON *.* TO "))
            else {
                continue;
            };
            for privilege in privileges.split(',').map(str::trim) {
                rights.sees |= matches!(privilege, "PROCESS" | "ALL PRIVILEGES");
                rights.kills |=
                    matches!(privilege, "CONNECTION_ADMIN" | "SUPER" | "ALL PRIVILEGES");
            }
        }
        rights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_on_everything_count_and_others_do_not() {
        let of = |rows: &[&str]| {
            let rights = Rights::read(rows.iter());
            (rights.sees, rights.kills)
        };
        assert_eq!(of(&["GRANT SELECT ON *.* TO `low`@`%`"]), (false, false));
        assert_eq!(
            of(&[
                "GRANT SELECT, PROCESS, FILE ON *.* TO `app`@`%` WITH GRANT OPTION",
                "GRANT BACKUP_ADMIN,CONNECTION_ADMIN ON *.* TO `app`@`%`",
            ]),
            (true, true)
        );
        assert_eq!(of(&["GRANT SUPER ON *.* TO `app`@`%`"]), (false, true));
        assert_eq!(
            of(&[
                "GRANT ALL PRIVILEGES ON `shop`.* TO `app`@`%`",
                "GRANT `PROCESS`@`%` TO `app`@`%`",
                "REVOKE PROCESS ON *.* FROM `app`@`%`",
            ]),
            (false, false)
        );
    }
}
