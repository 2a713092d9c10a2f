-- Transactions and savepoints on one shard, and what a session sees of them.
DROP TABLE IF EXISTS account;
CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 200), (3, 300);

-- ## Transactions
BEGIN;
UPDATE account SET balance = balance - ${10|20} WHERE id = 1;
SELECT balance FROM account WHERE id = 1;
COMMIT;
START TRANSACTION;
UPDATE account SET balance = balance + ${5|6} WHERE id = 2;
ROLLBACK;
SELECT balance FROM account WHERE id = ${2|1};
BEGIN WORK;
INSERT INTO account VALUES (${10|11}, 0);
SELECT balance FROM account WHERE id = ${10|11} FOR UPDATE;
COMMIT WORK;
START TRANSACTION READ ONLY;
SELECT balance FROM account WHERE id = ${1|2};
-- @error 1792
UPDATE account SET balance = 0 WHERE id = 1;
COMMIT;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SELECT balance FROM account WHERE id = ${3|2};
ROLLBACK AND NO CHAIN;
SET autocommit = 0;
UPDATE account SET balance = ${1|2} WHERE id = 3;
SELECT @@autocommit;
ROLLBACK;
SELECT balance FROM account WHERE id = 3;
COMMIT;
SET autocommit = 1;
SELECT @@autocommit, @@session.autocommit;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SELECT @@transaction_isolation;
BEGIN;
-- @error 1062
INSERT INTO account VALUES (1, ${1|2});
UPDATE account SET balance = balance + 1 WHERE id = 1;
COMMIT;
SELECT * FROM account ORDER BY id;

-- ## Savepoints
-- @once
BEGIN;
UPDATE account SET balance = balance + ${1|2} WHERE id = 1;
SAVEPOINT one;
UPDATE account SET balance = balance + ${10|20} WHERE id = 1;
SAVEPOINT two;
UPDATE account SET balance = balance + ${100|200} WHERE id = 1;
-- @once
ROLLBACK TO two;
SELECT balance FROM account WHERE id = 1;
-- @once
ROLLBACK TO SAVEPOINT one;
SELECT balance FROM account WHERE id = 1;
-- @error 1305
ROLLBACK TO two;
-- @once
RELEASE SAVEPOINT one;
-- @error 1305
RELEASE SAVEPOINT one;
COMMIT;
SELECT * FROM account WHERE id = 1;
-- @error 1305
ROLLBACK TO SAVEPOINT never;

-- ## Lock time-outs
-- @session b
SET innodb_lock_wait_timeout = 1;
-- @once
BEGIN;
-- @once
UPDATE account SET balance = 7 WHERE id = 1;
-- @session b
-- @error 1205
-- @once
UPDATE account SET balance = 8 WHERE id = 1;
-- @session b
-- @error 1205
-- @once
SELECT balance FROM account WHERE id = 1 FOR UPDATE;
-- @session b
-- @error 3572
SELECT balance FROM account WHERE id = ${1|1} FOR UPDATE NOWAIT;
-- @session b
SELECT balance FROM account WHERE id = ${2|3} FOR UPDATE NOWAIT;
-- @session b
SELECT balance FROM account WHERE id = 1;
-- @session b
-- @error 1205
-- @once
UPDATE account SET balance = balance + 1;
-- @once
COMMIT;
-- @session b
UPDATE account SET balance = balance + 1 WHERE id = ${1|2};
-- @session b
SELECT * FROM account ORDER BY id;

-- ## Transactions
BEGIN;
-- @once
UPDATE account SET balance = balance + 1000 WHERE id = 1;
-- @text
UNLOCK TABLES;
ROLLBACK;
SELECT balance FROM account WHERE id = 1;
BEGIN;
-- @once
UPDATE account SET balance = balance + 1000 WHERE id = 2;
-- @text
UNLOCK TABLES;
ROLLBACK;
SELECT balance FROM account WHERE id = 2;
SET TRANSACTION READ ONLY;
-- (MySQL says so to PREPARE already, for which servers are not asked.)
-- @error 1792
-- @once
-- @text
DELETE FROM account;
SELECT COUNT(*) FROM account;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET TRANSACTION READ ONLY;
SET TRANSACTION READ WRITE;
UPDATE account SET balance = balance + ${1|2};
SELECT * FROM account ORDER BY id;
