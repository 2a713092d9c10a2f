//! The node itself: it does what a cluster of the cloud does for MySQL.

use anyhow::{Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::{Journey, READY};
use crate::sql::PodMysql;

/// MySQL as an operator would run it: not root, nothing writable but its volumes.
const MYSQL: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: bare, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: bare}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 3306}], publishNotReadyAddresses: true}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: bare}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 5
      securityContext: {runAsNonRoot: true, runAsUser: 999, runAsGroup: 999, fsGroup: 999, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: mysql
        image: mysql:9.7
        imagePullPolicy: IfNotPresent
        command: [bash, -c, "set -e; [ -d /data/db/mysql ] || mysqld --no-defaults --initialize-insecure --datadir=/data/db; exec mysqld --no-defaults --datadir=/data/db --mysqlx=0 --socket=/tmp/mysql.sock --pid-file=/tmp/mysql.pid --secure-file-priv= --performance-schema=OFF"]
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        resources: {limits: {memory: 1Gi}}
        readinessProbe: {exec: {command: [mysqladmin, --no-defaults, -uroot, -S/tmp/mysql.sock, ping]}, periodSeconds: 1}
        volumeMounts: [{name: data, mountPath: /data}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"#;

pub(crate) fn steps(journey: &mut Journey) {
    journey.step(
        "mysql_runs_without_root_under_restricted_pod_security",
        mysql_runs,
    );
    journey.step("a_claim_that_is_kept_gives_a_new_pod_its_rows", rows_stay);
    journey.step(
        "a_pod_finds_services_by_name_and_reaches_the_api",
        names_resolve,
    );
}

fn mysql_runs(cluster: &Kubernetes, _: &Images) -> Result<()> {
    cluster.apply(MYSQL)?;
    pod_is_ready(cluster)?;
    sql(
        cluster,
        "CREATE DATABASE shop; CREATE TABLE shop.t (a INT); INSERT INTO shop.t VALUES (42)",
    )?;
    Ok(())
}

fn rows_stay(cluster: &Kubernetes, _: &Images) -> Result<()> {
    cluster.kubectl(&[
        "-n",
        "bare",
        "delete",
        "statefulset",
        "db",
        "--cascade=foreground",
        "--timeout=60s",
    ])?;
    cluster.apply(MYSQL)?;
    pod_is_ready(cluster)?;
    let rows = sql(cluster, "SELECT a FROM shop.t")?;
    ensure!(rows.trim() == "42", "{rows}");
    Ok(())
}

fn names_resolve(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let exec = ["-n", "bare", "exec", "db-0", "--"];
    let shell = |script: &str| cluster.kubectl(&[&exec[..], &["bash", "-c", script]].concat());
    let own = shell("getent hosts db-0.db.bare.svc.cluster.local")?;
    ensure!(own.starts_with("198.18."), "{own}");
    // Through the service's address, its rules of iptables, and back from the node.
    shell("exec 3<>/dev/tcp/kubernetes.default.svc.cluster.local/443")?;
    Ok(())
}

/// The one plain MySQL that a shop is compared with.
pub(crate) fn plain_mysql(cluster: &Kubernetes) -> Result<PodMysql> {
    sql(
        cluster,
        "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'app'; GRANT ALL ON *.* TO app",
    )?;
    PodMysql::connect(cluster, "bare", "db-0", 3306, ("app", "app"), "shop")
}

fn pod_is_ready(cluster: &Kubernetes) -> Result<()> {
    let get = ["-n", "bare", "statefulset", "db"];
    cluster.wait_until(READY, &get, "{.status.readyReplicas}", |ready| ready == "1")?;
    Ok(())
}

fn sql(cluster: &Kubernetes, statements: &str) -> Result<String> {
    let mysql = [
        "mysql",
        "--no-defaults",
        "-uroot",
        "-S/tmp/mysql.sock",
        "-N",
        "-e",
        statements,
    ];
    cluster.kubectl(&[&["-n", "bare", "exec", "db-0", "--"], &mysql[..]].concat())
}
