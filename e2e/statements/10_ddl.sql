-- DDL reaches every shard and every physical table, and answers as for one table.
DROP TABLE IF EXISTS ddl_table;
DROP TABLE IF EXISTS plain_table;

-- ## CREATE TABLE
-- @once
CREATE TABLE ddl_table (id BIGINT NOT NULL, name VARCHAR(20) DEFAULT 'x', PRIMARY KEY (id)) COMMENT = 'rows of a test' /*!50100 ENGINE = InnoDB */ ;
-- @error 1050
CREATE TABLE ddl_table (id BIGINT NOT NULL PRIMARY KEY);
CREATE TABLE IF NOT EXISTS ddl_table (id BIGINT NOT NULL PRIMARY KEY);
-- @once
CREATE TABLE plain_table (id INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v)) /*! ENGINE = innodb */ ;
-- @error 1050
CREATE TABLE plain_table (id INT);
SHOW CREATE TABLE ddl_table;
SHOW CREATE TABLE plain_table;
INSERT INTO ddl_table (id) VALUES (${1|2}), (${3|4});
SELECT * FROM ddl_table ORDER BY id;

-- ## ALTER TABLE and indexes
-- @once
ALTER TABLE ddl_table ADD COLUMN extra INT NULL;
-- @once
/*!40000 ALTER TABLE ddl_table DISABLE KEYS */;
-- @once
/*!40000 ALTER TABLE ddl_table ENABLE KEYS */;
SELECT * FROM ddl_table ORDER BY id;
-- @once
ALTER TABLE ddl_table ADD INDEX by_name (name), ALTER COLUMN extra SET DEFAULT 5;
INSERT INTO ddl_table (id) VALUES (${10|11});
SELECT * FROM ddl_table ORDER BY id;
-- @error 1060
ALTER TABLE ddl_table ADD COLUMN extra INT NULL;
-- @error 1061
ALTER TABLE ddl_table ADD INDEX by_name (name);
-- @once
CREATE INDEX by_extra ON ddl_table (extra);
-- @error 1061
CREATE INDEX by_extra ON ddl_table (extra);
-- @once
DROP INDEX by_extra ON ddl_table;
-- @error 1091
DROP INDEX by_extra ON ddl_table;
-- @once
ALTER TABLE ddl_table RENAME COLUMN extra TO more, MODIFY COLUMN name VARCHAR(30) NOT NULL DEFAULT 'y';
SELECT id, more, name FROM ddl_table WHERE id = ${1|10};
SHOW CREATE TABLE ddl_table;
SHOW INDEX FROM plain_table;
-- @error 1146
ALTER TABLE no_such_table ADD COLUMN x INT;
-- @once
ALTER TABLE plain_table ADD COLUMN w INT DEFAULT 3;
INSERT INTO plain_table (v) VALUES (${1|2});
SELECT * FROM plain_table ORDER BY id;

-- ## TRUNCATE and DROP TABLE
TRUNCATE TABLE ddl_table;
SELECT COUNT(*) FROM ddl_table;
TRUNCATE plain_table;
-- @error 1146
TRUNCATE TABLE no_such_table;
-- @once
DROP TABLE ddl_table;
-- @error 1051
DROP TABLE ddl_table;
DROP TABLE IF EXISTS ddl_table;
-- @error 1146
SELECT * FROM ddl_table;
-- @error 1146
INSERT INTO ddl_table (id) VALUES (${1|2});
-- @once
DROP TABLE plain_table;
-- @error 1146
SELECT * FROM plain_table;
-- @once
CREATE TABLE ddl_table (id BIGINT NOT NULL PRIMARY KEY, fresh VARCHAR(5));
SELECT * FROM ddl_table;
INSERT INTO ddl_table VALUES (${1|2}, ${'a'|'b'});
SELECT * FROM ddl_table ORDER BY id;
