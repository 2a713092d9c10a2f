//! Certificates that change, and replicas of the operator that die, under load.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes, SYSTEM};

use crate::journey::{Journey, READY};
use crate::shop::{AVAILABLE, NAMESPACE, app_is_ready, application, apply, kubectl, shard_pod};
use crate::visitors::{By, Visitors};

/// How long a rotation may take: each phase waits for the kubelet to bring files into pods.
const ROTATION: Duration = Duration::from_secs(240);

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("the_ca_is_replaced_under_load_without_an_error", ca_rotates);
    journey.step("a_killed_leader_is_followed_without_an_error", leader_dies);
    journey.step(
        "no_row_is_readable_on_its_way_between_pods",
        wire_is_private,
    );
}

fn system(cluster: &Kubernetes, arguments: &[&str]) -> Result<String> {
    cluster.kubectl(&[&["-n", SYSTEM], arguments].concat())
}

/// The certificate of the CA that issues.
fn issuer(cluster: &Kubernetes) -> Result<String> {
    let path = "go-template={{index .data \"ca.crt\" | base64decode}}";
    system(cluster, &["get", "secret", "remora-ca", "-o", path])
}

fn ca_rotates(cluster: &Kubernetes, images: &Images) -> Result<()> {
    let visitors = [By::Sidecar, By::Gateway].map(|by| Visitors::come(cluster, images, by));
    let [injected, outside] = visitors;
    let (injected, outside) = (injected?, outside?);
    let before = [injected.seen()?.0, outside.seen()?.0];
    let old = issuer(cluster)?;
    ensure!(
        everything(cluster)?.contains(&old),
        "what is read holds no CA"
    );

    let ask = "remora.dev/rotate-ca=of-the-test";
    system(cluster, &["annotate", "secret", "remora-ca", ask])?;
    let path = "{.metadata.annotations.remora\\.dev/rotated-ca} {.metadata.annotations.remora\\.dev/ca-status}";
    let get = ["-n", SYSTEM, "secret", "remora-ca"];
    cluster.wait_until(ROTATION, &get, path, |text| text == "of-the-test Settled")?;

    let new = issuer(cluster)?;
    ensure!(new != old, "the CA is the same");
    everyone_shows(cluster, &new, true)?;
    everyone_shows(cluster, &old, false)?;
    // Nobody is told to trust the old one any more.
    let deadline = Instant::now() + READY;
    while everything(cluster)?.contains(old.trim()) {
        ensure!(
            Instant::now() < deadline,
            "the old CA is still trusted somewhere"
        );
        std::thread::sleep(Duration::from_secs(1));
    }
    ensure!(everything(cluster)?.contains(new.trim()));
    injected.were_not_disturbed(before[0])?;
    outside.were_not_disturbed(before[1])?;
    // The apiserver takes the webhook's new certificate.
    kubectl(
        cluster,
        &["delete", "deployment", "app", "--cascade=foreground"],
    )?;
    apply(cluster, "app.yaml")?;
    app_is_ready(cluster)
}

/// All places where a CA is handed out, as text.
fn everything(cluster: &Kubernetes) -> Result<String> {
    let secrets = "go-template={{range .items}}{{with index .data \"ca.crt\"}}{{. | base64decode}}{{end}}{{end}}";
    let maps = "go-template={{range .items}}{{with .data}}{{with index . \"ca.crt\"}}{{.}}{{end}}{{end}}{{end}}";
    let pods = "go-template={{range .items}}{{with index .metadata.annotations \"remora.dev/ca-bundle\"}}{{.}}{{end}}{{end}}";
    let webhooks =
        "go-template={{range .webhooks}}{{.clientConfig.caBundle | base64decode}}{{end}}";
    let labelled = ["-l", "remora.dev/cluster=shop"];
    Ok([
        kubectl(
            cluster,
            &[&["get", "secrets", "-o", secrets], &labelled[..]].concat(),
        )?,
        kubectl(
            cluster,
            &[&["get", "configmaps", "-o", maps], &labelled[..]].concat(),
        )?,
        kubectl(
            cluster,
            &["get", "pods", "-l", "remora.dev/inject=true", "-o", pods],
        )?,
        cluster.kubectl(&[
            "get",
            "mutatingwebhookconfiguration",
            "remora-injector",
            "-o",
            webhooks,
        ])?,
    ]
    .concat())
}

/// Whether servers, gateways and the operator's replicas show certificates of this CA.
fn everyone_shows(cluster: &Kubernetes, ca: &str, wanted: bool) -> Result<()> {
    let file = cluster.run().path().join("ca-of-the-test.crt");
    fs::write(&file, ca)?;
    let ip = "jsonpath={.status.podIP}";
    let mut doors = Vec::new();
    for shard in 0..2 {
        let pod = shard_pod(shard);
        let address = kubectl(cluster, &["get", "pod", &pod, "-o", ip])?;
        let server = format!("{pod}.shop-{shard}.{NAMESPACE}.svc.cluster.local");
        doors.push((format!("{address}:3307"), server, true));
        doors.push((
            format!("{address}:3306"),
            format!("shop.{NAMESPACE}.svc"),
            true,
        ));
    }
    let replicas = "jsonpath={.items[*].status.podIP}";
    let label = "app.kubernetes.io/component=operator";
    for address in
        system(cluster, &["get", "pods", "-l", label, "-o", replicas])?.split_whitespace()
    {
        for (port, service) in [(8443, "discovery"), (9443, "webhook")] {
            let name = format!("remora-{service}.{SYSTEM}.svc");
            doors.push((format!("{address}:{port}"), name, false));
        }
    }
    ensure!(doors.len() >= 8, "{doors:?}");
    for (address, name, mysql) in doors {
        let mut openssl = cluster.inside("openssl")?;
        openssl.args([
            "s_client",
            "-connect",
            &address,
            "-verify_return_error",
            "-brief",
        ]);
        openssl.args([
            "-CAfile",
            "/node/ca-of-the-test.crt",
            "-verify_hostname",
            &name,
        ]);
        if mysql {
            openssl.args(["-starttls", "mysql"]);
        }
        let output = openssl.output()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            output.status.success() == wanted,
            "{name} at {address}, wanted {wanted}: {text}"
        );
    }
    Ok(())
}

fn leader_dies(cluster: &Kubernetes, images: &Images) -> Result<()> {
    let visitors = Visitors::come(cluster, images, By::Sidecar)?;
    let (before, _) = visitors.seen()?;
    let get = ["-n", SYSTEM, "lease", "remora-leader"];
    let holder = "{.spec.holderIdentity}";
    let dead = cluster.wait_until(READY, &get, holder, |name| !name.is_empty())?;
    system(
        cluster,
        &["delete", "pod", &dead, "--grace-period=0", "--force"],
    )?;
    let killed = Instant::now();
    cluster.wait_until(READY, &get, holder, |name| !name.is_empty() && name != dead)?;
    ensure!(
        killed.elapsed() < Duration::from_secs(40),
        "nobody led for {:?}",
        killed.elapsed()
    );
    // The next one does what leaders do.
    kubectl(cluster, &["delete", "configmap", "shop-remora-ca"])?;
    let map = ["-n", NAMESPACE, "configmap", "shop-remora-ca"];
    cluster.wait_until(AVAILABLE, &map, "{.metadata.name}", |name| !name.is_empty())?;
    // One replica is enough for the injector.
    kubectl(
        cluster,
        &["delete", "deployment", "app", "--cascade=foreground"],
    )?;
    apply(cluster, "app.yaml")?;
    app_is_ready(cluster)?;
    visitors.were_not_disturbed(before)?;
    let status = [
        "rollout",
        "status",
        "deployment/remora-operator",
        "--timeout=90s",
    ];
    system(cluster, &status).map(drop)
}

/// The rows that are written while the wire is watched. They bear a mark that nothing else bears.
const ROWS: usize = 20;

/// Not the node's own loopback, on which containerd passes on what `kubectl port-forward` brings.
const BETWEEN_PODS: &str = "tcp and src net 198.18.0.0/16 and dst net 198.18.0.0/16";

/// How many packets with content the capture has of what a primary sends to its replica; an error
/// if none, since the rows cannot have come there then.
fn replication_packets(cluster: &Kubernetes, shard: usize) -> Result<usize> {
    let address = |instance: usize| {
        let pod = format!("shop-{shard}-{instance}");
        kubectl(
            cluster,
            &["get", "pod", &pod, "-o", "jsonpath={.status.podIP}"],
        )
    };
    let (primary, replica) = (address(0)?, address(1)?);
    let of = format!("src host {primary} and src port 3307 and dst host {replica} and greater 200");
    let read = ["-r", "/node/capture", "-nn", &of];
    let output = cluster.inside("tcpdump")?.args(read).output()?;
    let packets = String::from_utf8_lossy(&output.stdout).lines().count();
    ensure!(
        packets >= ROWS,
        "{packets} packets from {primary} to {replica}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(packets)
}

fn wire_is_private(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mark = format!("private-{:x}", std::process::id());
    let control = format!("control-{:x}", std::process::id());
    let mut app = application(cluster)?;
    let capture = cluster.run().path().join("capture");
    let mut tcpdump = cluster
        .inside("tcpdump")?
        .args([
            "-i",
            "any",
            "-s",
            "0",
            "-U",
            "-w",
            "/node/capture",
            BETWEEN_PODS,
        ])
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let watched = (|| {
        let deadline = Instant::now() + READY;
        while fs::metadata(&capture).map_or(0, |file| file.len()) == 0 {
            ensure!(Instant::now() < deadline, "tcpdump writes nothing");
            std::thread::sleep(Duration::from_millis(100));
        }
        // A broadcast table: every shard gets each row.
        app.run("CREATE TABLE country (id INT NOT NULL PRIMARY KEY, name VARCHAR(100))")?;
        for row in 0..ROWS {
            app.run(&format!("INSERT INTO country VALUES ({row}, '{mark}')"))?;
        }
        let read = app.words("SELECT name FROM country ORDER BY id")?;
        ensure!(read.matches(&mark).count() == ROWS, "{read}");
        // The same text, from a client that asks for no TLS: the capture would show it.
        let host = "db-0.db.bare.svc.cluster.local";
        let say = format!("SELECT '{control}'");
        kubectl(
            cluster,
            &[
                "exec",
                "deploy/app",
                "-c",
                "app",
                "--",
                "mysql",
                "--no-defaults",
                "-h",
                host,
                "-uapp",
                "-papp",
                "--ssl-mode=DISABLED",
                "--get-server-public-key",
                "-e",
                &say,
            ],
        )?;
        std::thread::sleep(Duration::from_secs(1));
        Ok(())
    })();
    tcpdump.kill()?;
    tcpdump.wait()?;
    watched?;
    let replicated: usize = (0..2)
        .map(|shard| replication_packets(cluster, shard))
        .sum::<Result<usize>>()?;
    println!("          {replicated} packets of replication");
    let seen = fs::read(&capture).context("the capture")?;
    fs::remove_file(&capture)?;
    let holds = |text: &str| {
        seen.windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    ensure!(
        holds(&control),
        "the capture does not even see what is in cleartext"
    );
    ensure!(!holds(&mark), "a row went over the wire in cleartext");
    app.run("DROP TABLE country")?;
    Ok(())
}
