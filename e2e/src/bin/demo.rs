//! `make demo`: from nothing to an application on a sharded MySQL, on a Kubernetes of its own.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use remora_e2e::kubernetes::{Images, Kubernetes, example, load_job};

/// Where the demo's cluster and applications live.
const NAMESPACE: &str = "default";

/// How long MySQL may take from the manifest to the first row, on a busy machine.
const AVAILABLE: Duration = Duration::from_secs(240);

/// Preparing the tables, and 20 seconds of load.
const LOAD: &str = "--timeout=240s";

fn main() -> Result<()> {
    let start = Instant::now();
    let say = |what: &str| eprintln!("[{:>4} s] {what}", start.elapsed().as_secs());
    say("Building images");
    let images = Images::build()?;
    let cluster = match Kubernetes::running()? {
        Some(cluster) => {
            say("Kubernetes runs already");
            cluster
        }
        None => {
            say("Starting Kubernetes 1.34");
            Kubernetes::start_to_stay(|step| say(&format!("  {step}")))?
        }
    };
    say("Giving it the images");
    cluster.import(&images)?;
    say("helm upgrade --install remora charts/remora");
    cluster.install_chart("helm", &images, &[])?;
    cluster.restricted_namespace(NAMESPACE)?;
    say("kubectl apply -f examples/shop.yaml -f examples/app.yaml");
    cluster.apply(&example("shop.yaml")?)?;
    cluster.apply(&example("app.yaml")?)?;
    cluster.wait_available(NAMESPACE, "shop", AVAILABLE)?;
    say("Two shards look like one MySQL; an injected application works on them for 20 s");
    cluster.kubectl(&["delete", "job", "load", "--ignore-not-found", "--wait=true"])?;
    cluster.apply(&load_job(&images)?)?;
    let ended = cluster
        .kubectl(&["wait", "job/load", "--for=condition=Complete", LOAD])
        .with_context(|| {
            cluster
                .kubectl(&["describe", "job/load", "pods"])
                .unwrap_or_default()
        });
    let log = cluster
        .kubectl(&["logs", "job/load", "-c", "load"])
        .unwrap_or_default();
    eprintln!("\n{log}");
    ended?;
    cluster.kubectl(&["rollout", "status", "deployment/app", "--timeout=120s"])?;
    eprintln!("{}", cluster.kubectl(&["get", "shardingclusters,pods"])?);
    say("Ready");
    eprint!(
        "{}",
        NEXT.replace(
            "KUBECONFIG_PATH",
            &cluster.kubeconfig().display().to_string()
        )
    );
    Ok(())
}

const NEXT: &str = r"
Try next:

  e2e/kubectl get shardingcluster shop
  e2e/kubectl describe shardingcluster shop
  e2e/kubectl exec -it deploy/app -c app -- sh -c \
    'MYSQL_PWD=$MYSQL_PASSWORD mysql --get-server-public-key -u$MYSQL_USER $MYSQL_DATABASE'

    mysql> SELECT COUNT(*), MAX(amount) FROM pressure_test;
    mysql> EXPLAIN REMORA SELECT * FROM pressure_test WHERE id = 42;
    mysql> SHOW REMORA SHARDS;

  export KUBECONFIG=KUBECONFIG_PATH
  make clean-up                      ends all of it

";
