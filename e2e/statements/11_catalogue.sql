-- What a session may ask about the server, the tables and itself: logical names only.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40) NULL COMMENT 'what it is called', price DECIMAL(10,2) DEFAULT 1.50, KEY by_name (name));
DROP TABLE IF EXISTS country;
CREATE TABLE country (code CHAR(2) NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL);
DROP TABLE IF EXISTS note;
CREATE TABLE note (id INT NOT NULL PRIMARY KEY, text VARCHAR(100) NULL);

-- ## DESCRIBE and SHOW
DESCRIBE item;
DESC item name;
EXPLAIN country;
SHOW COLUMNS FROM item;
SHOW FULL COLUMNS FROM item;
SHOW COLUMNS FROM item LIKE $['n%'|'p%'];
SHOW COLUMNS FROM item FROM shop WHERE Field = ${'id'|'name'};
SHOW FIELDS IN note;
SHOW CREATE TABLE item;
SHOW CREATE TABLE country;
SHOW CREATE TABLE note;
SHOW TABLES LIKE $['item'|'note'];
SHOW TABLES FROM shop LIKE $['country'|'nothing'];
SHOW FULL TABLES LIKE $['item'|'note'];
-- @text
SHOW DATABASES LIKE $['shop%'|'remora'];
-- @text
SHOW DATABASES LIKE 'shop__00%';
-- @error 1146
DESCRIBE no_such_table;
-- @error 1146
SHOW CREATE TABLE no_such_table;
SHOW VARIABLES LIKE $['version'|'lower_case_table_names'];
SHOW SESSION VARIABLES LIKE $['sql_mode'|'time_zone'];
-- @text
SHOW WARNINGS;
-- @text
SHOW ERRORS;
-- @text
SHOW COUNT(*) WARNINGS;
SHOW CHARACTER SET LIKE $['utf8mb4'|'latin1'];
SHOW COLLATION LIKE $['utf8mb4_bin'|'utf8mb4_0900_ai_ci'];

-- ## Metadata
SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.tables WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = ${'item'|'note'};
SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE FROM information_schema.columns WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = ${'country'|'item'} ORDER BY ORDINAL_POSITION;
SELECT SCHEMA_NAME FROM information_schema.schemata WHERE SCHEMA_NAME LIKE ${'shop%'|'mysql%'};
SELECT id AS a, name AS `b c`, price, id + 1, 'x', NULL FROM item WHERE id = ${1|2};
SELECT i.*, 1 AS one FROM item i WHERE id < ${0|1};
SELECT * FROM item;
SELECT COUNT(*), MAX(name), SUM(price), AVG(price), MIN(id) FROM item;
SELECT name, COUNT(*) FROM item GROUP BY name;
SELECT DISTINCT name, price FROM item;
SELECT name FROM country WHERE code = ${'xx'|'yy'};

-- ## The session and constants
SELECT 1;
SELECT ${1|2} + ${1|2} AS two, ${'x'|'y'} AS word;
SELECT DATABASE(), SCHEMA();
SELECT USER(), CURRENT_USER();
SELECT VERSION();
SELECT @@version_comment LIMIT 1;
SELECT @@sql_mode, @@time_zone, @@character_set_client, @@collation_connection;
SELECT @@max_allowed_packet, @@wait_timeout;
-- @error 1193
SELECT @@session.tx_isolation_does_not_exist IS NULL FROM item LIMIT 0;
SELECT NULL, TRUE, 1.5, 'a', x'41', _latin1'b';
SELECT 1 FROM DUAL;
SELECT CONCAT('a', ${'b'|'c'}), LENGTH(${'ä'|'ß'}), DATE '2026-01-01' + INTERVAL 1 DAY;
SELECT FOUND_ROWS();
SELECT ROW_COUNT();
DO 1;
/* a comment before */ SELECT 1;
SELECT 1 -- a comment after
;
SELECT /*!80000 2, */ 1;
-- @error 1065 1064
;
