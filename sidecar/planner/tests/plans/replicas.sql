-- plain reads
SELECT * FROM orders WHERE id = 7
SELECT COUNT(*), SUM(amount) FROM orders
SELECT id FROM orders WHERE id IN (?, ?) ORDER BY id LIMIT 3
SELECT o.id, p.kind FROM orders o JOIN payment p ON p.order_id = o.id WHERE o.id = 7
SELECT * FROM country
SELECT * FROM elsewhere WHERE a = 1
TABLE elsewhere
VALUES ROW(1, 2)
(SELECT id FROM orders WHERE id = 7)
WITH x AS (SELECT id FROM orders WHERE id = 7) SELECT * FROM x
WITH x (a, b) AS (SELECT 1, 2) SELECT * FROM x
SELECT t.a FROM (SELECT 1) AS t (a)
SELECT 1
SELECT NOW(), UUID(), RAND(), DATABASE(), VERSION()
SELECT CAST(amount AS DECIMAL(10, 2)), CONVERT(note USING utf8mb4) FROM orders WHERE id = 7
SELECT SLEEP(1)
SELECT ST_AsText(POINT(1, 2)), JSON_EXTRACT('{}', '$.a')
SELECT ROW_NUMBER() OVER (ORDER BY id) FROM orders WHERE id = 7
SELECT id FROM orders WHERE id = 7 AND EXISTS (SELECT 1 FROM payment WHERE order_id = 7)
SELECT id FROM elsewhere UNION ALL SELECT id FROM elsewhere
SELECT /*+ MAX_EXECUTION_TIME(100) */ id FROM orders WHERE id = 7
SELECT lookup(a) FROM elsewhere
SELECT Lookup(1)

-- locking reads and reads into something
SELECT * FROM orders WHERE id = 7 FOR UPDATE
SELECT * FROM orders WHERE id = 7 FOR SHARE
SELECT * FROM orders WHERE id = 7 LOCK IN SHARE MODE
SELECT a INTO @x FROM elsewhere
SELECT a INTO OUTFILE '/tmp/x' FROM elsewhere
SELECT SQL_CALC_FOUND_ROWS a FROM elsewhere
SELECT id FROM orders WHERE id = 7 AND id = @x
SELECT @x := a FROM elsewhere

-- what tells of one session or one server
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID(7)
SELECT ROW_COUNT(), FOUND_ROWS(), CONNECTION_ID()
SELECT GET_LOCK('a', 1)
SELECT RELEASE_LOCK('a')
SELECT IS_FREE_LOCK('a'), IS_USED_LOCK('a'), RELEASE_ALL_LOCKS()
SELECT @@hostname
SELECT @@session.sql_mode, @@max_allowed_packet, @@socket
SELECT @@session.sql_mode, @@server_id
SELECT @@GLOBAL.gtid_executed
SELECT @@warning_count
SELECT UUID_SHORT()
SELECT LOAD_FILE('/etc/hosts')
SELECT * FROM information_schema.processlist
SELECT * FROM performance_schema.threads
SELECT * FROM `mysql`.user
SELECT * FROM sys.version
SHOW TABLES
SHOW STATUS
DESCRIBE orders
EXPLAIN SELECT 1

-- stored functions, but for those that the manifest declares
SELECT stored(1)
SELECT shop.stored(a) FROM elsewhere
SELECT shop.abs(a) FROM elsewhere
SELECT shop.lookup(a) FROM elsewhere
SELECT `stored`(1)
INSERT INTO elsewhere (a) VALUES (stored(1))
UPDATE elsewhere SET a = stored(1)
DO stored(1)
DO SLEEP(1)
CALL stored()

-- writes
INSERT INTO orders (id, customer) VALUES (1, 'a')
INSERT INTO elsewhere (a, b) VALUES (1, ABS(2)) ON DUPLICATE KEY UPDATE a = VALUES(a)
INSERT INTO elsewhere SELECT * FROM elsewhere
REPLACE INTO elsewhere (a) VALUES (1)
UPDATE orders SET note = 'a' WHERE id = 7
DELETE FROM orders WHERE id = 7
WITH x AS (SELECT 1) UPDATE elsewhere SET a = 1
WITH x AS (SELECT 1) DELETE FROM elsewhere
CREATE TABLE elsewhere (a INT)
CREATE TEMPORARY TABLE scratch (a INT)
DROP TEMPORARY TABLE scratch
LOCK TABLES elsewhere READ
HANDLER elsewhere OPEN
SET @x = 1
BEGIN
COMMIT

-- hints
/* remora: replica */ SELECT * FROM orders WHERE id = 7
/*remora:primary*/ SELECT * FROM orders WHERE id = 7
SELECT /* remora: primary */ * FROM orders WHERE id = 7
SELECT * FROM orders WHERE id = 7 /* remora: primary */
/* remora: replica */ UPDATE orders SET note = 'a' WHERE id = 7
SELECT * FROM orders WHERE note = '/* remora: replica */' AND id = 7
