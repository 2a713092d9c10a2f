-- GET DIAGNOSTICS: what the last statement said, wherever it ran.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(10) NULL);
INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, '1x');

-- ## GET DIAGNOSTICS
-- @text
SELECT ${1|2} / 0;
-- @text
GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT;
-- @text
SELECT @n, @r;
-- @text
SET sql_mode = '';
-- @text
INSERT INTO item VALUES (${4|5}, 'far too long for it');
-- @text
GET DIAGNOSTICS @n = NUMBER;
-- @text
GET DIAGNOSTICS CONDITION 1 @code = MYSQL_ERRNO, @text = MESSAGE_TEXT;
-- @text
SELECT @n, @code, @text;
-- @error 1054
-- @text
SELECT nothing FROM item WHERE id = 1;
-- @text
GET CURRENT DIAGNOSTICS CONDITION 1 @code = MYSQL_ERRNO, @text = MESSAGE_TEXT, @state = RETURNED_SQLSTATE, @class = CLASS_ORIGIN, @table = TABLE_NAME;
-- @text
SELECT @code, @state, @class, @table;
-- @error 1146
-- @text
SELECT * FROM nowhere WHERE id = 1;
-- @text
GET DIAGNOSTICS CONDITION 1 @text = MESSAGE_TEXT;
-- @text
SELECT @text;
-- @text
UPDATE item SET name = 'c' WHERE id IN (1, 2);
-- @text
GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT;
-- @text
SELECT @n, @r > 0;
-- @error 3004
-- @text
GET STACKED DIAGNOSTICS @n = NUMBER;
-- @error 1064
-- @text
GET DIAGNOSTICS CONDITION 1;
-- @error 1643
-- @text
SIGNAL SQLSTATE '02000';
-- @error 5000
-- @text
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stop', MYSQL_ERRNO = 5000;
-- @text
GET DIAGNOSTICS CONDITION 1 @code = MYSQL_ERRNO, @text = MESSAGE_TEXT;
-- @text
SELECT @code, @text;
-- @text
SET @which = 1;
-- @text
SELECT 1 / 0;
-- @text
GET DIAGNOSTICS CONDITION @which @code = MYSQL_ERRNO;
-- @text
SELECT @code;
-- @text
GET DIAGNOSTICS @n = NUMBER;
-- @text
SELECT @n;
-- @text
SET sql_mode = DEFAULT;

-- ## Stored programs
DROP PROCEDURE IF EXISTS several;
-- @once
CREATE PROCEDURE several(IN n INT, OUT twice INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN SET i = -1; END; SET twice = n * 2; WHILE i < n DO SET i = i + 1; IF i = 2 THEN SELECT 'two' AS it; ELSEIF i = 3 THEN BEGIN SELECT 'three' AS it; END; END IF; END WHILE; END;
-- @once
CALL several(${1|2}, @twice);
SELECT @twice;
-- @once
DROP PROCEDURE several;
DROP FUNCTION IF EXISTS of_it;
-- @once
CREATE FUNCTION of_it(n INT) RETURNS VARCHAR(20) CHARACTER SET latin1 DETERMINISTIC BEGIN DECLARE x INT; SET x = CASE WHEN n > 1 THEN 5 ELSE 6 END; RETURN x; END;
-- @once
SELECT of_it(${1|2});
-- @once
DROP FUNCTION of_it;
CREATE TABLE IF NOT EXISTS watched (n INT);
DROP TRIGGER IF EXISTS watch;
-- @once
CREATE TRIGGER watch BEFORE INSERT ON watched FOR EACH ROW BEGIN IF NEW.n < 0 THEN SET NEW.n = 0; END IF; SET @seen = NEW.n; END;
INSERT INTO watched VALUES (${-1|5});
SELECT @seen;
