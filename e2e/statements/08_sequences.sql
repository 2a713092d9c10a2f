-- AUTO_INCREMENT of sharded tables: values from a sequence look like those of one server.
DROP TABLE IF EXISTS pressure_test;
CREATE TABLE pressure_test (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  user_code VARCHAR(64) NOT NULL,
  amount DECIMAL(20,4) NOT NULL DEFAULT 0,
  mobile_cipher CHAR(64) NULL,
  id_card_md5 CHAR(32) NULL,
  create_time DATETIME NULL,
  KEY user (user_code)
);
DROP TABLE IF EXISTS ticket;
CREATE TABLE ticket (id INT UNSIGNED NOT NULL AUTO_INCREMENT, seat VARCHAR(10) NULL, PRIMARY KEY (id));
DROP TABLE IF EXISTS plain_one, plain_two;
CREATE TABLE plain_one (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
CREATE TABLE plain_two (id INT AUTO_INCREMENT PRIMARY KEY, v INT);

-- ## Sequences
-- @once
INSERT INTO plain_one (v) VALUES (1);
SELECT LAST_INSERT_ID();
INSERT INTO ticket (seat) VALUES (${'first'|'second'});
SELECT LAST_INSERT_ID();
-- @once
INSERT INTO plain_two (v) VALUES (1);
SELECT LAST_INSERT_ID();
INSERT INTO pressure_test (user_code, amount) VALUES (${'u1'|'u2'}, ${10.5|20.25});
SELECT LAST_INSERT_ID();
INSERT INTO pressure_test (user_code) VALUES (${'m1'|'n1'}), (${'m2'|'n2'}), (${'m3'|'n3'});
SELECT LAST_INSERT_ID(), LAST_INSERT_ID() + 1 AS next;
INSERT INTO pressure_test (id, user_code) VALUES (NULL, ${'null'|'void'});
INSERT INTO pressure_test (id, user_code) VALUES (DEFAULT, ${'default'|'standard'});
INSERT INTO pressure_test (id, user_code) VALUES (0, ${'zero'|'nought'});
INSERT INTO pressure_test VALUES (NULL, ${'all'|'every'}, 1, NULL, NULL, '2026-01-01 00:00:00');
SELECT id, user_code, amount FROM pressure_test ORDER BY id;
SELECT user_code FROM pressure_test WHERE id = LAST_INSERT_ID();
INSERT INTO pressure_test (id, user_code) VALUES (${1000|2000}, ${'explicit'|'given'});
SELECT LAST_INSERT_ID();
INSERT INTO pressure_test (user_code) VALUES (${'after'|'later'});
SELECT id FROM pressure_test WHERE id > 999 ORDER BY id;
-- @error 1062
INSERT INTO pressure_test (id, user_code) VALUES (${1|2}, 'taken');
SELECT COUNT(*), MIN(id), MAX(id) FROM pressure_test;
INSERT INTO ticket () VALUES ();
INSERT INTO ticket (seat) VALUES (${'1a'|'1b'});
INSERT INTO ticket VALUES (NULL, ${'2a'|'2b'}), (NULL, NULL);
INSERT INTO ticket (id, seat) VALUES (${500|600}, 'x');
INSERT INTO ticket SET seat = ${'3a'|'3b'};
SELECT * FROM ticket ORDER BY id;
SELECT seat FROM ticket WHERE id = ${1|2};
UPDATE pressure_test SET amount = amount + ${1|2} WHERE id = ${1|2};
SELECT id, amount FROM pressure_test WHERE id = ${1|2};
DELETE FROM pressure_test WHERE id = LAST_INSERT_ID();
SELECT COUNT(*) FROM pressure_test WHERE amount > ${0|5};
