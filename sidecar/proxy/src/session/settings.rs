//! SETs of the session, to be replayed on connections that did not run them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::EACH;

/// Orders the settings of all sessions, so that no number comes twice in one of them: what is
/// known under a number (columns' definitions) outlives a reset.
static VERSION: AtomicU64 = AtomicU64::new(0);

/// What the session SET, the last value of each variable, in the order of setting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Shared with the connections that have them.
    entries: Arc<Vec<Entry>>,
    version: u64,
    /// A variable has a value that is not among them: nobody else's settings are the same.
    incomplete: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Vec<u8>,
    set: Vec<u8>,
    version: u64,
}

/// The variables that SET NAMES and SET CHARACTER SET assign.
const CHARACTER_SETS: [&[u8]; 6] = [
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"collation_connection",
    NAMES,
    CHARACTER_SET,
];
/// The name under which SET NAMES is remembered.
pub(crate) const NAMES: &[u8] = b" names";
/// The name under which SET CHARACTER SET is remembered.
pub(crate) const CHARACTER_SET: &[u8] = b" character set";

impl Settings {
    /// Remembers that `set`, a whole statement, gives the variable `name` its value.
    pub(crate) fn put(&mut self, name: &[u8], set: Vec<u8>) {
        let overrides_all = name == NAMES || name == CHARACTER_SET;
        let entries = Arc::make_mut(&mut self.entries);
        entries.retain(|e| {
            let overridden = overrides_all && CHARACTER_SETS.contains(&&e.name[..]);
            !overridden && !e.name.eq_ignore_ascii_case(name)
        });
        self.version = VERSION.fetch_add(1, Ordering::Relaxed) + 1;
        entries.push(Entry {
            name: name.to_ascii_lowercase(),
            set,
            version: self.version,
        });
    }

    /// Whether the session gave this variable a value.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.entries
            .iter()
            .any(|e| e.name.eq_ignore_ascii_case(name))
    }

    /// Forgets the value of a variable, which connections keep.
    pub(crate) fn forget(&mut self, name: &[u8]) {
        Arc::make_mut(&mut self.entries).retain(|e| !e.name.eq_ignore_ascii_case(name));
        self.incomplete = true;
    }

    /// Whether a connection with these settings has those, whoever SET them.
    pub(crate) fn are(&self, other: &Self) -> bool {
        let same = |(own, its): (&Entry, &Entry)| own.name == its.name && own.set == its.set;
        let pairs = || self.entries.iter().zip(other.entries.iter());
        !self.incomplete
            && !other.incomplete
            && (Arc::ptr_eq(&self.entries, &other.entries)
                || self.entries.len() == other.entries.len() && pairs().all(same))
    }

    /// What they take, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.entries
            .iter()
            .map(|e| e.name.len() + e.set.len() + EACH)
            .sum()
    }

    /// A number that grows with each SET.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The statements that a connection lacks which has those up to `version`.
    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &[u8]> {
        self.entries
            .iter()
            .filter(move |e| e.version > version)
            .map(|e| &e.set[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(settings: &Settings, version: u64) -> Vec<&str> {
        settings
            .since(version)
            .map(|s| str::from_utf8(s).unwrap())
            .collect()
    }

    #[test]
    fn only_the_last_value_of_a_variable_is_replayed() {
        let mut settings = Settings::default();
        settings.put(b"sql_mode", b"SET sql_mode = ''".to_vec());
        settings.put(b"@a", b"SET @a = 1".to_vec());
        settings.put(b"SQL_MODE", b"SET sql_mode = 'ANSI'".to_vec());
        assert_eq!(since(&settings, 0), ["SET @a = 1", "SET sql_mode = 'ANSI'"]);
    }

    #[test]
    fn settings_are_the_same_by_names_values_and_order() {
        let of = |sets: &[(&str, &str)]| {
            let mut settings = Settings::default();
            for (name, set) in sets {
                settings.put(name.as_bytes(), set.as_bytes().to_vec());
            }
            settings
        };
        let [a, b] = [("@a", "SET @a = 1"), ("@b", "SET @b = 2")];
        assert!(of(&[]).are(&Settings::default()));
        assert!(of(&[a, b]).are(&of(&[a, b])));
        for others in [&[a][..], &[b, a], &[a, ("@b", "SET @b = 3")], &[]] {
            assert!(!of(&[a, b]).are(&of(others)), "{others:?}");
        }
        let mut forgot = of(&[a, b]);
        forgot.forget(b"@b");
        assert!(!forgot.are(&of(&[a])) && !forgot.are(&forgot.clone()));
    }

    #[test]
    fn no_number_comes_again_after_a_reset() {
        let mut before = Settings::default();
        before.put(NAMES, b"SET NAMES latin1".to_vec());
        let mut after = Settings::default();
        after.put(NAMES, b"SET NAMES utf8mb4".to_vec());
        assert_ne!(before.version(), after.version());
    }

    #[test]
    fn a_connection_gets_what_it_lacks() {
        let mut settings = Settings::default();
        settings.put(b"@a", b"SET @a = 1".to_vec());
        let seen = settings.version();
        settings.put(b"@b", b"SET @b = 2".to_vec());
        assert_eq!(since(&settings, seen), ["SET @b = 2"]);
        assert_eq!(since(&settings, settings.version()), Vec::<&str>::new());
    }

    #[test]
    fn set_names_takes_the_place_of_single_character_sets() {
        let mut settings = Settings::default();
        settings.put(
            b"character_set_results",
            b"SET character_set_results = NULL".to_vec(),
        );
        settings.put(NAMES, b"SET NAMES latin1".to_vec());
        assert_eq!(since(&settings, 0), ["SET NAMES latin1"]);
        settings.put(
            b"character_set_results",
            b"SET character_set_results = NULL".to_vec(),
        );
        assert_eq!(since(&settings, 0).len(), 2);
    }
}
