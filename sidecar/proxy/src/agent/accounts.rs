//! Which statements make the server's accounts those that were ordered.
//!
//! What was set is remembered in the account's own attribute, as seals, so that a restart of
//! the agent changes nothing: ALTER USER would void MySQL's cache of proven passwords, and a
//! global GRANT would lift the partial revokes (tried on 9.7.4) until they are set again.

use std::collections::BTreeMap;

use remora_discovery::Account;
use serde::{Deserialize, Serialize};

use super::seal::Sealer;
use super::sql::literal;

/// Accounts by name and host, with what is remembered of them; `None` if that is unknown.
pub(super) type Known = BTreeMap<(String, String), Option<Remembered>>;

/// What is remembered of an account that the agent made.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Remembered {
    password: String,
    rights: String,
}

/// What stands in an account's attribute.
#[derive(Deserialize, Serialize)]
struct Attribute {
    remora: Remembered,
}

/// What an account has that logs in by TLS alone.
const REQUIRE_SSL: &str = " REQUIRE SSL";

/// A statement, and what it does.
pub(super) type Step = (&'static str, String);

/// Lists all accounts; see [`known`].
pub(super) const LIST: &str =
    "SELECT user, host, attribute FROM information_schema.user_attributes";

/// One row of [`LIST`].
pub(super) fn known(
    user: String,
    host: String,
    attribute: &str,
) -> ((String, String), Option<Remembered>) {
    let attribute = serde_json::from_str::<Attribute>(attribute).ok();
    ((user, host), attribute.map(|attribute| attribute.remora))
}

/// The statements that are missing.
///
/// A new account stays locked until it has all its rights and lacks all that it must not have:
/// who can log in at all is complete.
pub(super) fn steps(known: &Known, ordered: &[Account], sealer: &Sealer) -> Vec<Step> {
    let mut steps = Vec::new();
    for account in ordered {
        let name = name(&account.name, &account.host);
        let wanted = Remembered {
            password: sealer.seal([account.password.as_str()]),
            rights: sealer.seal(
                account
                    .grants
                    .iter()
                    .chain([&String::new()])
                    .chain(&account.revokes)
                    .map(String::as_str)
                    // Absent rather than empty, so that seals of before stay good.
                    .chain(account.require_ssl.then_some(REQUIRE_SSL)),
            ),
        };
        let held = known.get(&(account.name.clone(), account.host.clone()));
        if held.is_none() {
            steps.push((
                "CREATE USER",
                format!("CREATE USER IF NOT EXISTS {name} ACCOUNT LOCK"),
            ));
        }
        let held = held.and_then(Option::as_ref);
        if held == Some(&wanted) {
            continue;
        }
        if held.is_none_or(|held| held.rights != wanted.rights) {
            let grants = account
                .grants
                .iter()
                .map(|what| format!("GRANT {what} TO {name}"));
            let revokes = account
                .revokes
                .iter()
                .map(|what| format!("REVOKE {what} FROM {name}"));
            steps.extend(grants.map(|sql| ("GRANT", sql)));
            steps.extend(revokes.map(|sql| ("REVOKE", sql)));
        }
        let password = match held.is_some_and(|held| held.password == wanted.password) {
            true => String::new(),
            false => format!(
                " IDENTIFIED WITH caching_sha2_password BY {}",
                literal(&account.password)
            ),
        };
        let attribute = serde_json::to_string(&Attribute { remora: wanted }).unwrap_or_default();
        let attribute = literal(&attribute);
        let tls = match account.require_ssl {
            true => REQUIRE_SSL,
            false => "",
        };
        steps.push((
            "ALTER USER",
            format!("ALTER USER {name}{password}{tls} ACCOUNT UNLOCK ATTRIBUTE {attribute}"),
        ));
    }
    steps.extend(withdrawn(known, ordered));
    steps
}

/// Accounts that the agent made and that are not ordered any more. They are locked rather than
/// dropped, so that what depends on them (views, routines) can be looked at; the seals go, so
/// that an order to have them again sets everything anew.
fn withdrawn(known: &Known, ordered: &[Account]) -> Vec<Step> {
    let is_ordered = |(name, host): &(String, String)| {
        ordered
            .iter()
            .any(|account| account.name == *name && account.host == *host)
    };
    let gone = known
        .iter()
        .filter(|(who, held)| held.is_some() && !is_ordered(who));
    gone.map(|((user, host), _)| {
        let lock = format!(
            "ALTER USER {} ACCOUNT LOCK ATTRIBUTE '{{\"remora\": null}}'",
            name(user, host)
        );
        ("ALTER USER", lock)
    })
    .collect()
}

fn name(user: &str, host: &str) -> String {
    format!("{}@{}", literal(user), literal(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> Account {
        Account {
            name: "app".to_owned(),
            password: "it's".to_owned(),
            host: "%".to_owned(),
            grants: vec!["SELECT ON *.*".to_owned()],
            revokes: vec!["SELECT ON `remora`.*".to_owned()],
            require_ssl: false,
        }
    }

    fn after(ordered: &[Account], sealer: &Sealer) -> Known {
        let remembered = |account: &Account| {
            let last = steps(&Known::new(), std::slice::from_ref(account), sealer)
                .pop()
                .unwrap()
                .1;
            let attribute = last
                .rsplit_once("ATTRIBUTE '")
                .unwrap()
                .1
                .trim_end_matches('\'');
            known(account.name.clone(), account.host.clone(), attribute)
        };
        ordered.iter().map(remembered).collect()
    }

    fn texts(steps: &[Step]) -> Vec<String> {
        let text = |(_, sql): &Step| match sql.split_once(" ATTRIBUTE '{\"remora\":{") {
            Some((text, _)) => format!("{text} ATTRIBUTE …"),
            None => sql.clone(),
        };
        steps.iter().map(text).collect()
    }

    #[test]
    fn a_new_account_is_unlocked_last() {
        let steps = steps(&Known::new(), &[app()], &Sealer::new("key"));
        assert_eq!(
            texts(&steps),
            [
                "CREATE USER IF NOT EXISTS 'app'@'%' ACCOUNT LOCK",
                "GRANT SELECT ON *.* TO 'app'@'%'",
                "REVOKE SELECT ON `remora`.* FROM 'app'@'%'",
                "ALTER USER 'app'@'%' IDENTIFIED WITH caching_sha2_password BY 'it''s' \
                 ACCOUNT UNLOCK ATTRIBUTE …",
            ]
        );
    }

    #[test]
    fn nothing_is_done_twice() {
        let sealer = Sealer::new("key");
        assert_eq!(steps(&after(&[app()], &sealer), &[app()], &sealer), []);
    }

    #[test]
    fn one_that_was_left_half_made_is_completed() {
        let half = Known::from([(("app".to_owned(), "%".to_owned()), None)]);
        let steps = steps(&half, &[app()], &Sealer::new("key"));
        assert!(texts(&steps)[0].starts_with("GRANT"), "{steps:?}");
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn another_password_leaves_the_rights_alone() {
        let sealer = Sealer::new("key");
        let known = after(&[app()], &sealer);
        let changed = Account {
            password: "new".to_owned(),
            ..app()
        };
        assert_eq!(
            texts(&steps(&known, &[changed], &sealer)),
            [
                "ALTER USER 'app'@'%' IDENTIFIED WITH caching_sha2_password BY 'new' \
              ACCOUNT UNLOCK ATTRIBUTE …"
            ]
        );
    }

    #[test]
    fn an_account_for_tls_alone_is_made_so_and_left_alone_afterwards() {
        let sealer = Sealer::new("key");
        let ordered = [Account {
            require_ssl: true,
            ..app()
        }];
        let first = steps(&Known::new(), &ordered, &sealer);
        let last = &texts(&first)[3];
        assert!(
            last.contains("BY 'it''s' REQUIRE SSL ACCOUNT UNLOCK"),
            "{last}"
        );
        assert_eq!(steps(&after(&ordered, &sealer), &ordered, &sealer), []);
    }

    #[test]
    fn other_rights_leave_the_password_alone() {
        let sealer = Sealer::new("key");
        let known = after(&[app()], &sealer);
        let changed = Account {
            revokes: Vec::new(),
            ..app()
        };
        assert_eq!(
            texts(&steps(&known, &[changed], &sealer)),
            [
                "GRANT SELECT ON *.* TO 'app'@'%'",
                "ALTER USER 'app'@'%' ACCOUNT UNLOCK ATTRIBUTE …"
            ]
        );
    }

    #[test]
    fn an_account_that_is_not_ordered_any_more_is_locked_and_others_are_left_alone() {
        let sealer = Sealer::new("key");
        let mut known = after(&[app()], &sealer);
        known.insert(("dba".to_owned(), "%".to_owned()), None);
        assert_eq!(
            texts(&steps(&known, &[], &sealer)),
            ["ALTER USER 'app'@'%' ACCOUNT LOCK ATTRIBUTE '{\"remora\": null}'"]
        );
    }
}
