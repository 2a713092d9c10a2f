use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use tower_test::mock;

use super::*;

type Stored = Arc<Mutex<Option<Lease>>>;

/// An apiserver that knows one Lease, and resourceVersions.
fn apiserver() -> (Client, Stored) {
    let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    let stored: Stored = Arc::default();
    let lease = stored.clone();
    tokio::spawn(async move {
        while let Some((request, answer)) = handle.next_request().await {
            let method = request.method().clone();
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut lease = lease.lock().unwrap();
            let (code, body) = match method {
                Method::GET => match &*lease {
                    Some(lease) => (StatusCode::OK, serde_json::to_vec(lease).unwrap()),
                    None => status(StatusCode::NOT_FOUND),
                },
                _ => {
                    let mut sent: Lease = serde_json::from_slice(&body).unwrap();
                    let version = |lease: &Lease| lease.metadata.resource_version.clone();
                    let expected = lease.as_ref().and_then(version);
                    if version(&sent) == expected {
                        let next = expected.map_or(1, |text| text.parse::<u64>().unwrap() + 1);
                        sent.metadata.resource_version = Some(next.to_string());
                        *lease = Some(sent);
                        (StatusCode::OK, serde_json::to_vec(&*lease).unwrap())
                    } else {
                        status(StatusCode::CONFLICT)
                    }
                }
            };
            answer.send_response(
                Response::builder()
                    .status(code)
                    .body(Body::from(body))
                    .unwrap(),
            );
        }
    });
    (Client::new(service, "remora-system"), stored)
}

fn status(code: StatusCode) -> (StatusCode, Vec<u8>) {
    let reason = if code == StatusCode::NOT_FOUND {
        "NotFound"
    } else {
        "Conflict"
    };
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "reason": reason, "message": "test",
    });
    (code, body.to_string().into_bytes())
}

fn election(client: &Client, identity: &str) -> Election {
    Election::new(
        client.clone(),
        "remora-system",
        "remora-leader".to_owned(),
        identity.to_owned(),
    )
}

fn holder(stored: &Stored) -> Option<String> {
    stored
        .lock()
        .unwrap()
        .as_ref()?
        .spec
        .as_ref()?
        .holder_identity
        .clone()
}

#[tokio::test]
async fn the_first_leads_and_the_second_waits_for_it_to_go() {
    let (client, stored) = apiserver();
    let (mut first, mut second) = (election(&client, "a"), election(&client, "b"));
    assert_eq!(first.attempt().await.unwrap(), Attempt::Held);
    assert_eq!(second.attempt().await.unwrap(), Attempt::HeldByAnother);
    assert_eq!(first.attempt().await.unwrap(), Attempt::Held);
    assert_eq!(second.attempt().await.unwrap(), Attempt::HeldByAnother);
    assert_eq!(holder(&stored).as_deref(), Some("a"));

    first.give_up().await.unwrap();
    assert_eq!(second.attempt().await.unwrap(), Attempt::Held);
    assert_eq!(first.attempt().await.unwrap(), Attempt::HeldByAnother);
    let spec = stored.lock().unwrap().clone().unwrap().spec.unwrap();
    assert_eq!(spec.lease_transitions, Some(2));
}

#[tokio::test]
async fn a_lease_expires_by_our_own_clock() {
    let (client, stored) = apiserver();
    let (mut dead, mut heir) = (election(&client, "a"), election(&client, "b"));
    assert_eq!(dead.attempt().await.unwrap(), Attempt::Held);
    // Its renewTime is long past, but we have seen it only now.
    let spec = |lease: &mut Option<Lease>| {
        let spec = lease.as_mut().unwrap().spec.as_mut().unwrap();
        spec.renew_time = Some(MicroTime(Timestamp::UNIX_EPOCH));
    };
    spec(&mut stored.lock().unwrap());
    assert_eq!(heir.attempt().await.unwrap(), Attempt::HeldByAnother);
    let (_, since) = heir.seen.as_mut().unwrap();
    *since = Instant::now().checked_sub(DURATION).unwrap();
    assert_eq!(heir.attempt().await.unwrap(), Attempt::Held);
}

#[tokio::test]
async fn a_replica_that_stops_gives_the_lease_up() {
    let (client, stored) = apiserver();
    let (leading, mut led) = watch::channel(false);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(election(&client, "a").run(leading, async { drop(stopped.await) }));
    led.wait_for(|leads| *leads).await.unwrap();
    assert_eq!(holder(&stored).as_deref(), Some("a"));
    drop(stop);
    running.await.unwrap();
    assert!(!*led.borrow());
    assert_eq!(holder(&stored), None);
}
