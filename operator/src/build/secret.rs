//! Secrets: Remora's own accounts, and what an application needs to connect as a user.
//!
//! Neither has an owner: without them the rows in the retained volumes could not be read.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::names::{MYSQL_PORT, Names, RETAINED};

/// ClusterSecrets of Remora's own accounts.
#[derive(Clone, PartialEq)]
pub struct SystemPasswords {
    /// `remora_sidecar`, which leaves MySQL pods.
    pub sidecar: String,
    /// `remora_agent`, which does not.
    pub agent: String,
}

/// `NAME-remora-system`.
#[must_use]
pub fn system_secret(names: &Names, passwords: &SystemPasswords) -> Secret {
    let data = [("sidecar", &passwords.sidecar), ("agent", &passwords.agent)];
    retained(
        names,
        names.system_secret(),
        "Opaque",
        data.map(|(key, value)| (key.to_owned(), value.clone()))
            .into(),
    )
}

/// `NAME-USER`, as <https://servicebinding.io> has it. The host is the gateway's, which
/// everybody can reach; a pod with a sidecar uses 127.0.0.1 instead.
#[must_use]
pub fn user_secret(names: &Names, database: &str, user: &str, password: &str) -> Secret {
    let host = format!("{}.{}.svc", names.gateway(), names.namespace);
    let (escaped, port) = (percent_encoded(password), MYSQL_PORT);
    let data = [
        ("type", "mysql".to_owned()),
        ("provider", "remora".to_owned()),
        ("host", host.clone()),
        ("port", port.to_string()),
        ("username", user.to_owned()),
        ("password", password.to_owned()),
        ("database", database.to_owned()),
        (
            "uri",
            format!("mysql://{user}:{escaped}@{host}:{port}/{database}"),
        ),
        (
            "jdbc-uri",
            format!("jdbc:mysql://{host}:{port}/{database}?user={user}&password={escaped}"),
        ),
    ];
    retained(
        names,
        names.user_secret(user),
        "servicebinding.io/mysql",
        data.map(|(key, value)| (key.to_owned(), value)).into(),
    )
}

/// A certificate and its key, with the CAs that those who hold it trust. It is not owned either:
/// a volume's server finds it again.
#[must_use]
pub fn tls_secret(
    names: &Names,
    name: String,
    certificate: String,
    key: String,
    ca: String,
) -> Secret {
    let data = [(CERTIFICATE_KEY, certificate), (KEY_KEY, key), (CA_KEY, ca)];
    retained(
        names,
        name,
        "kubernetes.io/tls",
        data.map(|(name, value)| (name.to_owned(), value)).into(),
    )
}

/// A Secret of new keys of encrypted columns, by `NAME.VERSION`. The name is the manifest's.
#[must_use]
pub fn keys_secret(names: &Names, name: String, keys: BTreeMap<String, String>) -> Secret {
    retained(names, name, "Opaque", keys)
}

/// The certificate within such a Secret.
pub const CERTIFICATE_KEY: &str = "tls.crt";
/// Its key.
pub const KEY_KEY: &str = "tls.key";
/// The CAs.
pub const CA_KEY: &str = "ca.crt";

fn retained(names: &Names, name: String, type_: &str, data: BTreeMap<String, String>) -> Secret {
    let mut labels = names.labels();
    labels.insert(RETAINED.to_owned(), "true".to_owned());
    Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(names.namespace.clone()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        type_: Some(type_.to_owned()),
        data: Some(
            data.into_iter()
                .map(|(key, value)| (key, k8s_openapi::ByteString(value.into_bytes())))
                .collect(),
        ),
        ..Secret::default()
    }
}

/// Everything but RFC 3986's unreserved characters becomes `%XX`.
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_of_any_kind_fits_into_a_uri() {
        assert_eq!(percent_encoded("aZ09-._~"), "aZ09-._~");
        assert_eq!(percent_encoded("p@ss/ü"), "p%40ss%2F%C3%BC");
    }
}
