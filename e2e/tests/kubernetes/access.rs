//! Who may, and what may change.

use anyhow::{Result, bail, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes, example};

use crate::journey::{Journey, READY};
use crate::shop::{NAMESPACE, application, apply, kubectl, manifest};

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("growing_the_shards_is_refused", growing);
    journey.step(
        "a_table_with_rows_is_not_made_sharded_and_may_be_taken_out_again",
        rows_in_the_way,
    );
    journey.step(
        "a_namespace_that_was_not_granted_is_denied_with_the_reason",
        ungranted,
    );
}

fn growing(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let patch = [
        "patch",
        "shardingcluster",
        "shop",
        "--type=merge",
        "-p",
        r#"{"spec":{"shards":4}}"#,
    ];
    let Err(error) = kubectl(cluster, &patch) else {
        bail!("four shards were accepted")
    };
    ensure!(format!("{error}").contains("spec.shards"), "{error}");
    Ok(())
}

fn rows_in_the_way(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut app = application(cluster)?;
    app.run("CREATE TABLE note (id BIGINT NOT NULL PRIMARY KEY, v INT)")?;
    app.run("INSERT INTO note VALUES (1, 1), (2, 2), (3, 3)")?;
    let with_note = manifest()?.replace(
        "  - name: country\n",
        "  - {name: note, broadcast: true}\n  - name: country\n",
    );
    cluster.kubectl_with(&["-n", NAMESPACE, "apply", "-f", "-"], &with_note)?;
    let accepted = |wanted: &str| {
        let get = ["-n", NAMESPACE, "shardingcluster", "shop"];
        let path = "{.status.conditions[?(@.type=='Accepted')].status} \
             {.status.conditions[?(@.type=='Accepted')].reason}";
        cluster.wait_until(READY, &get, path, |answer| answer == wanted)
    };
    accepted("False RowsInTheWay")?;
    // The remedy that the condition names.
    apply(cluster, "shop.yaml")?;
    accepted("True Valid")?;
    let rows = app.value("SELECT COUNT(*) FROM note")?;
    ensure!(rows == "3", "{rows} rows of 3");
    app.run("DROP TABLE note")?;
    Ok(())
}

fn ungranted(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let stranger = "stranger";
    cluster.restricted_namespace(stranger)?;
    let wanted = format!("remora.dev/cluster: {NAMESPACE}/shop");
    let app = example("app.yaml")?.replace("remora.dev/cluster: shop", &wanted);
    cluster.kubectl_with(&["-n", stranger, "apply", "-f", "-"], &app)?;
    let events = [
        "-n",
        stranger,
        "events",
        "--field-selector=reason=FailedCreate",
    ];
    let text = cluster.wait_until(READY, &events, "{.items[*].message}", |text| {
        !text.is_empty()
    })?;
    ensure!(text.contains(stranger) && text.contains("access"), "{text}");
    cluster.kubectl(&["delete", "namespace", stranger, "--wait=false"])?;
    Ok(())
}
