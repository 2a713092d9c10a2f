//! Where copies are: a ConfigMap beside each cluster, without an owner, so that it outlives it.
//! The operator has no right to list Secrets, and would not find the copies of a cluster that
//! was deleted, or whose grants went, while nobody led.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt};

use super::Copy;
use crate::act::{Actor, is};
use crate::build::Object;
use crate::names::{CLUSTER, COPIES, Names};
use crate::secrets::SecretError;
use crate::watched::Scope;

/// The key of the list, one copy a line, as `namespace/user`.
const LIST: &str = "copies";

/// The copies of each cluster, as they were noted last. A new leader reads what was noted.
#[derive(Debug, Default)]
pub struct Copies(Mutex<HashMap<Names, BTreeSet<Copy>>>);

impl Copies {
    /// The copies that may be there.
    pub(super) async fn of(
        &self,
        client: &Client,
        names: &Names,
    ) -> Result<BTreeSet<Copy>, SecretError> {
        if let Some(known) = self.known(names) {
            return Ok(known);
        }
        let found = api(client, names)
            .get_opt(&names.copies())
            .await
            .map_err(failed)?;
        let noted = found.as_ref().map(copies).unwrap_or_default();
        self.learn(names, Some(noted.clone()));
        Ok(noted)
    }

    /// Notes which copies may be there.
    pub(super) async fn note(
        &self,
        client: &Client,
        names: &Names,
        noted: BTreeSet<Copy>,
    ) -> Result<(), SecretError> {
        if self.known(names).as_ref() == Some(&noted) {
            return Ok(());
        }
        if noted.is_empty() {
            return self.forget(client, names).await;
        }
        let map = Object::from(record(names, &noted)).stamped();
        Actor::new(client.clone(), names).apply(&map).await?;
        self.learn(names, Some(noted));
        Ok(())
    }

    /// There are no copies any more.
    pub(super) async fn forget(&self, client: &Client, names: &Names) -> Result<(), SecretError> {
        self.learn(names, None);
        let parameters = DeleteParams::default();
        match api(client, names)
            .delete(&names.copies(), &parameters)
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if is(&error, 404) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    fn known(&self, names: &Names) -> Option<BTreeSet<Copy>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(names).cloned()
    }

    fn learn(&self, names: &Names, copies: Option<BTreeSet<Copy>>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match copies {
            Some(copies) => known.insert(names.clone(), copies),
            None => known.remove(names),
        };
    }
}

/// All that was noted, of whatever cluster, as far as it can be read.
pub(super) async fn all(client: &Client, scope: &Scope) -> Vec<(Names, BTreeSet<Copy>)> {
    let mut noted = Vec::new();
    let parameters = ListParams::default().labels(COPIES);
    for api in scope.apis::<ConfigMap>(client) {
        let found = match api.list(&parameters).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "cannot list where copies of Secrets are");
                continue;
            }
        };
        noted.extend(found.iter().filter_map(|map| {
            let names = Names::new(
                map.metadata.namespace.as_deref()?,
                map.labels().get(CLUSTER)?,
            );
            Some((names, copies(map)))
        }));
    }
    noted
}

fn copies(map: &ConfigMap) -> BTreeSet<Copy> {
    let text = map.data.as_ref().and_then(|data| data.get(LIST));
    let lines = text.into_iter().flat_map(|text| text.lines());
    lines
        .filter_map(|line| line.split_once('/'))
        .map(|(namespace, user)| (namespace.to_owned(), user.to_owned()))
        .collect()
}

fn record(names: &Names, copies: &BTreeSet<Copy>) -> ConfigMap {
    let mut labels = names.labels();
    labels.insert(COPIES.to_owned(), "true".to_owned());
    let lines: Vec<_> = copies
        .iter()
        .map(|(namespace, user)| format!("{namespace}/{user}\n"))
        .collect();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(names.copies()),
            namespace: Some(names.namespace.clone()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(LIST.to_owned(), lines.concat())])),
        ..ConfigMap::default()
    }
}

fn api(client: &Client, names: &Names) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &names.namespace)
}

fn failed(source: kube::Error) -> SecretError {
    SecretError::Copies {
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again() {
        let names = Names::new("data", "shop");
        let noted = [("web", "app"), ("web", "report")]
            .map(|(namespace, user)| (namespace.to_owned(), user.to_owned()))
            .into();
        assert_eq!(copies(&record(&names, &noted)), noted);
    }
}
