//! Showing clients the certificate that the operator issued for the gateway.

use std::sync::Arc;

use remora_discovery::{Fingerprint, Snapshot as Told, fingerprints};
use tokio::sync::watch;

use crate::net::ShownCertificate;

/// Shows each certificate of `told` from then on, and notes in `shown` which one it is. Clients
/// that are connected go on.
pub async fn show(
    mut told: watch::Receiver<Option<Arc<Told>>>,
    certificate: Arc<ShownCertificate>,
    shown: watch::Sender<Option<Fingerprint>>,
) {
    let mut last = None;
    loop {
        let orders = told.borrow_and_update().clone();
        let orders = orders.and_then(|told| told.agent.clone());
        if let Some(gateway) = orders.and_then(|orders| orders.gateway)
            && last.as_ref() != Some(&gateway)
        {
            match certificate.show(&gateway.certificate, &gateway.key) {
                Ok(()) => {
                    tracing::info!("The gateway shows the operator's certificate");
                    let pem = gateway.certificate.as_bytes();
                    shown.send_replace(fingerprints(pem).into_iter().next());
                    last = Some(gateway);
                }
                Err(error) => {
                    tracing::error!(%error, "The gateway's certificate is refused; the one before stays");
                }
            }
        }
        if told.changed().await.is_err() {
            return;
        }
    }
}
