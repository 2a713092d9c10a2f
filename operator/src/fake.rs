//! An apiserver in memory, as far as a round needs one: objects by path, lists by one label,
//! resourceVersions on status, and a request at which it begins to fail.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_test::mock;

/// What the apiserver holds, and what it was asked.
#[derive(Default)]
pub(crate) struct Held {
    /// Objects by path.
    pub(crate) objects: BTreeMap<String, Value>,
    /// Requests that changed something, as `METHOD path`.
    pub(crate) writes: Vec<String>,
    /// How many requests are answered before all fail.
    pub(crate) patience: Option<usize>,
    /// Paths that begin so are answered with 403.
    pub(crate) forbidden: Option<String>,
}

/// A handle to a fake apiserver.
#[derive(Clone, Default)]
pub(crate) struct Fake(pub(crate) Arc<Mutex<Held>>);

impl Fake {
    /// Puts an object under a path.
    pub(crate) fn put(&self, path: &str, object: Value) {
        self.0
            .lock()
            .unwrap()
            .objects
            .insert(path.to_owned(), object);
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let held = self.0.clone();
        tokio::spawn(async move {
            while let Some((request, answer)) = handle.next_request().await {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let path = parts.uri.path().to_owned();
                let query = parts.uri.query().unwrap_or_default().to_owned();
                let (code, body) = held
                    .lock()
                    .unwrap()
                    .answer(&parts.method, &path, &query, body);
                let body = Body::from(serde_json::to_vec(&body).unwrap());
                answer.send_response(Response::builder().status(code).body(body).unwrap());
            }
        });
        Client::new(service, "default")
    }
}

impl Held {
    fn answer(&mut self, method: &Method, path: &str, query: &str, body: Value) -> (u16, Value) {
        if let Some(patience) = &mut self.patience {
            if *patience == 0 {
                return failure(500, "InternalError");
            }
            *patience -= 1;
        }
        let forbidden = self.forbidden.as_deref();
        if forbidden.is_some_and(|begin| path.starts_with(begin)) {
            return failure(403, "Forbidden");
        }
        let writes =
            *method != Method::GET && !path.contains("/events") && !path.contains("/tokenreviews");
        if writes {
            self.writes.push(format!("{method} {path}"));
        }
        match *method {
            Method::GET if query.contains("labelSelector") => (200, self.list(path, query)),
            Method::GET => match self.objects.get(path) {
                Some(object) => (200, object.clone()),
                None => failure(404, "NotFound"),
            },
            // A token's review is what was put under the token.
            Method::POST if path.ends_with("/tokenreviews") => {
                let mut review = body;
                let token = review["spec"]["token"].as_str().unwrap_or_default();
                review["status"] = self.objects.get(token).cloned().unwrap_or(json!({}));
                (201, review)
            }
            Method::POST => {
                let name = body["metadata"]["name"].as_str().unwrap_or("event");
                let path = format!("{path}/{name}");
                if self.objects.contains_key(&path) {
                    return failure(409, "AlreadyExists");
                }
                self.objects.insert(path, body.clone());
                (201, body)
            }
            Method::DELETE => match self.objects.remove(path) {
                Some(object) => (200, object),
                None => failure(404, "NotFound"),
            },
            Method::PUT => self.replace_status(path.trim_end_matches("/status"), &body),
            // An apply names its manager; this one adds to what is there.
            Method::PATCH if path.contains("/secrets/") && !query.contains("fieldManager") => {
                let Some(secret) = self.objects.get_mut(path) else {
                    return failure(404, "NotFound");
                };
                for (key, value) in body["data"].as_object().into_iter().flatten() {
                    secret["data"][key] = value.clone();
                }
                (200, secret.clone())
            }
            _ if path.ends_with("/status") => {
                self.merge_status(path.trim_end_matches("/status"), &body)
            }
            _ => {
                self.objects.insert(path.to_owned(), body.clone());
                (200, body)
            }
        }
    }

    /// The objects of one namespace, or of all, that have a label, or one with a value.
    fn list(&self, path: &str, query: &str) -> Value {
        let selector = query.split("labelSelector=").nth(1).unwrap_or_default();
        let selector = selector.split('&').next().unwrap_or_default();
        let selector = selector.replace("%2F", "/").replace("%3D", "=");
        let (label, value) = match selector.split_once('=') {
            Some((label, value)) => (label, Some(value)),
            None => (selector.as_str(), None),
        };
        let (group, kind) = path.rsplit_once('/').unwrap();
        let (prefix, kind) = (format!("{group}/"), format!("/{kind}/"));
        let items: Vec<_> = self
            .objects
            .iter()
            .filter(|(path, object)| {
                let found = &object["metadata"]["labels"][label];
                path.starts_with(&prefix)
                    && path.contains(&kind)
                    && value.map_or(!found.is_null(), |value| found == value)
            })
            .map(|(_, object)| object.clone())
            .collect();
        json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})
    }

    /// A merge patch of fields of the status.
    fn merge_status(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let Some(object) = self.objects.get(path) else {
            return failure(404, "NotFound");
        };
        let mut merged = object.clone();
        for (field, value) in body["status"].as_object().into_iter().flatten() {
            merged["status"][field] = value.clone();
        }
        merged["metadata"]["resourceVersion"] = body["metadata"]["resourceVersion"].clone();
        self.replace_status(path, &merged)
    }

    fn replace_status(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let Some(object) = self.objects.get_mut(path) else {
            return failure(404, "NotFound");
        };
        let version = object["metadata"]["resourceVersion"].clone();
        if body["metadata"]["resourceVersion"] != version {
            return failure(409, "Conflict");
        }
        let next = version.as_str().unwrap().parse::<u64>().unwrap() + 1;
        object["metadata"]["resourceVersion"] = next.to_string().into();
        object["status"] = body["status"].clone();
        (200, object.clone())
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": reason, "code": code,
    });
    (code, status)
}
