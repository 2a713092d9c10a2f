//! Collations by the number that they have in a login.

use mysql_common::collations::{Collation, CollationId};

/// Character sets that no client may send its texts in: MySQL takes its default in their place.
const NOT_OF_CLIENTS: [&str; 4] = ["ucs2", "utf16", "utf16le", "utf32"];

/// The character set and the name of the collation with this number; `None` if there is none that
/// a client may log in with.
#[must_use]
pub fn collation(number: u8) -> Option<(String, String)> {
    let collation = Collation::resolve(CollationId::from(u16::from(number)));
    let known = number != 0 && collation.id() != CollationId::UNKNOWN_COLLATION_ID;
    let names = (
        collation.charset().to_owned(),
        collation.collation().to_owned(),
    );
    (known && !NOT_OF_CLIENTS.contains(&collation.charset())).then_some(names)
}
