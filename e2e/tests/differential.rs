//! The sidecar beside one plain MySQL: the same statements, and no difference that a client
//! could see.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use remora_e2e::differential::{
    Mode, Report, Script, Sides, VitessCorpus, generated_manifest, generated_script, run,
};
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions, login};
use remora_e2e::shards::{LocalShards, with_layout};
use serde_json::Value;

/// Statements that may be refused, in percent.
const REFUSED_PERCENT: usize = 15;
/// How many statements are drawn from Vitess' tests, unless `REMORA_DRAW` says more.
const FROM_VITESS: usize = 100;
/// How many statements the generator makes of each seed.
const FROM_GENERATOR: usize = 60;
/// The least number of statements for each clause.
const FOR_EACH_CLAUSE: usize = 6;

fn statements() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/statements"))
}

/// The seed of what is drawn: `REMORA_SEED`, or the same one for everybody.
fn seed() -> Result<u64> {
    match std::env::var("REMORA_SEED") {
        Ok(seed) => seed.parse().context("REMORA_SEED is not a number"),
        Err(_) => Ok(20_261_130),
    }
}

/// How many statements are drawn from Vitess' tests: more, for whoever hunts.
fn draw() -> Result<usize> {
    match std::env::var("REMORA_DRAW") {
        Ok(count) => count.parse().context("REMORA_DRAW is not a number"),
        Err(_) => Ok(FROM_VITESS),
    }
}

/// One plain MySQL with an empty `database`.
async fn plain(root: &MysqlRoot, database: &str) -> Result<MysqlServer> {
    let server = MysqlServer::start(root, &ServerOptions::named("plain")).await?;
    let mut connection = Conn::new(server.login(&MysqlServer::APPLICATION)).await?;
    connection
        .query_drop(format!("CREATE DATABASE `{database}`"))
        .await?;
    connection.disconnect().await?;
    Ok(server)
}

fn sides(subject: u16, reference: u16, database: &str) -> Sides {
    let login = |port| {
        // Statements are kept by the test, not by the driver.
        let options = login(port, &MysqlServer::APPLICATION).stmt_cache_size(0);
        options.db_name(Some(database)).into()
    };
    Sides {
        subject: login(subject),
        reference: login(reference),
    }
}

async fn compare(scripts: &[Script], sides: &Sides, report: &mut Report) -> Result<()> {
    for script in scripts {
        for mode in [Mode::Text, Mode::Prepared] {
            let part = run(script, mode, sides).await?;
            report.add(part);
        }
    }
    Ok(())
}

/// One shard, and tables under their own names: what administers a server is served too.
#[tokio::test]
async fn one_server_is_administered_as_mysql() -> Result<()> {
    let root = MysqlRoot::get()?;
    let text = std::fs::read_to_string(statements().join("manifest.yaml"))?;
    let manifest: Value = serde_saphyr::from_str(&text)?;
    let servers = LocalShards::start(&root, &with_layout(manifest, 1, 1), &[]).await?;
    let reference = plain(&root, "shop").await?;
    let both = sides(servers.sidecar.port(), reference.port(), "shop");
    let mut report = Report {
        subject: "one server".to_owned(),
        ..Report::default()
    };
    let scripts = Script::read_folder(&statements().join("one_server"))?;
    for script in &scripts {
        report.add(run(script, Mode::Text, &both).await?);
    }
    eprintln!("{report}");
    let whole = report.mistakes.is_empty() && report.differences.is_empty();
    ensure!(whole && report.refused.is_empty(), "see above");
    Ok(())
}

/// Vitess' tables, and statements drawn from its tests.
async fn vitess(
    corpus: &VitessCorpus,
    seed: u64,
    sides: &Sides,
    report: &mut Report,
) -> Result<()> {
    compare(std::slice::from_ref(&corpus.setup), sides, report).await?;
    let mut connection = Conn::new(sides.reference.clone()).await?;
    let drawn = corpus.draw(seed, draw()?, &mut connection).await?;
    connection.disconnect().await?;
    ensure!(
        drawn.statements.len() >= FROM_VITESS,
        "MySQL accepts too few of Vitess' statements"
    );
    compare(&[drawn], sides, report).await
}

/// Everything on one layout.
async fn differential(shards: u16, tables_per_shard: u16) -> Result<()> {
    let root = MysqlRoot::get()?;
    let mut report = Report {
        subject: format!("{shards} shards, {tables_per_shard} tables each"),
        ..Report::default()
    };

    let text = std::fs::read_to_string(statements().join("manifest.yaml"))?;
    let manifest: Value = serde_saphyr::from_str(&text)?;
    let servers =
        LocalShards::start(&root, &with_layout(manifest, shards, tables_per_shard), &[]).await?;
    let reference = plain(&root, "shop").await?;
    let both = sides(servers.sidecar.port(), reference.port(), "shop");
    let only = std::env::var("REMORA_SCRIPTS").ok();
    let mut scripts = Script::read_folder(statements())?;
    scripts.retain(|script| only.as_ref().is_none_or(|only| script.name.contains(only)));
    compare(&scripts, &both, &mut report).await?;
    if only.is_some() {
        eprintln!("{report}");
        let whole = report.mistakes.is_empty() && report.differences.is_empty();
        ensure!(whole, "see above");
        return Ok(());
    }
    drop(servers);

    let servers = LocalShards::start(
        &root,
        &with_layout(generated_manifest(), shards, tables_per_shard),
        &[],
    )
    .await?;
    let both = sides(servers.sidecar.port(), reference.port(), "shop");
    let seed = seed()? + u64::from(shards) * 100 + u64::from(tables_per_shard);
    let generated = [
        generated_script(seed, FROM_GENERATOR),
        generated_script(seed + 1, FROM_GENERATOR),
    ];
    compare(&generated, &both, &mut report).await?;
    drop((servers, reference));

    let corpus = VitessCorpus::read()?;
    let manifest = with_layout(corpus.manifest.clone(), shards, tables_per_shard);
    let servers = LocalShards::start(&root, &manifest, &[]).await?;
    let reference = plain(&root, "user").await?;
    let both = sides(servers.sidecar.port(), reference.port(), "user");
    vitess(&corpus, seed, &both, &mut report).await?;

    eprintln!("{report}");
    ensure!(
        report.mistakes.is_empty(),
        "statements are wrong, see above"
    );
    ensure!(
        report.differences.is_empty(),
        "{} differences",
        report.differences.len()
    );
    ensure!(
        report.refused_percent() <= REFUSED_PERCENT,
        "{} % of the statements are refused",
        report.refused_percent()
    );
    Ok(())
}

/// Tables with encrypted columns beside plain ones.
async fn encrypted(shards: u16, tables_per_shard: u16) -> Result<()> {
    let root = MysqlRoot::get()?;
    let mut report = Report {
        subject: format!("encrypted, {shards} shards, {tables_per_shard} tables each"),
        ..Report::default()
    };
    let folder = statements().join("encrypted");
    let text = std::fs::read_to_string(folder.join("manifest.yaml"))?;
    let manifest = with_layout(serde_saphyr::from_str(&text)?, shards, tables_per_shard);
    let servers = LocalShards::start(&root, &manifest, &[]).await?;
    let reference = plain(&root, "shop").await?;
    let both = sides(servers.sidecar.port(), reference.port(), "shop");
    compare(&Script::read_folder(&folder)?, &both, &mut report).await?;
    eprintln!("{report}");
    ensure!(
        report.mistakes.is_empty() && report.differences.is_empty(),
        "see above"
    );
    ensure!(
        report.refused_percent() <= REFUSED_PERCENT,
        "{} % of the statements are refused",
        report.refused_percent()
    );
    Ok(())
}

#[tokio::test]
async fn encrypted_tables_answer_as_mysql() -> Result<()> {
    encrypted(2, 1).await
}

#[tokio::test]
async fn encrypted_tables_of_several_slots_answer_as_mysql() -> Result<()> {
    encrypted(2, 16).await
}

#[tokio::test]
async fn two_shards_of_one_table_each_answer_as_mysql() -> Result<()> {
    differential(2, 1).await
}

#[tokio::test]
async fn two_shards_of_sixteen_tables_each_answer_as_mysql() -> Result<()> {
    differential(2, 16).await
}

#[tokio::test]
async fn four_shards_of_one_table_each_answer_as_mysql() -> Result<()> {
    differential(4, 1).await
}

#[tokio::test]
async fn four_shards_of_sixteen_tables_each_answer_as_mysql() -> Result<()> {
    differential(4, 16).await
}

/// The test itself is tested: two plain servers are alike, and every statement of the files
/// gives on them what its file says.
#[tokio::test]
async fn two_plain_servers_do_not_differ() -> Result<()> {
    let root = MysqlRoot::get()?;
    let (subject, reference) = (plain(&root, "shop").await?, plain(&root, "shop").await?);
    let both = sides(subject.port(), reference.port(), "shop");
    let mut report = Report {
        subject: "plain MySQL".to_owned(),
        ..Report::default()
    };
    let mut scripts = Script::read_folder(statements())?;
    scripts.push(generated_script(seed()?, FROM_GENERATOR));
    compare(&scripts, &both, &mut report).await?;
    drop((subject, reference));

    let (subject, reference) = (plain(&root, "user").await?, plain(&root, "user").await?);
    let both = sides(subject.port(), reference.port(), "user");
    vitess(&VitessCorpus::read()?, seed()?, &both, &mut report).await?;

    eprintln!("{report}");
    ensure!(
        report.mistakes.is_empty() && report.differences.is_empty(),
        "see above"
    );
    for (section, statements) in &report.sections {
        ensure!(
            statements.len() >= FOR_EACH_CLAUSE,
            "only {} statements for {section}",
            statements.len()
        );
    }
    Ok(())
}
