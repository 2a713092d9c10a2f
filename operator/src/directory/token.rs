//! Who presents a token: asked of the apiserver, which knows whether its pod still exists.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use remora_discovery::{AUDIENCE, Refusal};
use sha2::{Digest, Sha256};

/// Sidecars report every ten seconds; not each time is the apiserver asked.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Whom a token belongs to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Bearer {
    pub(super) namespace: String,
    pub(super) service_account: String,
    pub(super) pod: String,
    pub(super) pod_uid: String,
}

/// Asks the apiserver, and remembers for a minute.
pub(super) struct Tokens {
    client: Client,
    known: Mutex<HashMap<[u8; 32], (Instant, Bearer)>>,
}

impl Tokens {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
        }
    }

    pub(super) async fn bearer(&self, token: &str) -> Result<Bearer, Refusal> {
        let digest = Sha256::digest(token).into();
        if let Some(bearer) = self.remembered(&digest) {
            return Ok(bearer);
        }
        let review = TokenReview {
            metadata: ObjectMeta::default(),
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: Some(vec![AUDIENCE.to_owned()]),
            },
            status: None,
        };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let review = api
            .create(&PostParams::default(), &review)
            .await
            .map_err(|error| {
                Refusal::Unavailable(format!("the apiserver does not review the token: {error}"))
            })?;
        let bearer = bearer(review.status.unwrap_or_default())?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(digest, (Instant::now(), bearer.clone()));
        Ok(bearer)
    }

    fn remembered(&self, digest: &[u8; 32]) -> Option<Bearer> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        known.get(digest).map(|(_, bearer)| bearer.clone())
    }
}

/// The pod in the apiserver's answer. A token that is bound to no pod is refused: anybody who
/// may make tokens for a service account could pretend to be its pods.
fn bearer(status: TokenReviewStatus) -> Result<Bearer, Refusal> {
    let refuse = |text: &str| Refusal::Unauthenticated(text.to_owned());
    let audiences = status.audiences.unwrap_or_default();
    if status.authenticated != Some(true) || !audiences.iter().any(|name| name == AUDIENCE) {
        return Err(refuse(
            "the token is not valid for the audience remora.dev/discovery",
        ));
    }
    let user = status.user.unwrap_or_default();
    let name = user.username.unwrap_or_default();
    let Some((namespace, service_account)) = name
        .strip_prefix("system:serviceaccount:")
        .and_then(|rest| rest.split_once(':'))
    else {
        return Err(refuse("the token is not a service account's"));
    };
    let extra = user.extra.unwrap_or_default();
    let field = |name: &str| {
        let values = extra.get(&format!("authentication.kubernetes.io/{name}"))?;
        values.first().cloned()
    };
    match (field("pod-name"), field("pod-uid")) {
        (Some(pod), Some(pod_uid)) => Ok(Bearer {
            namespace: namespace.to_owned(),
            service_account: service_account.to_owned(),
            pod,
            pod_uid,
        }),
        _ => Err(refuse(
            "the token is bound to no pod; use a projected volume",
        )),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authentication::v1::UserInfo;

    use super::*;

    fn status() -> TokenReviewStatus {
        let extra = [("pod-name", "web-1"), ("pod-uid", "u1")].map(|(name, value)| {
            (
                format!("authentication.kubernetes.io/{name}"),
                vec![value.to_owned()],
            )
        });
        TokenReviewStatus {
            authenticated: Some(true),
            audiences: Some(vec![AUDIENCE.to_owned()]),
            error: None,
            user: Some(UserInfo {
                username: Some("system:serviceaccount:shop:web".to_owned()),
                extra: Some(extra.into()),
                ..UserInfo::default()
            }),
        }
    }

    #[test]
    fn a_pods_token_tells_the_pod() {
        let bearer = bearer(status()).unwrap();
        assert_eq!(
            (bearer.namespace.as_str(), bearer.service_account.as_str()),
            ("shop", "web")
        );
        assert_eq!(
            (bearer.pod.as_str(), bearer.pod_uid.as_str()),
            ("web-1", "u1")
        );
    }

    #[test]
    fn anything_less_is_refused() {
        let mut rejected = status();
        rejected.authenticated = Some(false);
        let mut another_audience = status();
        another_audience.audiences = Some(vec!["https://kubernetes.default.svc".to_owned()]);
        let mut unbound = status();
        unbound.user.as_mut().unwrap().extra = None;
        let mut human = status();
        human.user.as_mut().unwrap().username = Some("alice".to_owned());
        for status in [rejected, another_audience, unbound, human] {
            assert!(matches!(bearer(status), Err(Refusal::Unauthenticated(_))));
        }
    }
}
