//! The certificates of MySQL servers and gateways: one for each shard, whose servers share it, and
//! one for all gateways of a cluster, each in a Secret beside the cluster.

use std::time::{Duration, Instant, SystemTime};

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use remora_crds::ShardingCluster;
use remora_discovery::{GatewayCertificate, fingerprints};

use super::trust::{Progress, ServerSide};
use super::validity::{validity, verifies};
use super::{Audience, CaState, CertificateError, Trust};
use crate::act::Actor;
use crate::build::{self, CA_KEY, CERTIFICATE_KEY, KEY_KEY, Object};
use crate::names::Names;
use crate::secrets::{self, SecretError};

/// How long a server's certificate lives. It is renewed when two thirds are over.
const LIFE: Duration = Duration::from_secs(90 * 24 * 3600);

/// Whose certificate it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Holder {
    /// All gateways of the cluster.
    Gateways,
    /// The servers of a shard.
    Shard(u16),
}

impl Holder {
    fn secret(self, names: &Names) -> String {
        match self {
            Self::Gateways => names.gateway_tls_secret(),
            Self::Shard(shard) => names.shard_tls_secret(shard),
        }
    }

    fn names(self, names: &Names, domain: &str) -> Vec<String> {
        match self {
            Self::Gateways => names.gateway_names(domain),
            Self::Shard(shard) => names.server_names(shard, domain),
        }
    }
}

/// A certificate and its key, as a Secret holds them, as PEM.
#[derive(Clone, PartialEq)]
struct Pair {
    certificate: String,
    key: String,
}

/// What a Secret holds.
struct Held {
    pair: Pair,
    /// The CAs that are trusted beside it.
    ca: String,
    /// The stamp of the apply that it came by.
    stamp: Option<String>,
}

/// What becomes of a certificate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    /// It stays, and is what it should be.
    Right,
    /// It stays for now: somebody does not trust the CA that issues.
    Waiting,
    /// Another one is issued.
    Replaced,
}

/// What becomes of `certificate`, which must bear `names`. `trusted`: all who verify it trust the
/// CA that issues.
fn fate(
    certificate: &str,
    names: &[String],
    state: &CaState,
    trusted: bool,
    now: SystemTime,
) -> Fate {
    let Some(validity) = validity(certificate) else {
        return Fate::Replaced;
    };
    let by = |authority: &str| {
        let verified = |name: &String| verifies(authority, certificate, name, now);
        names.iter().all(verified)
    };
    let own = by(state.issuer.certificate_pem());
    if own && !validity.is_due(now) {
        return Fate::Right;
    }
    // Nobody has to trust anything new for this.
    if own || trusted || validity.is_urgent(now) {
        return Fate::Replaced;
    }
    Fate::Waiting
}

/// Makes the Secrets hold what they should, and gives what sidecars are told of it.
///
/// # Errors
/// [`SecretError`].
pub(crate) async fn ensure(
    client: &Client,
    cluster: &ShardingCluster,
    trust: &Trust,
    domain: &str,
    now: SystemTime,
) -> Result<ServerSide, SecretError> {
    let names = build::names(cluster);
    let shards = cluster.spec.shards;
    if let Some(known) = trust.known(&names, shards) {
        return Ok(known);
    }
    let state = trust.state();
    let audience = trust.audience();
    let trusted = audience.all_trust(&names, state.issuer.fingerprint());
    let api: Api<Secret> = Api::namespaced(client.clone(), &names.namespace);
    let holders = [Holder::Gateways]
        .into_iter()
        .chain((0..shards).map(Holder::Shard));

    let mut settled = true;
    let mut bundle = state.bundle();
    let mut wanted = Vec::new();
    for holder in holders {
        let held = held(&api, &names, holder).await?;
        let bears = holder.names(&names, domain);
        let fate = held.as_ref().map_or(Fate::Replaced, |held| {
            fate(&held.pair.certificate, &bears, &state, trusted, now)
        });
        let stamp = held.as_ref().and_then(|held| held.stamp.clone());
        if let Some(held) = &held {
            bundle = joined(&bundle, &held.ca);
        }
        let pair = match (held, fate) {
            (Some(held), Fate::Right | Fate::Waiting) => held.pair,
            _ => issue(&state, &bears, now)?,
        };
        settled &= fate == Fate::Right && shows(&audience, &names, holder, &pair.certificate);
        wanted.push((holder, pair, stamp));
    }
    // A server may still show what another CA issued; then it has to be trusted by all.
    if settled {
        bundle = state.bundle();
    }
    for (holder, pair, stamp) in &wanted {
        let object = build::tls_secret(
            &names,
            holder.secret(&names),
            pair.certificate.clone(),
            pair.key.clone(),
            bundle.clone(),
        );
        let object = Object::from(object).stamped();
        if stamp.as_deref() != object.stamp() {
            Actor::new(client.clone(), &names).apply(&object).await?;
        }
    }
    let gateway = wanted.first().map(|(_, pair, _)| GatewayCertificate {
        certificate: pair.certificate.clone(),
        key: pair.key.clone(),
    });
    let servers = ServerSide {
        ca: bundle,
        gateway: gateway.ok_or(CertificateError::Malformed)?,
    };
    let progress = Progress {
        issuer: state.issuer.fingerprint().clone(),
        bundle: state.bundle(),
        shards,
        settled,
        servers: servers.clone(),
        at: Instant::now(),
    };
    trust.note(names, progress);
    Ok(servers)
}

/// What the Secret of `holder` holds; `None`, if it is not there, or holds no such thing.
async fn held(
    secrets: &Api<Secret>,
    names: &Names,
    holder: Holder,
) -> Result<Option<Held>, SecretError> {
    let name = holder.secret(names);
    let Some(secret) = secrets::fetch(secrets, &name).await? else {
        return Ok(None);
    };
    if !secrets::ours(&secret, names) {
        return Err(secrets::foreign(name));
    }
    let text = |key| secrets::text(&secret, key);
    let pair = match (text(CERTIFICATE_KEY), text(KEY_KEY)) {
        (Some(certificate), Some(key)) => Pair { certificate, key },
        _ => return Ok(None),
    };
    Ok(Some(Held {
        pair,
        ca: text(CA_KEY).unwrap_or_default(),
        stamp: build::stamp(&secret.metadata).map(str::to_owned),
    }))
}

/// What sidecars are told of a cluster's certificates; `None`, if the leader has yet to make them.
///
/// # Errors
/// [`SecretError`].
pub(crate) async fn read(
    secrets: &Api<Secret>,
    names: &Names,
) -> Result<Option<ServerSide>, SecretError> {
    let held = held(secrets, names, Holder::Gateways).await?;
    Ok(held.map(|held| ServerSide {
        ca: held.ca,
        gateway: GatewayCertificate {
            certificate: held.pair.certificate,
            key: held.pair.key,
        },
    }))
}

fn issue(state: &CaState, names: &[String], now: SystemTime) -> Result<Pair, CertificateError> {
    let issued = state.issuer.issue_pem(names, now, LIFE)?;
    Ok(Pair {
        certificate: issued.certificate,
        key: issued.key.to_string(),
    })
}

fn shows(audience: &Audience, names: &Names, holder: Holder, certificate: &str) -> bool {
    let Some(certificate) = fingerprints(certificate.as_bytes()).into_iter().next() else {
        return false;
    };
    match holder {
        Holder::Gateways => audience.gateways_show(names, &certificate),
        Holder::Shard(shard) => audience.servers_show(names, shard, &certificate),
    }
}

/// `bundle`, with those of `others` that it lacks.
fn joined(bundle: &str, others: &str) -> String {
    const END: &str = "-----END CERTIFICATE-----\n";
    let known = fingerprints(bundle.as_bytes());
    let missing = others.split_inclusive(END).filter(|pem| {
        let each = fingerprints(pem.as_bytes());
        !each.is_empty() && !each.is_subset(&known)
    });
    missing.fold(bundle.to_owned(), |all, pem| all + pem)
}

#[cfg(test)]
mod tests {
    use super::super::rotation::Step;
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn names() -> Vec<String> {
        let names = Names::new("default", "shop");
        Holder::Shard(0).names(&names, "cluster.local")
    }

    #[test]
    fn a_certificate_stays_for_two_thirds_of_its_life() {
        let now = SystemTime::now();
        let state = CaState::first("ca", now).unwrap();
        let pair = issue(&state, &names(), now).unwrap();
        let at = |days: u32| fate(&pair.certificate, &names(), &state, false, now + days * DAY);
        assert_eq!(at(0), Fate::Right);
        assert_eq!(at(59), Fate::Right);
        assert_eq!(at(61), Fate::Replaced);
        assert_eq!(at(100), Fate::Replaced);
    }

    #[test]
    fn one_that_lacks_a_name_or_is_none_is_replaced() {
        let now = SystemTime::now();
        let state = CaState::first("ca", now).unwrap();
        let pair = issue(&state, &["other.svc".to_owned()], now).unwrap();
        let fate = |certificate: &str| fate(certificate, &names(), &state, true, now);
        assert_eq!(fate(&pair.certificate), Fate::Replaced);
        assert_eq!(fate("none"), Fate::Replaced);
    }

    #[test]
    fn another_ca_issues_once_all_trust_it_or_the_certificate_is_about_to_expire() {
        let now = SystemTime::now();
        let first = CaState::first("ca", now).unwrap();
        let pair = issue(&first, &names(), now).unwrap();
        let begun = first.after(Step::Begin, "ca", now).unwrap();
        let switched = begun.after(Step::Switch, "ca", now).unwrap();
        let fate = |state: &CaState, trusted, days: u32| {
            fate(
                &pair.certificate,
                &names(),
                state,
                trusted,
                now + days * DAY,
            )
        };
        assert_eq!(fate(&begun, true, 0), Fate::Right);
        assert_eq!(fate(&switched, false, 0), Fate::Waiting);
        assert_eq!(fate(&switched, true, 0), Fate::Replaced);
        assert_eq!(fate(&switched, false, 61), Fate::Waiting);
        assert_eq!(fate(&switched, false, 88), Fate::Replaced);
    }

    #[test]
    fn what_was_trusted_stays_trusted_until_it_is_shown_no_more() {
        let now = SystemTime::now();
        let (a, b) = (
            CaState::first("a", now).unwrap().bundle(),
            CaState::first("b", now).unwrap().bundle(),
        );
        assert_eq!(joined(&a, &a), a);
        assert_eq!(joined(&a, &format!("{b}{a}")), format!("{a}{b}"));
        assert_eq!(joined(&a, ""), a);
    }

    #[test]
    fn every_instance_of_a_shard_and_every_form_of_the_gateways_name_is_in_it() {
        let now = SystemTime::now();
        let state = CaState::first("ca", now).unwrap();
        let longest = Names::new(&"n".repeat(63), &"a".repeat(remora_crds::MAX_CLUSTER_NAME));
        for (holder, hosts) in [
            (
                Holder::Shard(255),
                [0, 8].map(|ordinal| {
                    let (pod, set) = (longest.shard(255), longest.shard(255));
                    format!(
                        "{pod}-{ordinal}.{set}.{}.svc.cluster.local",
                        longest.namespace
                    )
                }),
            ),
            (
                Holder::Gateways,
                [
                    longest.gateway(),
                    format!(
                        "{}.{}.svc.cluster.local",
                        longest.gateway(),
                        longest.namespace
                    ),
                ],
            ),
        ] {
            let bears = holder.names(&longest, "cluster.local");
            let pair = issue(&state, &bears, now).unwrap();
            let authority = state.issuer.certificate_pem();
            for host in hosts {
                assert!(verifies(authority, &pair.certificate, &host, now), "{host}");
            }
        }
    }
}
