//! The body of CHANGE_USER: a second login on a connection that stands.

use bytes::{BufMut, BytesMut};

use crate::capability::CapabilityFlags;
use crate::error::Result;
use crate::greeting::{Attributes, put_short_auth, take_short_auth};
use crate::wire::{Input, put_nul_bytes};

/// Who the client wants to be from now on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The user's name.
    pub user: &'a [u8],
    /// The plugin's first answer, scrambled with the greeting's nonce.
    pub auth: &'a [u8],
    /// The database to go on in.
    pub database: Option<&'a [u8]>,
    /// The collation, where the client sends one.
    pub collation: Option<u16>,
    /// The plugin that `auth` is of.
    pub plugin: Option<&'a [u8]>,
    /// What the client says about itself.
    pub attributes: Attributes<'a>,
}

/// Leaves `auth` out: with an unsuitable plugin it is the password itself.
impl std::fmt::Debug for ChangeUser<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeUser")
            .field("user", &String::from_utf8_lossy(self.user))
            .finish_non_exhaustive()
    }
}

impl<'a> ChangeUser<'a> {
    pub(super) fn take(input: &mut Input<'a>, capabilities: CapabilityFlags) -> Result<Self> {
        let user = input.nul_bytes()?;
        let auth = take_short_auth(input, capabilities)?;
        let database = Some(input.nul_or_rest()).filter(|name| !name.is_empty());
        let collation = if input.is_empty() {
            None
        } else {
            Some(input.u16()?)
        };
        let named = capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) && !input.is_empty();
        let plugin = named.then(|| input.nul_or_rest());
        let attributes = if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
            Attributes::take(input)?
        } else {
            Attributes::default()
        };
        Ok(Self {
            user,
            auth,
            database,
            collation,
            plugin,
            attributes,
        })
    }

    pub(super) fn encode(&self, capabilities: CapabilityFlags, out: &mut BytesMut) -> Result<()> {
        put_nul_bytes(self.user, out);
        put_short_auth(self.auth, capabilities, out)?;
        put_nul_bytes(self.database.unwrap_or_default(), out);
        let Some(collation) = self.collation else {
            return Ok(());
        };
        out.put_u16_le(collation);
        if let Some(plugin) = self.plugin {
            put_nul_bytes(plugin, out);
            if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
                self.attributes.encode(out);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Command;
    use crate::capability::server_offer;

    #[test]
    fn a_change_comes_back() {
        let sent = Command::ChangeUser(ChangeUser {
            user: b"app",
            auth: b"0123456789abcdef0123456789abcdef",
            database: Some(b"shop"),
            collation: Some(255),
            plugin: Some(b"caching_sha2_password"),
            attributes: Attributes::from(&b"\x01k\x01v"[..]),
        });
        let mut out = BytesMut::new();
        sent.encode(server_offer(), &mut out).unwrap();
        assert_eq!(Command::decode(&out, server_offer()), Ok(sent));
    }

    #[test]
    fn everything_behind_the_database_may_be_missing() {
        let got = Command::decode(b"\x11app\0\0shop\0", server_offer());
        let Ok(Command::ChangeUser(change)) = got else {
            panic!("{got:?}")
        };
        assert_eq!(
            (change.user, change.database),
            (&b"app"[..], Some(&b"shop"[..]))
        );
        assert_eq!((change.collation, change.plugin), (None, None));
    }
}
