//! Whether every replica of the operator shows certificates of a CA: seen, not told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// One handshake.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Labels that replicas of one release share.
const SHARED: [&str; 3] = [
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/component",
];

/// The replicas of this operator.
pub(super) struct Replicas {
    pub(super) client: Client,
    pub(super) namespace: String,
    /// This replica's pod.
    pub(super) own: String,
    /// The port of discovery, which shows the certificate of the webhook too.
    pub(super) port: u16,
    /// The name that it bears.
    pub(super) name: String,
}

impl Replicas {
    /// Those that do not answer with a certificate that `authority` issued. One that is not ready
    /// gets no requests, and will read the Secret first.
    ///
    /// # Errors
    /// Those of the apiserver.
    pub(super) async fn without(&self, authority: &str) -> kube::Result<Vec<String>> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let own = pods.get(&self.own).await?;
        let labels: Vec<_> = SHARED
            .iter()
            .filter_map(|name| Some(format!("{name}={}", own.labels().get(*name)?)))
            .collect();
        let replicas = pods
            .list(&ListParams::default().labels(&labels.join(",")))
            .await?;
        let mut behind = Vec::new();
        for pod in replicas.iter().filter(|pod| is_ready(pod)) {
            let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
            let address = address.and_then(|ip| ip.parse().ok());
            let address = address.map(|ip| SocketAddr::new(ip, self.port));
            let shown = match address {
                Some(address) => self.shows(address, authority).await,
                None => false,
            };
            if !shown {
                behind.push(format!("replica {}", pod.name_any()));
            }
        }
        Ok(behind)
    }

    async fn shows(&self, address: SocketAddr, authority: &str) -> bool {
        let handshake = shake_hands(address, &self.name, authority);
        let shown = tokio::time::timeout(ATTEMPT, handshake).await;
        shown.ok().flatten().is_some()
    }
}

async fn shake_hands(address: SocketAddr, name: &str, authority: &str) -> Option<()> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(authority.as_bytes()).ok()?;
    roots.add(certificate).ok()?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).ok()?;
    let socket = TcpStream::connect(address).await.ok()?;
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, socket).await.ok().map(drop)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let ready = |condition: &k8s_openapi::api::core::v1::PodCondition| {
        condition.type_ == "Ready" && condition.status == "True"
    };
    conditions.into_iter().flatten().any(ready)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::super::{CaState, ServingCertificate};
    use super::*;

    #[tokio::test]
    async fn a_replica_is_believed_by_its_handshake_alone() {
        let now = SystemTime::now();
        let state = CaState::first("ca", now).unwrap();
        let serving = ServingCertificate::new(&state.issuer, vec!["d.svc".into()]).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(serving.server_config().unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                drop(acceptor.accept(socket).await);
            }
        });
        let own = state.issuer.certificate_pem();
        assert!(shake_hands(address, "d.svc", own).await.is_some());
        let other = CaState::first("ca", now).unwrap();
        let other = other.issuer.certificate_pem();
        assert!(shake_hands(address, "d.svc", other).await.is_none());
    }
}
