//! The shard's row in `remora.layout`: whose rows the server holds, laid out how.

use std::collections::BTreeSet;

use remora_crds::{FieldError, LayoutDocument};
use remora_discovery::{AgentOrders, Identity};

use super::AgentError;
use super::sql::{literal, text};
use crate::backend::Row;

/// Reads the row; see [`held`].
pub(super) const READ: &str =
    "SELECT cluster_uid, shard, document, epoch FROM remora.layout WHERE id = 1";

/// The row as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Held {
    pub(super) cluster_uid: String,
    pub(super) shard: String,
    pub(super) document: String,
    pub(super) epoch: u64,
}

/// A row of [`READ`].
pub(super) fn held(row: &Row) -> Held {
    Held {
        cluster_uid: text(row, 0),
        shard: text(row, 1),
        document: text(row, 2),
        epoch: text(row, 3).parse().unwrap_or(u64::MAX),
    }
}

/// What is to be written, and the lowest epoch that the shard takes afterwards.
#[derive(Debug)]
pub(super) struct Verdict {
    /// `None`: the row says it already.
    pub(super) write: Option<String>,
    /// The epoch in the row afterwards.
    pub(super) epoch: u64,
    /// What of the ordered layout the rows forbid, by the manifest's fields; empty: nothing.
    pub(super) refused: String,
}

/// The tables of which row and orders do not say the same: [`verdict`] has to know which of them
/// are there. None, where either cannot be read, which the verdict tells.
pub(super) fn changed(held: &Held, orders: &AgentOrders) -> BTreeSet<String> {
    let held = LayoutDocument::from_json(&held.document);
    let wanted = LayoutDocument::from_json(&orders.layout.document);
    match (held, wanted) {
        (Ok(held), Ok(wanted)) => held.changed(&wanted).map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

/// Compares what the shard holds with what is ordered. `there` are those of the
/// [changed](changed) tables that it has.
///
/// # Errors
/// If the rows are laid out otherwise, belong to another shard, or have seen a newer epoch.
pub(super) fn verdict(
    held: Option<&Held>,
    orders: &AgentOrders,
    identity: &Identity,
    there: &BTreeSet<String>,
) -> Result<Verdict, AgentError> {
    let layout = &orders.layout;
    let unreadable = |what: &str, error: serde_json::Error| {
        AgentError::Layout(format!(
            "the layout {what} cannot be read by this version: {error}"
        ))
    };
    let wanted = LayoutDocument::from_json(&layout.document)
        .map_err(|e| unreadable("that is ordered", e))?;
    let Some(held) = held else {
        let write = Some(insert(orders, &wanted, identity.epoch));
        return Ok(Verdict {
            write,
            epoch: identity.epoch,
            refused: String::new(),
        });
    };
    if held.shard != orders.shard.to_string() {
        return Err(AgentError::Layout(format!(
            "the volume holds shard {}, and this is shard {}: give each pod its own volume back",
            held.shard, orders.shard
        )));
    }
    let document =
        LayoutDocument::from_json(&held.document).map_err(|e| unreadable("of the rows", e))?;
    let admission = document
        .admit(&wanted, orders.shard, there)
        .map_err(|errors| AgentError::Contradiction(sentence(&errors)))?;
    let next = &admission.document;
    // The manifest was deleted and applied again: the same rows, under another UID. It has to
    // start above all that the old cluster said.
    let adopted = held.cluster_uid != layout.cluster_uid;
    let least = held.epoch.saturating_add(u64::from(adopted));
    if identity.epoch < least {
        return Err(AgentError::Stale {
            least,
            got: identity.epoch,
        });
    }
    let same = !adopted && *next == document && held.epoch == identity.epoch;
    let write = (!same).then(|| update(&layout.cluster_uid, next, identity.epoch));
    Ok(Verdict {
        write,
        epoch: identity.epoch,
        refused: sentence(&admission.errors()),
    })
}

fn sentence(errors: &[FieldError]) -> String {
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    errors.join("; ")
}

fn insert(orders: &AgentOrders, document: &LayoutDocument, epoch: u64) -> String {
    format!(
        "INSERT INTO remora.layout (id, cluster_uid, shard, fingerprint, document, epoch) \
         VALUES (1, {}, {}, {}, {}, {epoch})",
        literal(&orders.layout.cluster_uid),
        orders.shard,
        literal(&document.fingerprint()),
        literal(&document.to_json()),
    )
}

fn update(uid: &str, document: &LayoutDocument, epoch: u64) -> String {
    format!(
        "UPDATE remora.layout SET cluster_uid = {}, fingerprint = {}, document = {}, \
         epoch = {epoch} WHERE id = 1",
        literal(uid),
        literal(&document.fingerprint()),
        literal(&document.to_json()),
    )
}

#[cfg(test)]
mod tests {
    use remora_crds::ShardingClusterSpec;
    use remora_discovery::LayoutOrder;

    use super::*;

    fn layout(tables_per_shard: u16, more: &str) -> LayoutDocument {
        let spec: ShardingClusterSpec = serde_saphyr::from_str(&format!(
            "{{shards: 2, database: shop, tables: [{{name: t, sharding: {{key: [id], \
              algorithm: {{hash: {{}}}}, tablesPerShard: {tables_per_shard}}}}}{more}]}}"
        ))
        .unwrap();
        LayoutDocument::of(&spec)
    }

    fn orders(document: &LayoutDocument) -> AgentOrders {
        AgentOrders {
            shard: 0,
            accounts: Vec::new(),
            layout: LayoutOrder {
                cluster_uid: "new".to_owned(),
                fingerprint: document.fingerprint(),
                document: document.to_json(),
            },
            gateway: None,
        }
    }

    fn row(uid: &str, epoch: u64) -> Held {
        Held {
            cluster_uid: uid.to_owned(),
            shard: "0".to_owned(),
            document: layout(4, "").to_json(),
            epoch,
        }
    }

    fn at(epoch: u64) -> Identity {
        Identity {
            uid: "new".to_owned(),
            epoch,
            content_hash: String::new(),
        }
    }

    fn told(held: Option<&Held>, document: &LayoutDocument, epoch: u64) -> String {
        let there = BTreeSet::from(["there".to_owned()]);
        match verdict(held, &orders(document), &at(epoch), &there) {
            Ok(Verdict {
                write: None,
                epoch,
                refused,
            }) => format!("keep at {epoch} {refused}").trim_end().to_owned(),
            Ok(Verdict {
                write: Some(sql),
                epoch,
                refused,
            }) => format!("write at {epoch}: {sql} {refused}")
                .trim_end()
                .to_owned(),
            Err(error) => format!("refuse: {error}"),
        }
    }

    #[test]
    fn the_row_decides_what_may_be_served() {
        let same = layout(4, "");
        let more = layout(4, ", {name: country, broadcast: true}");
        let told = [
            told(None, &same, 1),
            told(Some(&row("new", 3)), &same, 3),
            told(Some(&row("new", 3)), &same, 4),
            told(Some(&row("new", 3)), &same, 2),
            told(Some(&row("old", 3)), &same, 3),
            told(Some(&row("old", 3)), &same, 4),
            told(Some(&row("new", 3)), &more, 3),
            told(Some(&row("new", 3)), &layout(8, ""), 3),
            told(
                Some(&row("new", 3)),
                &layout(4, ", {name: there, broadcast: true}"),
                3,
            ),
            told(
                Some(&Held {
                    document: layout(4, ", {name: there, broadcast: true}").to_json(),
                    ..row("new", 3)
                }),
                &layout(
                    4,
                    ", {name: there, sharding: {key: [id], algorithm: {hash: {}}}}",
                ),
                3,
            ),
            told(
                Some(&Held {
                    shard: "1".to_owned(),
                    ..row("new", 3)
                }),
                &same,
                3,
            ),
            told(
                Some(&Held {
                    document: "{}".to_owned(),
                    ..row("new", 3)
                }),
                &same,
                3,
            ),
        ];
        insta::assert_snapshot!(told.join("\n\n"));
    }
}
