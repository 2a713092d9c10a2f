//! The operator's own probes and metrics, over plain HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// OpenMetrics, as `prometheus_client` writes it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `/startup`, `/live`, `/ready` and `/metrics`. Ready means that clusters were listed once
/// and the other listeners accept; never that the apiserver answers now.
pub fn router(registry: Registry, ready: Arc<AtomicBool>) -> Router {
    let registry = Arc::new(registry);
    let state = move || {
        let ready = ready.load(Ordering::Relaxed);
        async move {
            if ready {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    };
    let metrics = move || {
        let registry = registry.clone();
        async move {
            let mut text = String::new();
            match encode(&mut text, &registry) {
                Ok(()) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
    };
    Router::new()
        .route("/startup", get(state.clone()))
        .route("/ready", get(state))
        .route("/live", get(|| async { StatusCode::OK }))
        .route("/metrics", get(metrics))
}
