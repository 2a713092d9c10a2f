// What applications do with mysql2, one journey after the other. Each is a test of its own, on
// connections and tables of its own, in a database that is empty before the first.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import callbacks from 'mysql2';
import mysql from 'mysql2/promise';

const { HOST: host, PORT, ACCOUNT: user, PASSWORD: password, DATABASE: database, VERDICTS } = process.env;
const server = { host, port: Number(PORT), user, password, database };
// A journey that waits for ever must not stop the others.
const LIMIT = 30_000;
const journeys = [];
const journey = (name, run, options = {}) => journeys.push({ name, run, options });

journey('a query gives rows and columns', async (db) => {
  const [rows, fields] = await db.query("SELECT 1 AS one, 'two' AS two, NULL AS nothing");
  assert.deepEqual(rows, [{ one: 1, two: 'two', nothing: null }]);
  assert.deepEqual(fields.map((field) => field.name), ['one', 'two', 'nothing']);
});

journey('a prepared statement is executed again and again', async (db) => {
  for (let i = 0; i < 50; i++) {
    const [rows] = await db.execute('SELECT ? + 1 AS next, ? AS text', [i, `text ${i}`]);
    assert.deepEqual(rows, [{ next: i + 1, text: `text ${i}` }]);
  }
  const statement = await db.prepare('SELECT ? * 2 AS twice');
  const [rows] = await statement.execute([21]);
  assert.equal(Number(rows[0].twice), 42);
  await statement.close();
});

journey('all types come back as they went, as text and prepared', async (db) => {
  await db.query(`CREATE TEMPORARY TABLE kinds (
    i INT, u BIGINT UNSIGNED, d DECIMAL(20,5), f DOUBLE, s VARCHAR(50), b BLOB, j JSON,
    day DATE, at DATETIME(6), clock TIME(3), bits BIT(9), e ENUM('a','b'), y YEAR)`);
  const values = [-7, '18446744073709551615', '123456789012345.12345', 1.5, 'größe 🐟', Buffer.from([0, 1, 255]),
    '{"a": [1, null]}', '2026-02-28', '2026-02-28 12:34:56.789012', '-12:34:56.789', 257, 'b', 2026];
  await db.execute(`INSERT INTO kinds VALUES (${values.map(() => '?').join(', ')})`, values);
  for (const read of [db.query.bind(db), db.execute.bind(db)]) {
    const [[row]] = await read('SELECT * FROM kinds');
    assert.equal(row.i, -7);
    assert.equal(row.u, '18446744073709551615');
    assert.equal(row.d, '123456789012345.12345');
    assert.equal(row.f, 1.5);
    assert.equal(row.s, 'größe 🐟');
    assert.deepEqual(row.b, Buffer.from([0, 1, 255]));
    assert.deepEqual(row.j, { a: [1, null] });
    assert.equal(row.day, '2026-02-28');
    assert.equal(row.at, '2026-02-28 12:34:56.789012');
    assert.equal(row.clock, '-12:34:56.789');
    assert.deepEqual(row.bits, Buffer.from([1, 1]));
    assert.equal(row.e, 'b');
    assert.equal(row.y, 2026);
  }
}, { dateStrings: true, supportBigNumbers: true, bigNumberStrings: false });

journey('an insert tells its id, its rows and what it changed', async (db) => {
  await db.query('CREATE TABLE inserted (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)');
  const [first] = await db.query('INSERT INTO inserted (v) VALUES (1), (2)');
  assert.equal(first.insertId, 1);
  assert.equal(first.affectedRows, 2);
  assert.match(first.info, /Records: 2/);
  const [again] = await db.query('INSERT INTO inserted (v) VALUES (2) ON DUPLICATE KEY UPDATE v = 3');
  assert.equal(again.affectedRows, 2);
  const [changed] = await db.query('UPDATE inserted SET v = 3 WHERE v = 3');
  assert.deepEqual([changed.affectedRows, changed.changedRows], [1, 0]);
  const [[{ id }]] = await db.query('SELECT LAST_INSERT_ID() AS id');
  assert.equal(id, 1);
});

journey('named placeholders and IN lists', async (db) => {
  const [rows] = await db.query('SELECT :a + :b AS sum', { a: 1, b: 2 });
  assert.equal(rows[0].sum, 3);
  const [list] = await db.query('SELECT 2 IN (?) AS found', [[1, 2, 3]]);
  assert.equal(list[0].found, 1);
}, { namedPlaceholders: true });

journey('a transaction commits and rolls back', async (db, open) => {
  await db.query('CREATE TABLE account (id INT PRIMARY KEY, amount INT) ENGINE = InnoDB');
  await db.query('INSERT INTO account VALUES (1, 100), (2, 0)');
  await db.beginTransaction();
  await db.query('UPDATE account SET amount = amount - 10 WHERE id = 1');
  await db.rollback();
  await db.beginTransaction();
  await db.execute('UPDATE account SET amount = amount - ? WHERE id = ?', [30, 1]);
  await db.execute('UPDATE account SET amount = amount + ? WHERE id = ?', [30, 2]);
  const other = await open();
  const [before] = await other.query('SELECT amount FROM account ORDER BY id');
  await db.commit();
  const [after] = await other.query('SELECT amount FROM account ORDER BY id');
  assert.deepEqual([before, after].map((rows) => rows.map((row) => row.amount)), [[100, 0], [70, 30]]);
});

journey('savepoints', async (db) => {
  await db.query('CREATE TABLE steps (n INT)');
  await db.beginTransaction();
  await db.query('INSERT INTO steps VALUES (1)');
  await db.query('SAVEPOINT one');
  await db.query('INSERT INTO steps VALUES (2)');
  await db.query('ROLLBACK TO SAVEPOINT one');
  await db.commit();
  const [rows] = await db.query('SELECT n FROM steps');
  assert.deepEqual(rows, [{ n: 1 }]);
});

journey('several statements give several results', async (db) => {
  const [results, fields] = await db.query("SELECT 1 AS a; SET @x = 5; SELECT @x AS b; SELECT 'ü;' AS c");
  assert.deepEqual([results[0], results[2], results[3]], [[{ a: 1 }], [{ b: 5 }], [{ c: 'ü;' }]]);
  assert.equal(results[1].affectedRows, 0);
  assert.equal(fields[2][0].name, 'b');
}, { multipleStatements: true });

journey('of several statements none runs behind one that fails', async (db) => {
  await db.query('CREATE TABLE behind (n INT)');
  await assert.rejects(db.query('INSERT INTO behind VALUES (1); SELECT * FROM nowhere; INSERT INTO behind VALUES (2)'),
    { errno: 1146, code: 'ER_NO_SUCH_TABLE', sqlState: '42S02' });
  const [rows] = await db.query('SELECT n FROM behind');
  assert.deepEqual(rows, [{ n: 1 }]);
}, { multipleStatements: true });

journey('several statements are an error unless they are allowed', async (db) => {
  await assert.rejects(db.query('SELECT 1; SELECT 2'), { errno: 1064, sqlState: '42000' });
});

journey('a procedure gives rows, a status and OUT parameters', async (db) => {
  await db.query(`CREATE PROCEDURE twice(IN n INT, OUT result INT)
    BEGIN
      SELECT n AS given;
      SET result = n * 2;
      SELECT result AS computed;
    END`);
  const [results] = await db.query('CALL twice(4, @out)');
  assert.deepEqual(results.slice(0, 2), [[{ given: 4 }], [{ computed: 8 }]]);
  assert.equal(results[2].affectedRows, 0);
  const [[{ out }]] = await db.query('SELECT @out AS `out`');
  assert.equal(out, 8);
  const [prepared] = await db.execute('CALL twice(?, @out)', [5]);
  assert.deepEqual(prepared[1], [{ computed: 10 }]);
});

journey('a function and a trigger', async (db) => {
  await db.query('CREATE FUNCTION plus_one(n INT) RETURNS INT DETERMINISTIC RETURN n + 1');
  await db.query('CREATE TABLE watched (n INT)');
  await db.query(`CREATE TRIGGER watch BEFORE INSERT ON watched FOR EACH ROW
    BEGIN
      IF NEW.n < 0 THEN SET NEW.n = 0; ELSE SET NEW.n = plus_one(NEW.n); END IF;
    END`);
  await db.query('INSERT INTO watched VALUES (-5), (5)');
  const [rows] = await db.query('SELECT n FROM watched ORDER BY n');
  assert.deepEqual(rows.map((row) => row.n), [0, 6]);
});

journey('PREPARE and EXECUTE in SQL', async (db) => {
  await db.query("PREPARE stmt FROM 'SELECT ? + ? AS sum'");
  await db.query('SET @a = 1, @b = 2');
  const [rows] = await db.query('EXECUTE stmt USING @a, @b');
  assert.equal(Number(rows[0].sum), 3);
  await db.query("SET @text = 'SELECT 7 AS seven'");
  await db.query('PREPARE stmt FROM @text');
  assert.deepEqual((await db.query('EXECUTE stmt'))[0], [{ seven: 7 }]);
  await db.query('DEALLOCATE PREPARE stmt');
  await assert.rejects(db.query('EXECUTE stmt'), { errno: 1243 });
});

journey('errors have a number, a state and a text', async (db) => {
  await assert.rejects(db.query('SELEC 1'), { errno: 1064, code: 'ER_PARSE_ERROR', sqlState: '42000' });
  await assert.rejects(db.query('SELECT * FROM nowhere'), { errno: 1146 });
  await db.query('CREATE TABLE once (id INT PRIMARY KEY)');
  await db.query('INSERT INTO once VALUES (1)');
  await assert.rejects(db.execute('INSERT INTO once VALUES (?)', [1]),
    { errno: 1062, sqlMessage: "Duplicate entry '1' for key 'once.PRIMARY'" });
  assert.equal((await db.query('SELECT 1 AS a'))[0][0].a, 1);
});

journey('warnings are counted and shown', async (db) => {
  await db.query("SET sql_mode = ''");
  await db.query('CREATE TEMPORARY TABLE narrow (n TINYINT)');
  const [result] = await db.query('INSERT INTO narrow VALUES (1000)');
  assert.equal(result.warningStatus, 1);
  const [warnings] = await db.query('SHOW WARNINGS');
  assert.deepEqual(warnings.map((warning) => warning.Code), [1264]);
});

journey('rows are streamed', async () => {
  const connection = callbacks.createConnection(server);
  const seen = [];
  const text = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, REPEAT("x", 1000) AS t FROM n';
  await pipeline(connection.query(text).stream(), async function (rows) {
    for await (const row of rows) seen.push(row.i);
  });
  assert.equal(seen.length, 900);
  assert.equal(seen.at(-1), 900);
  await new Promise((resolve) => connection.end(resolve));
});

journey('a value of a megabyte', async (db) => {
  const large = Buffer.alloc(1_000_000, 'abc');
  const [[row]] = await db.execute('SELECT ? AS large, LENGTH(?) AS length', [large, large]);
  assert.equal(Number(row.length), large.length);
  assert.ok(Buffer.from(row.large).equals(large));
});

journey('a value of twenty megabytes', async (db) => {
  const large = 'x'.repeat(20_000_000);
  const [[row]] = await db.query('SELECT LENGTH(?) AS length, ? AS large', [large, large]);
  assert.equal(row.length, large.length);
  assert.equal(row.large.length, large.length);
});

journey('a compressed connection', async (db) => {
  const [rows] = await db.query("SELECT REPEAT('a', 100000) AS large");
  assert.equal(rows[0].large.length, 100000);
  const [again] = await db.execute('SELECT ? AS v', ['b'.repeat(100000)]);
  assert.equal(again[0].v.length, 100000);
}, { compress: true });

journey('an encrypted connection', async (db) => {
  const [[status]] = await db.query("SHOW STATUS LIKE 'Ssl_cipher'");
  assert.notEqual(status.Value, '');
}, { ssl: { rejectUnauthorized: false } });

journey('LOAD DATA LOCAL INFILE', async (db) => {
  await db.query('CREATE TABLE loaded (id INT, name VARCHAR(20))');
  const [result] = await db.query({
    sql: "LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded FIELDS TERMINATED BY ','",
    infileStreamFactory: () => Readable.from(['1,one\n2,two\n', '3,three\n'].map((part) => Buffer.from(part))),
  });
  assert.equal(result.affectedRows, 3);
  const [[{ names }]] = await db.query('SELECT GROUP_CONCAT(name ORDER BY id) AS names FROM loaded');
  assert.equal(names, 'one,two,three');
});

journey('a pool hands out clean sessions', async () => {
  const pool = mysql.createPool({ ...server, connectionLimit: 4, resetOnRelease: true });
  await Promise.all([...Array(40).keys()].map(async (i) => {
    const connection = await pool.getConnection();
    const [[{ before }]] = await connection.query('SELECT @mark AS `before`');
    assert.equal(before, null);
    await connection.query('SET @mark = ?', [i]);
    const [[{ mark }]] = await connection.query('SELECT @mark AS mark');
    assert.equal(Number(mark), i);
    await connection.query('SET time_zone = "+03:00"');
    await connection.reset();
    connection.release();
  }));
  await pool.end();
});

journey('another user on the same connection', async (db) => {
  await db.query('SET @mine = 1');
  await db.changeUser({ user, password, database: 'information_schema' });
  const [[row]] = await db.query('SELECT @mine AS mine, DATABASE() AS db');
  assert.deepEqual(row, { mine: null, db: 'information_schema' });
});

journey('ping and the connection id', async (db) => {
  await db.ping();
  const [[{ id }]] = await db.query('SELECT CONNECTION_ID() AS id');
  assert.equal(id, db.threadId);
});

journey('a query of another connection is killed', async (db, open) => {
  const other = await open();
  const slow = db.query('SELECT SLEEP(20) AS slept');
  await new Promise((resolve) => setTimeout(resolve, 300));
  const began = Date.now();
  await other.query(`KILL QUERY ${db.threadId}`);
  const outcome = await slow.then(([rows]) => rows[0].slept, (error) => error.errno);
  assert.ok([1, 1317].includes(outcome), `${outcome}`);
  assert.ok(Date.now() - began < 5000);
  assert.equal((await db.query('SELECT 1 AS a'))[0][0].a, 1);
});

journey('a connection is killed', async (db, open) => {
  const victim = await open();
  victim.on('error', () => {});
  await db.query(`KILL ${victim.threadId}`);
  await assert.rejects(victim.query('SELECT 1'));
});

journey('SHOW PROCESSLIST shows the session', async (db) => {
  const [rows] = await db.query('SHOW FULL PROCESSLIST');
  const own = rows.find((row) => row.Id === db.threadId);
  assert.equal(own?.User, user);
  assert.equal(own?.db, database);
});

journey('a wrong password is refused', async () => {
  await assert.rejects(mysql.createConnection({ ...server, password: 'wrong' }), { errno: 1045, sqlState: '28000' });
});

journey('an unknown database is refused', async () => {
  await assert.rejects(mysql.createConnection({ ...server, database: 'nowhere' }), { errno: 1049 });
});

journey('character sets of the session', async (db) => {
  const [[row]] = await db.query("SELECT @@character_set_client AS c, HEX('é') AS bytes, 'é' AS text");
  assert.equal(row.c, 'latin1');
  assert.equal(row.bytes, 'E9');
  assert.equal(row.text, 'é');
}, { charset: 'latin1' });

journey('locks by name, temporary tables and user variables stay with the session', async (db, open) => {
  const other = await open();
  assert.equal((await db.query("SELECT GET_LOCK('journey', 5) AS got"))[0][0].got, 1);
  assert.equal((await other.query("SELECT GET_LOCK('journey', 0) AS got"))[0][0].got, 0);
  await db.query('CREATE TEMPORARY TABLE mine (n INT)');
  await assert.rejects(other.query('SELECT * FROM mine'), { errno: 1146 });
  assert.equal((await db.query("SELECT RELEASE_LOCK('journey') AS gone"))[0][0].gone, 1);
});

journey('the catalogue of a table', async (db) => {
  await db.query("CREATE TABLE shown (id INT PRIMARY KEY COMMENT 'the key', name VARCHAR(30) DEFAULT 'x', KEY (name))");
  const [columns] = await db.query('SHOW FULL COLUMNS FROM shown');
  assert.deepEqual(columns.map((column) => column.Field), ['id', 'name']);
  assert.equal(columns[0].Comment, 'the key');
  const [[create]] = await db.query('SHOW CREATE TABLE shown');
  assert.match(create['Create Table'], /KEY `name` \(`name`\)/);
  const [indexes] = await db.query('SHOW INDEX FROM shown');
  assert.deepEqual(indexes.map((index) => index.Key_name), ['PRIMARY', 'name']);
  const [[status]] = await db.query("SHOW TABLE STATUS LIKE 'shown'");
  assert.equal(status.Engine, 'InnoDB');
  const [known] = await db.query('SELECT column_name AS name FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position', [database, 'shown']);
  assert.deepEqual(known.map((column) => column.name), ['id', 'name']);
});

journey('connection attributes reach the server', async (db) => {
  const [rows] = await db.query(
    "SELECT attr_value AS v FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() AND attr_name = 'journey'");
  assert.deepEqual(rows, [{ v: 'yes' }]);
}, { connectAttributes: { journey: 'yes' } });

const within = (promise) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('it takes too long')), LIMIT);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

const verdicts = fs.createWriteStream(VERDICTS);
for (const { name, run, options } of journeys) {
  const opened = [];
  const open = async () => {
    const db = await mysql.createConnection({ ...server, ...options });
    db.on('error', () => {});
    opened.push(db);
    return db;
  };
  let verdict = 'passed';
  try {
    await within((async () => run(await open(), open))());
  } catch (error) {
    verdict = 'failed';
    console.log(name, error);
  }
  for (const db of opened) db.destroy();
  verdicts.write(`${verdict} ${name}\n`);
}
verdicts.end(() => process.exit(0));
