-- The session's state: it is the same on whichever shard answers next.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(10) NULL, moment TIMESTAMP NULL);
INSERT INTO item VALUES (1, 'a', '2026-01-01 12:00:00'), (2, 'b', '2026-06-01 12:00:00'), (3, 'c', NULL), (4, 'ä', '2026-12-01 12:00:00');

-- ## USE
USE shop;
SELECT DATABASE();
-- @error 1049
USE no_such_database;
SELECT DATABASE(), COUNT(*) FROM item;
USE mysql;
SELECT DATABASE();
SELECT id FROM shop.item WHERE id = ${1|2};
SELECT id, name FROM shop.item ORDER BY id;
-- @error 1146
SELECT id FROM item WHERE id = 1;
USE `shop`;
SELECT id FROM item ORDER BY id DESC;

-- ## SET
SET time_zone = $['+05:00'|'-03:30'];
SELECT id, moment FROM item ORDER BY id;
SELECT id, moment FROM item WHERE id = ${1|2};
SET @@session.time_zone = 'SYSTEM';
SET NAMES utf8mb4;
SET NAMES latin1;
SELECT @@character_set_client, @@character_set_results, @@collation_connection;
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
SELECT @@collation_connection;
SELECT id FROM item WHERE name = ${'A'|'a'};
SET NAMES utf8mb4;
SET @charset = @@character_set_client;
SET character_set_client = @charset;
SELECT @@character_set_client;
SET character_set_client = 45;
SELECT @@character_set_client;
SET sql_mode = 'ANSI_QUOTES';
SELECT "id" FROM "item" WHERE "id" = ${1|2};
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
SELECT id FROM item WHERE name = 'a\';
SET sql_mode = 'PIPES_AS_CONCAT';
SELECT id FROM item WHERE name = '' || 'a' ORDER BY id;
SET sql_mode = DEFAULT;
SELECT @@sql_mode;
SET SESSION group_concat_max_len = ${100|200}, SESSION sort_buffer_size = 262144;
SELECT @@group_concat_max_len, @@sort_buffer_size;
SET @a = ${1|2};
SELECT @a;
SET @b = (SELECT MAX(id) FROM item);
SELECT id FROM item WHERE id = @a;
-- @error 1193
SET no_such_variable = 1;
-- @error 1231
SET sql_mode = 'NONSENSE';
SET sql_safe_updates = 0, max_execution_time = 0;
SET CHARACTER SET utf8mb4;
SET SESSION sql_select_limit = ${2|DEFAULT};
SELECT id FROM item ORDER BY id;
SET sql_select_limit = DEFAULT;
