//! Query attributes, as `component_query_attributes` shows them.

use bytes::BytesMut;
use remora_protocol::{Attribute, Param, encode_execute, put_attributes};

use super::*;

const WITH: CapabilityFlags = CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;

fn with_attributes(attributes: &[Attribute<'_>], sql: &str) -> Vec<u8> {
    let mut out = BytesMut::from(&b"\x03"[..]);
    put_attributes(attributes, WITH, &mut out);
    out.extend_from_slice(sql.as_bytes());
    out.to_vec()
}

#[tokio::test]
async fn attributes_reach_the_servers_that_run_the_statement() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    for server in std::iter::once(&sides.plain).chain(&sides.shards.servers) {
        Raw::connect(server.port(), modern() - WITH)?
            .run("INSTALL COMPONENT 'file://component_query_attributes'")?;
    }
    let attributes = [
        Attribute {
            name: b"trace",
            param: Param::bytes(b"00-4bf9-01"),
        },
        Attribute {
            name: b"number",
            param: Param::int(-7),
        },
        Attribute {
            name: b"nothing",
            param: Param::null(),
        },
    ];
    let of = |name: &str| format!("mysql_query_attribute_string('{name}')");
    let three = format!(
        "SELECT {}, {}, {}",
        of("trace"),
        of("number"),
        of("nothing")
    );
    let one = format!("SELECT id, {} FROM ticket WHERE id = 2", of("trace"));
    let all = format!("SELECT id, {} FROM whole ORDER BY id", of("trace"));
    let set = format!("SET @trace = {}", of("trace"));
    let write = format!("UPDATE ticket SET t = {} WHERE v > 0", of("trace"));
    let several = format!("{three}; {one}; {all}");
    let texts = [&three, &one, &all, &set, &write, &several];
    let mut commands: Vec<(Vec<u8>, Reply)> = texts
        .iter()
        .map(|sql| (with_attributes(&attributes, sql), Reply::Command))
        .collect();
    // The next statement has none.
    commands.push((with_attributes(&[], &three), Reply::Command));
    commands.push((with_attributes(&[], "SELECT @trace"), Reply::Command));
    let commands: Vec<(&[u8], Reply)> = commands.iter().map(|(c, r)| (&c[..], *r)).collect();
    sides.same(modern() | WITH, &commands)?;
    let by_key = format!("SELECT {}, v FROM ticket WHERE id = ?", of("trace"));
    let merged = format!(
        "SELECT id, {} FROM whole WHERE v > ? ORDER BY id",
        of("trace")
    );
    // MySQL counts an EXECUTE with other attributes among its statements: each has a connection.
    for (sql, params) in [
        (&three, &[][..]),
        (&by_key, &[Param::int(3)]),
        (&merged, &[Param::int(0)]),
    ] {
        for attributes in [&attributes[..], &[]] {
            let mut packet = BytesMut::new();
            encode_execute(1, 0, params, attributes, WITH, &mut packet);
            sides.same(
                modern() | WITH,
                &[(&prepare(sql), Reply::Prepare), (&packet, Reply::Command)],
            )?;
        }
    }
    Ok(())
}
