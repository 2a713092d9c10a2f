-- INSERT: rows go where their keys say, and the counts are those of one statement.
DROP TABLE IF EXISTS item;
CREATE TABLE item (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(10) NOT NULL DEFAULT 'unnamed',
  price DECIMAL(6,2) NULL,
  small TINYINT NULL,
  day DATE NULL
);
DROP TABLE IF EXISTS customer;
CREATE TABLE customer (
  id BIGINT NOT NULL PRIMARY KEY,
  hidden INT DEFAULT 7 INVISIBLE,
  twice BIGINT GENERATED ALWAYS AS (id * 2) STORED,
  name VARCHAR(10) NULL
);

-- ## Single-row INSERT
INSERT INTO customer VALUES (${1|2}, DEFAULT, 'a');
-- @error 3105
INSERT INTO customer VALUES (${3|4}, 5, 'a');
-- @error 1136
INSERT INTO customer VALUES (${3|4}, 5, DEFAULT, 'a');
-- @error 1364
INSERT INTO customer VALUES ();
INSERT INTO customer VALUES (${1|2}, DEFAULT, 'z') AS new(a, b, c) ON DUPLICATE KEY UPDATE name = new.c;
INSERT INTO customer VALUES ROW(${5|6}, DEFAULT, 'b'), ROW(${7|8}, DEFAULT, 'c');
REPLACE customer VALUE (${5|6}, DEFAULT, 'd');
SELECT id, hidden, twice, name FROM customer ORDER BY id;
INSERT INTO item (id, name) VALUES (${1|2}, ${'one'|'two'});
INSERT INTO item VALUES (${3|4}, ${''|'four'}, ${NULL|4.44}, ${3|-4}, ${'2026-01-01'|NULL});
INSERT item (name, id) VALUES ('five', ${5|-5});
INSERT INTO shop.item (id) VALUES (${6|7});
INSERT INTO `item` (`id`, `price`) VALUE (${8|9}, ${0|-0.5});
INSERT INTO item (id, name, small) VALUES (${10|11}, DEFAULT, DEFAULT);
INSERT INTO item SET id = ${12|13}, name = ${'set'|'also'};
INSERT INTO item (id, name) VALUES (7 + ${7|8}, UPPER('x'));
SELECT * FROM item ORDER BY id;

-- ## Multi-row INSERT
INSERT INTO item (id, name) VALUES (${100|200}, 'a'), (${101|201}, 'b'), (${102|202}, 'c'), (${103|203}, 'd');
INSERT INTO item (id, price, day) VALUES (${110|210}, 1.5, '2026-02-03'), (${-110|-210}, NULL, NULL);
INSERT INTO item (id) VALUES (${120|220}), (${121|221}), (${122|222}), (${123|223}), (${124|224}), (${125|225}), (${126|226});
INSERT INTO item (id, name) VALUES (${130|230}, 'x'), (${'131'|'231'}, 'text key');
INSERT IGNORE INTO item (id, name) VALUES (${100|200}, 'seen'), (${140|240}, 'new');
-- @error 1062
INSERT INTO item (id, name) VALUES (${150|250}, 'new'), (${100|200}, 'seen'), (${151|251}, 'never');
SELECT * FROM item WHERE id IN (150, 151, 250, 251);
-- @error 1136
INSERT INTO item (id, name) VALUES (${160|260}, 'x'), (${161|261});
SELECT id, name FROM item WHERE id > 99 ORDER BY id;

-- ## Duplicate-key errors
-- @error 1062
INSERT INTO item (id) VALUES (${1|2});
-- @error 1062
INSERT INTO item (id, name) VALUES (${-5|5}, 'again');
-- @error 1062
INSERT INTO item (id) VALUES (${300|301}), (${300|301});
SELECT COUNT(*) FROM item WHERE id IN (300, 301);
INSERT INTO item (id, name) VALUES (${1|2}, 'upsert') ON DUPLICATE KEY UPDATE name = ${'was 1'|'was 2'};
REPLACE INTO item (id, name) VALUES (${3|4}, 'replaced');
-- @error 1062
UPDATE item SET name = 'x', id = ${1|2} WHERE id = ${100|200};
SELECT * FROM item WHERE id < 6 ORDER BY id;

-- ## Truncation and range errors
-- @error 1406
INSERT INTO item (id, name) VALUES (${400|401}, ${'longer than ten'|'also much longer'});
-- @error 1264
INSERT INTO item (id, small) VALUES (${400|401}, ${128|-129});
-- @error 1264
INSERT INTO item (id, price) VALUES (${400|401}, ${10000|-99999.999});
-- @error 1292
INSERT INTO item (id, day) VALUES (${400|401}, ${'2026-02-30'|'not a day'});
-- @error 1264
INSERT INTO item (id, small) VALUES (${410|420}, 1), (${411|421}, 2), (${412|422}, ${1000|-1000}), (${413|423}, 3);
-- @error 1048
INSERT INTO item (id, name) VALUES (${400|401}, NULL);
-- @error 1364
INSERT INTO item (name) VALUES (${'no id'|'none'});
-- @error 1054
INSERT INTO item (id, nothing) VALUES (${400|401}, 1);
INSERT INTO item (id, price) VALUES (${400|401}, ${1.005|2.999});
INSERT IGNORE INTO item (id, name) VALUES (${402|403}, ${'longer than ten'|'also much longer'});
SELECT * FROM item WHERE id >= 400 ORDER BY id;

-- ## Warnings without strict mode
SET sql_mode = '';
INSERT INTO item (id, name) VALUES (${500|501}, ${'longer than ten'|'also much longer'});
INSERT INTO item (id, small) VALUES (${502|503}, ${300|-300});
INSERT INTO item (id, small, day) VALUES (${510|520}, 1, 'x'), (${511|521}, 1000, '2026-01-01'), (${512|522}, -1000, NULL);
-- @text
SHOW WARNINGS;
INSERT INTO item (id, price) VALUES (${504|505}, ${'12abc'|'abc'});
SELECT * FROM item WHERE id >= 500 ORDER BY id;
SET sql_mode = DEFAULT;
