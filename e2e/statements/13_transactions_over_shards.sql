-- Transactions whose rows are on several shards and physical tables, beside one server.
DROP TABLE IF EXISTS account;
CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 200), (3, 300), (4, 400), (5, 500), (6, 600), (7, 700), (8, 800);

-- ## Transactions over shards
BEGIN;
-- @once
UPDATE account SET balance = balance - 10 WHERE id = 1;
-- @once
UPDATE account SET balance = balance + 10 WHERE id = 2;
-- @once
UPDATE account SET balance = balance + 10 WHERE id IN (3, 4, 5);
SELECT * FROM account ORDER BY id;
SELECT SUM(balance), COUNT(*) FROM account;
SELECT * FROM account WHERE id IN (${1|2}, ${3|4}, ${5|6}) ORDER BY id FOR UPDATE;
-- @session b
SELECT * FROM account ORDER BY id;
COMMIT;
-- @session b
SELECT * FROM account ORDER BY id;
START TRANSACTION;
-- @once
DELETE FROM account WHERE id IN (1, 2, 3, 4);
-- @once
INSERT INTO account VALUES (11, 1), (12, 2), (13, 3), (14, 4), (15, 5);
SELECT COUNT(*) FROM account;
ROLLBACK;
SELECT * FROM account ORDER BY id;
-- @once
BEGIN;
-- @once
UPDATE account SET balance = balance * 2;
-- @once
ROLLBACK AND CHAIN;
-- @once
UPDATE account SET balance = balance + 1;
-- @once
COMMIT AND CHAIN;
-- @once
UPDATE account SET balance = balance + 1000;
-- @once
ROLLBACK;
SELECT * FROM account ORDER BY id;
BEGIN;
-- @once
REPLACE INTO account VALUES (1, 9), (2, 9), (21, 9), (22, 9);
-- @once
INSERT IGNORE INTO account VALUES (1, 8), (2, 8), (23, 8), (24, 8);
-- @once
INSERT INTO account VALUES (1, 7), (2, 7), (25, 7) ON DUPLICATE KEY UPDATE balance = balance + VALUES(balance);
SELECT * FROM account ORDER BY id DESC LIMIT 5;
COMMIT;

-- ## Statements that fail in a transaction over shards
BEGIN;
-- @once
UPDATE account SET balance = balance + 1 WHERE id IN (1, 2, 3, 4, 5, 6);
-- @error 1062
-- @once
INSERT INTO account VALUES (31, 1), (32, 1), (33, 1), (34, 1), (8, 1);
-- @error 1264
-- @once
UPDATE account SET balance = 2147483647 + id WHERE id > 4;
-- @error 1048
-- @once
INSERT INTO account VALUES (41, 1), (42, 1), (43, NULL);
-- @error 1054
SELECT nothing FROM account ORDER BY id;
SELECT * FROM account ORDER BY id;
COMMIT;
SELECT * FROM account ORDER BY id;

-- ## Savepoints over shards
-- @once
BEGIN;
-- @once
UPDATE account SET balance = 1 WHERE id = 1;
-- @once
SAVEPOINT one;
-- @once
UPDATE account SET balance = 2 WHERE id IN (1, 2, 3, 4, 5, 6, 7, 8);
-- @once
SAVEPOINT two;
-- @once
DELETE FROM account;
-- @once
ROLLBACK TO two;
SELECT * FROM account ORDER BY id;
-- @once
ROLLBACK TO SAVEPOINT one;
SELECT * FROM account ORDER BY id;
-- @error 1305
ROLLBACK TO two;
-- @once
RELEASE SAVEPOINT ONE;
-- @error 1305
RELEASE SAVEPOINT one;
-- @once
COMMIT;
SELECT * FROM account ORDER BY id;

-- ## Without autocommit over shards
SET autocommit = 0;
SELECT COUNT(*) FROM account;
-- @once
UPDATE account SET balance = balance + 1;
-- @session b
SELECT * FROM account ORDER BY id;
ROLLBACK;
-- @once
UPDATE account SET balance = balance + 3;
-- @once
SET autocommit = 1;
-- @session b
SELECT * FROM account ORDER BY id;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- @once
BEGIN;
SELECT * FROM account ORDER BY id;
-- @session b
-- @once
UPDATE account SET balance = balance + 5;
SELECT * FROM account ORDER BY id;
-- @once
COMMIT;
-- @once
START TRANSACTION READ ONLY;
SELECT * FROM account ORDER BY id;
-- @error 1792
UPDATE account SET balance = 0;
-- @error 1792
DELETE FROM account WHERE id = ${1|2};
SELECT SUM(balance) FROM account;
-- @once
COMMIT;

-- ## Lock time-outs over shards
-- @session b
SET innodb_lock_wait_timeout = 1;
-- @once
BEGIN;
-- @once
UPDATE account SET balance = 7 WHERE id IN (1, 2, 3, 4);
-- @session b
-- @once
BEGIN;
-- @session b
-- @once
UPDATE account SET balance = 8 WHERE id IN (5, 6, 7, 8);
-- @session b
-- @error 1205
-- @once
UPDATE account SET balance = 8 WHERE id IN (1, 2, 3, 4);
-- @session b
SELECT * FROM account ORDER BY id;
-- @once
COMMIT;
-- @session b
-- @once
UPDATE account SET balance = 8 WHERE id IN (1, 2, 3, 4);
-- @session b
-- @once
COMMIT;
SELECT * FROM account ORDER BY id;
