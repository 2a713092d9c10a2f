-- What administers one server, where there is one.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(10) NULL);
INSERT INTO item VALUES (1, 'a'), (2, 'b');
DROP TABLE IF EXISTS notes;
CREATE TABLE notes (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20));

-- ## Accounts
DROP USER IF EXISTS visitor@'%';
-- @once
CREATE USER visitor@'%' IDENTIFIED BY 'visitor-secret';
-- @once
GRANT SELECT ON shop.* TO visitor@'%';
-- @once
SHOW GRANTS FOR visitor@'%';
-- @once
ALTER USER visitor@'%' COMMENT ${'a'|'b'};
-- @once
SET PASSWORD FOR visitor@'%' = 'another-secret';
-- @once
REVOKE SELECT ON shop.* FROM visitor@'%';
-- @once
RENAME USER visitor@'%' TO guest@'%';
-- @once
DROP USER guest@'%';
-- @error 1396
DROP USER guest@'%';
-- @error 1141
SHOW GRANTS FOR nobody@'%';

-- ## SET GLOBAL
SET GLOBAL max_connect_errors = ${4242|4243};
SELECT @@GLOBAL.max_connect_errors;
SHOW GLOBAL VARIABLES LIKE 'max_connect_errors';
SET @@GLOBAL.max_connect_errors = DEFAULT, @x = ${1|2}, SESSION group_concat_max_len = 2000;
SELECT @@GLOBAL.max_connect_errors, @x, @@group_concat_max_len;
SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ;
-- @error 1229
SET SESSION max_connect_errors = 1;
-- @error 1193
SET GLOBAL no_such_variable = 1;
-- @session b
SELECT @@wait_timeout;
SET GLOBAL wait_timeout = 12345;
-- @session c
SELECT @@SESSION.wait_timeout;
SET GLOBAL wait_timeout = DEFAULT;

-- ## XA
-- @once
XA START 'client';
-- @once
UPDATE item SET name = 'xa' WHERE id = 1;
-- @error 1399
-- @once
COMMIT;
-- @error 1399
-- @once
BEGIN;
-- @once
XA END 'client';
-- @once
XA PREPARE 'client';
-- @once
SELECT name FROM item WHERE id = 2;
-- @once
XA RECOVER;
-- @once
XA COMMIT 'client';
SELECT name FROM item WHERE id = 1;
-- @error 1397
XA COMMIT 'client';
-- @once
XA BEGIN 'one';
-- @once
INSERT INTO notes (v) VALUES ('x');
-- @once
XA END 'one';
-- @once
XA COMMIT 'one' ONE PHASE;
SELECT v FROM notes;
-- @once
XA START 'two';
-- @once
DELETE FROM item;
-- @once
XA END 'two';
-- @once
XA ROLLBACK 'two';
SELECT COUNT(*) FROM item;

-- ## SHOW of the server
SHOW STATUS LIKE 'ssl_cipher';
SHOW SESSION STATUS LIKE 'Ssl_version';
SHOW STATUS LIKE 'Ssl_client_connects_no_such';
SELECT COUNT(*) > 0 FROM performance_schema.threads;
LOCK INSTANCE FOR BACKUP;
UNLOCK INSTANCE;

SHOW SESSION STATUS LIKE 'Com_stmt_close';
SHOW SESSION STATUS LIKE 'Com_stmt_no_such';

-- ## Character sets
SET NAMES gbk;
SELECT @@character_set_client, HEX('a'), name FROM item WHERE id = ${1|2};
SET NAMES sjis;
SELECT 'it\'s', "a" FROM notes;
SET NAMES utf8mb4;
