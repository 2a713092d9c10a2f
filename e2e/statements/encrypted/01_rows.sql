-- Rows with encrypted columns, written, found and read as those of plain MySQL.
DROP TABLE IF EXISTS person;
CREATE TABLE person (
  id BIGINT NOT NULL PRIMARY KEY,
  mobile VARCHAR(32) NULL COMMENT 'how to call',
  name VARCHAR(20) COLLATE utf8mb4_0900_ai_ci NOT NULL,
  code CHAR(8) COLLATE utf8mb4_general_ci NULL,
  note TEXT NULL,
  raw VARBINARY(16) NULL,
  amount DECIMAL(10,2) NULL,
  KEY by_mobile (mobile),
  UNIQUE KEY by_name (id, name)
);
DROP TABLE IF EXISTS caller;
CREATE TABLE caller (
  person_id BIGINT NOT NULL,
  n INT NOT NULL,
  mobile VARCHAR(40) NULL,
  PRIMARY KEY (person_id, n)
);
DROP TABLE IF EXISTS pair;
CREATE TABLE pair (id INT NOT NULL PRIMARY KEY, mobile CHAR(20) NULL);

-- ## Encrypted INSERT
INSERT INTO person (id, mobile, name) VALUES (${1|2}, ${'13912345678'|'13912345679'}, 'Anna');
INSERT INTO person VALUES (${3|4}, ${'13800000000'|NULL}, 'Berta', 'ab  ', 'a long note', 'bytes', 1.5), (${5|6}, '13900000000', 'CAROLA', 'AB', NULL, NULL, 2.5), (${7|8}, NULL, 'carola', NULL, '', '', 3.5);
INSERT INTO person SET id = ${9|10}, mobile = ${'+49 1'|'+49 2'}, name = 'Änna';
INSERT INTO person (name, id, mobile) VALUES ('Dora', ${11|12}, DEFAULT);
INSERT INTO person (id, name, mobile) VALUES (${13|14}, ${'Ü😀'|'ß'}, ${''|' '});
INSERT INTO person (id, name, mobile) VALUES (${15|16}, 'O''Hara \\ "x"', ${7|-8});
-- @error 1048
INSERT INTO person (id, name) VALUES (${20|21}, NULL);
-- @error 1364
INSERT INTO person (id, mobile) VALUES (${20|21}, '1');
-- @error 1406
INSERT INTO person (id, name) VALUES (${20|21}, ${'123456789012345678901'|'äöüäöüäöüäöüäöüäöüäöü'});
-- @error 1062
INSERT INTO person (id, mobile, name) VALUES (${1|2}, '1', 'Anna');
-- @error 1136
INSERT INTO person (id, mobile, name) VALUES (${20|21}, '1');
INSERT IGNORE INTO person (id, mobile, name) VALUES (${1|2}, '1', 'Anna'), (${22|23}, '1', 'Emma');
INSERT INTO caller VALUES (${1|2}, 1, '13912345678'), (${1|2}, 2, '13912345679'), (${3|4}, 1, '13800000000'), (${5|6}, 1, NULL);
INSERT INTO pair VALUES (${1|2}, '13912345678'), (${3|4}, '13900000000  ');
SELECT * FROM person ORDER BY id;
SELECT * FROM pair ORDER BY id;

-- ## Encrypted SELECT
SELECT id, mobile, name FROM person WHERE id = ${1|2};
SELECT * FROM person WHERE id = ${3|4};
SELECT p.*, p.mobile AS m FROM person p WHERE p.id IN (${1|3}, ${5|7}) ORDER BY p.id;
SELECT person.mobile, `name`, shop.person.code FROM person ORDER BY id LIMIT 3;
SELECT id, mobile FROM person WHERE mobile = ${'13912345678'|'13912345679'} ORDER BY id;
SELECT id, mobile FROM person WHERE ${'13912345678'|'13912345679'} = mobile ORDER BY id;
SELECT id FROM person WHERE mobile IN (${'13912345678'|'1'}, ${'13800000000'|'13900000000'}) ORDER BY id;
SELECT id FROM person WHERE mobile NOT IN ('13912345678', '13912345679') ORDER BY id;
SELECT id FROM person WHERE mobile <> ${'13912345678'|''} ORDER BY id;
SELECT id FROM person WHERE mobile <=> ${NULL|'13900000000'} ORDER BY id;
SELECT id FROM person WHERE mobile = ${NULL|'none'};
SELECT id FROM person WHERE mobile IS NULL ORDER BY id;
SELECT id, name FROM person WHERE mobile IS NOT NULL AND (amount > 1 OR name = ${'anna'|'ANNA'}) ORDER BY id;
SELECT id, name FROM person WHERE name = ${'anna'|'änna'} ORDER BY id;
SELECT id, name FROM person WHERE name = ${'carola'|'Carola '} ORDER BY id;
SELECT id, code FROM person WHERE code = ${'ab'|'AB   '} ORDER BY id;
SELECT id FROM person WHERE NOT (name = ${'anna'|'dora'}) AND id < 12 ORDER BY id;
SELECT id FROM person WHERE name = 'ss' OR name = ${'ß'|'ü😀'} ORDER BY id;
SELECT note, raw FROM person WHERE id IN (${3|4}, ${7|8}) ORDER BY id;
SELECT COUNT(*), SUM(amount) FROM person WHERE name = 'carola';
SELECT COUNT(*) FROM person WHERE mobile IS NULL;
SELECT id, mobile FROM person WHERE id = ${999|998};
SELECT COUNT(*) FROM person p WHERE EXISTS (SELECT * FROM caller c WHERE c.person_id = p.id);
SELECT 'mobile' AS word, id FROM person WHERE id = ${1|2};

-- ## Encrypted joins
SELECT p.id, c.n, p.mobile, c.mobile FROM person p JOIN caller c ON c.person_id = p.id WHERE p.id = ${1|2} ORDER BY c.n;
SELECT p.id, c.n FROM person p JOIN caller c ON c.person_id = p.id AND c.mobile = p.mobile ORDER BY p.id, c.n;
SELECT p.id, c.mobile FROM person p LEFT JOIN caller c ON c.person_id = p.id AND c.mobile = ${'13912345678'|'x'} ORDER BY p.id, c.n;
SELECT p.id, q.id, q.mobile FROM person p JOIN pair q ON q.mobile = p.mobile ORDER BY p.id, q.id;

-- ## Encrypted UPDATE and DELETE
UPDATE person SET mobile = ${'13912345678'|'13912345679'} WHERE id = ${1|2};
UPDATE person SET mobile = ${'99'|'98'}, amount = 9 WHERE id = ${1|2};
UPDATE person SET mobile = NULL WHERE id = ${3|4};
UPDATE person AS p SET p.name = ${'Zoe'|'zoe'}, p.code = ${'zz'|NULL} WHERE p.name = ${'berta'|'BERTA'};
UPDATE person SET mobile = DEFAULT WHERE mobile = '13900000000';
UPDATE person SET amount = 7 WHERE mobile IN ('99', '98');
-- @error 1048
UPDATE person SET name = NULL WHERE id = ${1|2};
-- @error 1406
UPDATE person SET name = '123456789012345678901' WHERE id = ${1|2};
SELECT id, mobile, name, code, amount FROM person ORDER BY id;
INSERT INTO person (id, mobile, name) VALUES (${1|2}, '55', 'x'), (${3|4}, '66', 'y') AS new ON DUPLICATE KEY UPDATE mobile = new.mobile, amount = 5;
INSERT INTO person (id, mobile, name) VALUES (${1|2}, '56', 'x') AS new ON DUPLICATE KEY UPDATE mobile = new.mobile;
INSERT INTO person (id, mobile, name) VALUES (${1|2}, '57', 'x') ON DUPLICATE KEY UPDATE name = ${'upd'|'Upd'}, mobile = NULL;
REPLACE INTO person (id, mobile, name) VALUES (${1|2}, ${'13912345678'|'13912345679'}, 'Anna');
SELECT id, mobile, name, amount FROM person WHERE id < 3 ORDER BY id;
DELETE FROM person WHERE mobile = '1';
DELETE FROM person WHERE id = ${9|10} AND mobile = ${'+49 1'|'+49 2'};
DELETE FROM person WHERE name IN ('carola', 'nobody');
SELECT id FROM person ORDER BY id;

-- ## Encrypted transactions
BEGIN;
INSERT INTO person (id, mobile, name) VALUES (${30|31}, '30', 'Tx');
SELECT mobile FROM person WHERE id = ${30|31} FOR UPDATE;
ROLLBACK;
SELECT mobile FROM person WHERE id = ${30|31};

-- ## Encrypted definitions
-- @text
SHOW COLUMNS FROM person;
-- @text
DESCRIBE caller;
-- @text
SHOW CREATE TABLE caller;
-- @once
ALTER TABLE person ADD COLUMN more INT NULL;
-- @once
ALTER TABLE person DROP COLUMN more;
SELECT id, name FROM person ORDER BY id;
TRUNCATE TABLE caller;
SELECT COUNT(*) FROM caller;

-- ## Not supported on encrypted columns
SELECT id FROM person WHERE mobile LIKE '139%';
SELECT id FROM person WHERE mobile > '139' ORDER BY id;
SELECT DISTINCT mobile FROM person;
SELECT id, UPPER(name) FROM person ORDER BY id;
SELECT id FROM person ORDER BY name, id;
SELECT MAX(mobile) FROM person;
SELECT mobile, COUNT(*) FROM person GROUP BY mobile;
SELECT id FROM person WHERE mobile BETWEEN '1' AND '2';
UPDATE person SET code = mobile WHERE id = 1000;
