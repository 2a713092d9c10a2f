//! What MySQL gets to see of statements on protected columns.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use remora_cipher::{KeyMaterial, KeyRing};
use remora_crds::ShardingCluster;
use remora_planner::fingerprint::Normalizer;
use remora_planner::keys::Charset;
use remora_planner::veil::{Fed, Veiled, Veiler};
use remora_planner::{
    BindInput, Catalog, CatalogBuilder, Context, LoadedColumn, Param, Planner, Refusal,
};

const MANIFEST: &str = r"
apiVersion: remora.dev/v1alpha1
kind: ShardingCluster
metadata: {name: shop}
spec:
  shards: 2
  database: shop
  encryption:
    keys: [{name: mobile, secretRef: {name: k}}, {name: other, secretRef: {name: k}}]
  tables:
  - name: person
    sharding: {key: [id], algorithm: {hash: {}}, tablesPerShard: 2}
    encryption:
    - {column: mobile, key: mobile, lookup: Equality}
    - {column: name, key: other, lookup: Equality}
    - {column: note, key: other}
    - {column: card, digest: MD5}
  - name: caller
    sharding: {key: [person_id], algorithm: {hash: {}}, colocatedWith: person}
    encryption: [{column: mobile, key: mobile, lookup: Equality}]
  - {name: plain, sharding: {key: [id], algorithm: {hash: {}}}}
  - name: fresh
    sharding: {key: [id], algorithm: {hash: {}}}
    encryption:
    - {column: mobile, key: mobile, lookup: Equality}
    - {column: note, key: other}
    - {column: card, digest: MD5}
";

const TAG: &str = "binary(16)";
const CI: &str = "remora 1;varchar(20);utf8mb4_0900_ai_ci;";

/// Table, column, physical type, comment, nullable, extra.
const COLUMNS: [[&str; 6]; 14] = [
    ["person", "id", "bigint", "", "NO", ""],
    ["person", "__remora_mobile", TAG, "", "YES", "INVISIBLE"],
    ["person", "mobile", "varbinary(113)", CI, "YES", ""],
    ["person", "__remora_name", TAG, "", "YES", "INVISIBLE"],
    ["person", "name", "varbinary(113)", CI, "NO", ""],
    [
        "person",
        "note",
        "blob",
        "remora 1;text;utf8mb4_bin;of the client",
        "YES",
        "",
    ],
    ["person", "card", "char(32)", "", "YES", ""],
    ["person", "amount", "int", "", "YES", ""],
    ["caller", "person_id", "bigint", "", "NO", ""],
    ["caller", "__remora_mobile", TAG, "", "YES", "INVISIBLE"],
    ["caller", "mobile", "varbinary(113)", CI, "YES", ""],
    ["plain", "id", "bigint", "", "NO", ""],
    ["plain", "mobile", "varchar(20)", "", "YES", ""],
    ["plain", "name", "varchar(20)", "", "YES", ""],
];

fn catalog() -> Catalog {
    let cluster: ShardingCluster = serde_saphyr::from_str(MANIFEST).unwrap();
    let columns = COLUMNS
        .iter()
        .map(|[table, column, kind, comment, nullable, extra]| {
            let text = kind.starts_with("char") || kind.starts_with("varchar");
            LoadedColumn {
                table: (*table).to_owned(),
                column: (*column).to_owned(),
                data_type: kind.split('(').next().unwrap_or_default().to_owned(),
                column_type: (*kind).to_owned(),
                collation: text.then(|| "utf8mb4_0900_ai_ci".to_owned()),
                nullable: *nullable == "YES",
                extra: (*extra).to_owned(),
                comment: (*comment).to_owned(),
                keys: String::new(),
            }
        });
    CatalogBuilder::new(&cluster.spec)
        .loaded(columns)
        .build(1)
        .unwrap()
}

fn ring() -> KeyRing {
    let key = |name: &str, byte| {
        let material = KeyMaterial::from_bytes(&[byte; 32]).unwrap();
        (name.to_owned(), 1, material)
    };
    KeyRing::new([key("mobile", 1), key("other", 2)]).unwrap()
}

fn context() -> Context {
    Context {
        database: Some("shop".to_owned()),
        ..Context::default()
    }
}

/// The statement that is planned; `None` if it concerns no protected column's table.
fn veil(sql: &str, params: Option<&[Param<'_>]>) -> Result<Option<Veiled>, Refusal> {
    let (catalog, context) = (catalog(), context());
    let mut normalizer = Normalizer::default();
    let found = Veiler::new(1 << 20).veil(&catalog, &context, &mut normalizer, sql.as_bytes())?;
    let Some(found) = found else {
        return Ok(None);
    };
    let input = BindInput {
        params,
        charset: Some(Charset::Utf8mb4),
        ..BindInput::default()
    };
    let veiled = found.bind(&context, sql.as_bytes(), &input, &ring())?;
    // Whatever comes out is planned like any other statement.
    let planner = Planner::new(1 << 20);
    planner.plan_veiled(&catalog, &context, &mut normalizer, &veiled.sql)?;
    Ok(Some(veiled))
}

/// Hex literals by their length: nonces are random, and so are the values of the test's keys.
fn shortened(sql: &[u8]) -> String {
    let text = String::from_utf8(sql.to_vec()).unwrap();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once("0x") {
        let digits = behind.bytes().take_while(u8::is_ascii_hexdigit).count();
        out += &format!("{before}<{} bytes>", digits / 2);
        rest = &behind[digits..];
    }
    out + rest
}

fn shown(sql: &str) -> String {
    let outcome = match veil(sql, None) {
        Ok(None) => "(as it is)".to_owned(),
        Ok(Some(veiled)) => shortened(&veiled.sql),
        Err(refusal) => refusal.to_string(),
    };
    format!("{sql}\n    {outcome}\n")
}

#[test]
fn rows_are_written_and_found_by_what_stands_for_values() {
    let statements = [
        "INSERT INTO person (id, mobile, name) VALUES (1, '139', 'Anna'), (2, NULL, 'Bo')",
        "INSERT INTO person VALUES (1, '139', 'Anna', 'n', 'card', 5)",
        "INSERT INTO person SET id = 1, name = 'Anna', card = 'abc'",
        "REPLACE INTO person (id, name) VALUES (1, 'a') /* Plain */ -- Plain",
        "INSERT INTO person (id, name) VALUES (1, 'a') AS new ON DUPLICATE KEY UPDATE name = new.name, mobile = '1'",
        "INSERT INTO person (id, name) VALUES (1, 'a') ON DUPLICATE KEY UPDATE person.name = VALUES(name)",
        "INSERT INTO person (id, mobile, name) VALUES (1, DEFAULT, 7)",
        "UPDATE person SET mobile = '1', amount = 2, note = NULL WHERE id = 1",
        "UPDATE person p SET p.name = 'x' WHERE p.mobile IN ('1', '2') AND p.card = 'abc'",
        "UPDATE person SET mobile = DEFAULT WHERE '1' = mobile",
        "DELETE FROM person WHERE mobile <=> NULL OR NOT (name <> 'x')",
        "SELECT * FROM person WHERE id = 1",
        "SELECT p.mobile, c.mobile AS m FROM person p JOIN caller c ON c.person_id = p.id AND c.mobile = p.mobile",
        "SELECT person.id, plain.mobile FROM person, plain WHERE person.id = 1 AND plain.mobile LIKE 'x' AND plain.id = 1",
        "SELECT COUNT(*) FROM person WHERE mobile IS NOT NULL AND (name = 'a' XOR name = 'b')",
        "/* remora: replica */ SELECT id /* Plain */ FROM person WHERE id = 1",
        "SELECT id FROM person WHERE id = 1 /* remora: primary */",
        "SELECT mobile FROM plain WHERE mobile > 'a'",
        "SELECT 1",
        "EXPLAIN REMORA SELECT id FROM person WHERE mobile = '1'",
    ];
    insta::assert_snapshot!(statements.map(shown).join("\n"));
}

#[test]
fn definitions_are_those_of_what_is_stored() {
    let statements = [
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20) NOT NULL COMMENT 'it''s', note TEXT, card CHAR(32))",
        "CREATE TABLE fresh (id BIGINT NOT NULL, mobile CHAR(64) COLLATE utf8mb4_bin DEFAULT NULL, note VARBINARY(3000), card CHAR(32), PRIMARY KEY (id), KEY (mobile, id), UNIQUE u (id, mobile), KEY c (card)) DEFAULT CHARSET=latin1",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20), note TEXT)",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20) DEFAULT 'secret', note TEXT, card CHAR(32))",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile BIGINT, note TEXT, card CHAR(32))",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20) COLLATE utf8mb4_tr_0900_ai_ci, note TEXT, card CHAR(32))",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20), note TEXT, card CHAR(16))",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20), note TEXT, card CHAR(32), KEY (note))",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20), note TEXT, card CHAR(32), KEY (mobile(5)))",
        "CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY, mobile VARCHAR(20), note TEXT, card CHAR(32), g VARCHAR(9) AS (UPPER(mobile)))",
        "ALTER TABLE person DROP COLUMN mobile",
        "ALTER TABLE person ADD COLUMN x INT AFTER mobile, ADD KEY (name), MODIFY mobile VARCHAR(30) NULL",
        "ALTER TABLE person MODIFY mobile VARCHAR(10)",
        "ALTER TABLE person ADD CHECK (mobile <> 'x')",
        "ALTER TABLE person RENAME COLUMN mobile TO phone",
        "CREATE UNIQUE INDEX u ON person (id, mobile)",
        "CREATE INDEX i ON person (note)",
        "DROP TABLE person",
    ];
    insta::assert_snapshot!(statements.map(shown).join("\n"));
}

#[test]
fn what_is_not_understood_is_refused() {
    let statements = [
        "SELECT id FROM person WHERE mobile LIKE '1%'",
        "SELECT id FROM person WHERE id BETWEEN 1 AND mobile = 'x'",
        "SELECT id FROM person WHERE mobile = CONCAT('1', '2')",
        "SELECT id FROM person WHERE mobile = 'a' 'b'",
        "SELECT id FROM person WHERE mobile = _latin1'a'",
        "SELECT id FROM person WHERE mobile = N'a'",
        "SELECT id FROM person WHERE mobile = 'a' COLLATE utf8mb4_bin",
        "SELECT id FROM person WHERE mobile = 139",
        "SELECT id FROM person WHERE mobile = 0x31",
        "SELECT id FROM person WHERE (mobile, id) = ('1', 2)",
        "SELECT id FROM person WHERE mobile = name",
        "SELECT id FROM person WHERE note = 'x'",
        "SELECT id FROM person WHERE mobile = @x",
        "SELECT id FROM person WHERE mobile IN (SELECT name FROM plain)",
        "SELECT id FROM person ORDER BY mobile",
        "SELECT id, mobile FROM person ORDER BY 2",
        "SELECT mobile AS m FROM person ORDER BY m",
        "SELECT mobile FROM person GROUP BY mobile",
        "SELECT DISTINCT * FROM person",
        "SELECT UPPER(mobile) FROM person",
        "SELECT mobile INTO @x FROM person WHERE id = 1",
        "SELECT * FROM (SELECT * FROM person) d",
        "SELECT mobile FROM (SELECT mobile FROM person WHERE id = 1) d",
        "SELECT * FROM person WHERE id = 1 UNION SELECT * FROM person WHERE id = 1",
        "WITH c AS (SELECT mobile FROM person) SELECT * FROM c",
        "SELECT * FROM person NATURAL JOIN caller",
        "SELECT p.id FROM person p JOIN caller c USING (mobile)",
        "INSERT INTO person (id, name) SELECT id, name FROM plain",
        "INSERT INTO plain (id, name) SELECT id, mobile FROM person",
        "INSERT INTO other SELECT * FROM person",
        "INSERT INTO person (id, name) VALUES (1, CONCAT('a', 'b'))",
        "INSERT INTO person (id, name) VALUES (1, 'a'), (2, NULL)",
        "INSERT INTO person (id, mobile) VALUES (1, 'a')",
        "INSERT INTO person (id, name) VALUES (1, '123456789012345678901')",
        "INSERT INTO person (id, name, amount) VALUES (1, 'a', LENGTH(name))",
        "INSERT INTO person (id, name) VALUES (1, 1.5)",
        "INSERT INTO person (id, name) VALUES (1, 'a') ON DUPLICATE KEY UPDATE name = CONCAT(name, 'x')",
        "UPDATE person SET mobil = 'Plain' WHERE id = 1",
        "INSERT INTO person (id, mobil, name) VALUES (1, 'Plain', 'a')",
        "UPDATE person SET mobile = name",
        "UPDATE person SET mobile = CONCAT(mobile, 'x')",
        "UPDATE person SET amount = LENGTH(mobile)",
        "SELECT __remora_mobile FROM person",
        "SELECT mobile FROM person WHERE /*!80000 mobile = 'x' */",
        "SELECT mobile FROM person WHERE mobile = 'x",
        "CREATE VIEW v AS SELECT mobile FROM person",
        "CREATE TRIGGER t BEFORE INSERT ON person FOR EACH ROW SET NEW.mobile = 'x'",
        "LOAD DATA INFILE 'x' INTO TABLE person",
        "TABLE person",
        "HANDLER person OPEN",
        "DO (SELECT mobile FROM person)",
        "SET @x = (SELECT mobile FROM person WHERE id = 1)",
        "SELECT id FROM person WHERE id = (SELECT MAX(person_id) FROM caller WHERE mobile = '1')",
    ];
    insta::assert_snapshot!(statements.map(shown).join("\n"));
}

#[test]
fn envelopes_are_neither_ordered_nor_grouped_nor_kept_behind_with() {
    let refused = [
        "WITH x AS (SELECT 1) SELECT * FROM person WHERE id = 1 ORDER BY 3",
        "WITH x AS (SELECT 1) SELECT DISTINCT * FROM person WHERE id = 1",
        "WITH x AS (SELECT 1) SELECT person.* FROM person WHERE id = 1 GROUP BY id",
        "WITH x AS (SELECT 1) SELECT * FROM person WHERE id = 1 HAVING amount > 1",
        "WITH x AS (SELECT 1) SELECT * FROM person WHERE id = 1 INTO @a, @b, @c, @d, @e, @f",
        "WITH x AS (SELECT 1) SELECT mobile FROM person WHERE id = 1 ORDER BY 1",
        "WITH x AS (TABLE caller) SELECT id FROM person WHERE id = 1",
        "(SELECT * FROM person WHERE id = 1) ORDER BY 3",
        "(SELECT * FROM person WHERE id = 1 ORDER BY 3)",
        "(SELECT * FROM person WHERE id = 1) INTO @a, @b, @c, @d, @e, @f",
        "TABLE person ORDER BY 3",
        "SELECT id FROM person WHERE id IN (TABLE caller)",
        "(TABLE person) UNION (TABLE person) ORDER BY 3",
        "VALUES ROW(1, (SELECT note FROM person WHERE id = 1)) ORDER BY 2",
        "SELECT * FROM person WHERE id = 1 ORDER BY 1 + 1",
    ];
    for sql in refused {
        let refusal = veil(sql, None).unwrap_err();
        assert_eq!(refusal.code, 1235, "{sql}: {refusal}");
    }
    let sql = "WITH x AS (SELECT 1) SELECT * FROM person WHERE id = 1 ORDER BY id";
    let veiled = veil(sql, None).unwrap().unwrap();
    assert_eq!(String::from_utf8(veiled.sql).unwrap(), sql);
}

#[test]
fn parameters_are_fed_by_what_stands_for_them() {
    let params = [
        Param::UInt(7),
        Param::Bytes(b"139"),
        Param::Null,
        Param::Bytes(b"abc"),
    ];
    let sql = "INSERT INTO person (id, mobile, name, note, card) VALUES (?, ?, 'x', ?, ?)";
    let veiled = veil(sql, Some(&params)).unwrap().unwrap();
    let text = String::from_utf8(veiled.sql).unwrap();
    assert!(text.ends_with("VALUES (?, ?, ?, ?, ?, ?, ?)"), "{text}");
    assert_eq!(veiled.params[0], Fed::Client(0));
    let lengths: Vec<usize> = veiled.params[1..]
        .iter()
        .map(|fed| match fed {
            Fed::Binary(bytes) | Fed::Text(bytes) => bytes.len(),
            _ => 0,
        })
        .collect();
    assert_eq!(lengths, [36, 34, 0, 32, 16, 16]);
}

#[test]
fn no_value_of_a_protected_column_is_in_the_text() {
    for sql in [
        "INSERT INTO person (id, mobile, name, note, card) VALUES (1, 'Plain', 'Plain', 'Plain', 'Plain')",
        "UPDATE person SET mobile = 'Plain', note = 'Plain' WHERE name = 'Plain' AND card <> 'Plain'",
        "/* Plain */ SELECT /* Plain */ id FROM person WHERE mobile IN ('Plain', 'Plain') # Plain",
    ] {
        let veiled = veil(sql, None).unwrap().unwrap();
        let text = String::from_utf8(veiled.sql).unwrap();
        assert!(!text.contains("Plain"), "{text}");
    }
}

#[test]
fn a_statement_that_was_not_veiled_is_not_planned() {
    let planner = Planner::new(1 << 20);
    let sql = b"SELECT id FROM person WHERE mobile = 'x'";
    let planned = planner.plan(&catalog(), &context(), &mut Normalizer::default(), sql);
    assert_eq!(planned.unwrap_err().code, 1235);
}

#[test]
fn equal_values_have_equal_tags_and_envelopes_where_they_are_looked_up() {
    let of = |value: &str| {
        let sql = format!("UPDATE person SET mobile = '{value}', note = '{value}' WHERE id = 1");
        let sql = String::from_utf8(veil(&sql, None).unwrap().unwrap().sql).unwrap();
        let hex: Vec<String> = sql
            .split("0x")
            .skip(1)
            .map(|it| it.chars().take_while(char::is_ascii_hexdigit).collect())
            .collect();
        <[String; 3]>::try_from(hex).unwrap()
    };
    let ([first, tag, note], [again, same, other]) = (of("Anna"), of("Anna"));
    assert!(first == again && tag == same && note != other);
    let [small, folded, _] = of("anna");
    assert!(small != first && folded == tag);
}
