-- PREPARE, EXECUTE and DEALLOCATE PREPARE in SQL: each EXECUTE goes where its values say.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(10) NULL, amount DECIMAL(10,2) NULL);
INSERT INTO item VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, 'c', NULL), (4, 'ä', 4);
DROP TABLE IF EXISTS notes;
CREATE TABLE notes (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20));

-- ## Reads
PREPARE one FROM 'SELECT id, name, amount FROM item WHERE id = ?';
SET @id = ${1|2};
EXECUTE one USING @id;
SET @id = '3';
EXECUTE one USING @id;
SET @id = NULL;
EXECUTE one USING @id;
SET @id = 1e0;
EXECUTE ONE USING @id;
EXECUTE `one` USING @never_set;
PREPARE two FROM "SELECT id, ? AS given FROM item WHERE id IN (?, ?) ORDER BY id";
SET @a = ${1|3}, @b = ${4|2}, @text = ${'x'|'y''z'};
EXECUTE two USING @text, @a, @b;
EXECUTE two USING @a, @b, @b;
PREPARE every FROM 'SELECT COUNT(*), SUM(amount) FROM item WHERE amount > ?';
SET @least = ${1|2.25};
EXECUTE every USING @least;
PREPARE none FROM 'SELECT MAX(id) FROM item';
EXECUTE none;
PREPARE some FROM 'SELECT id FROM item ORDER BY id LIMIT ?, ?';
SET @skip = 1, @count = 2;
EXECUTE some USING @skip, @count;
PREPARE plain FROM 'SELECT ? / 3, ? + 1, CONCAT(?, ?)';
SET @n = 10, @d = 1.50, @s = 'é', @f = 2.5e0;
EXECUTE plain USING @n, @d, @s, @f;

-- ## The text of a variable
SET @sql = CONCAT('SELECT name FROM item WHERE id ', '= ', ${2|1});
PREPARE made FROM @sql;
EXECUTE made;
SET @sql = 'SELECT ''ä'', HEX(name) FROM item WHERE id = 4';
PREPARE made FROM @sql;
EXECUTE made;
SET @sql = NULL;
-- @error 1064
PREPARE made FROM @sql;
-- @error 1243
EXECUTE made;
SELECT COUNT(*) INTO @counted FROM notes;
PREPARE counted FROM 'SELECT id FROM item WHERE id > ? ORDER BY id';
EXECUTE counted USING @counted;

-- ## Writes
PREPARE put FROM 'INSERT INTO item VALUES (?, ?, ?)';
SET @id = ${10|11}, @name = ${'ten'|'eleven'}, @amount = 10.10;
-- @once
EXECUTE put USING @id, @name, @amount;
SELECT ROW_COUNT();
-- @error 1062
EXECUTE put USING @id, @name, @amount;
SELECT id, name, amount FROM item WHERE id = ${10|11};
PREPARE raise FROM 'UPDATE item SET amount = amount + ? WHERE id > ?';
SET @add = 1, @from = 2;
EXECUTE raise USING @add, @from;
SELECT ROW_COUNT();
SELECT id, amount FROM item ORDER BY id;
BEGIN;
PREPARE gone FROM 'DELETE FROM item WHERE id = ?';
EXECUTE gone USING @id;
SELECT COUNT(*) FROM item;
ROLLBACK;
SELECT COUNT(*) FROM item;
PREPARE note FROM 'INSERT INTO notes (v) VALUES (?)';
SET @v = ${'first'|'second'};
EXECUTE note USING @v;
SELECT LAST_INSERT_ID(), ROW_COUNT();
SELECT * FROM notes ORDER BY id;

-- ## Other statements
PREPARE setting FROM 'SET @x = ?';
SET @y = ${5|6};
EXECUTE setting USING @y;
SELECT @x;
PREPARE made FROM 'CREATE TABLE IF NOT EXISTS made_by_name (n INT)';
-- @once
EXECUTE made;
PREPARE made FROM 'DROP TABLE made_by_name';
-- @once
EXECUTE made;
-- @error 1051
EXECUTE made;
PREPARE begin_it FROM 'COMMIT';
EXECUTE begin_it;

-- ## Warnings
SET sql_mode = '';
PREPARE narrow FROM 'SELECT CAST(? AS SIGNED)';
SET @v = '1x';
EXECUTE narrow USING @v;
SET @v = '22y';
EXECUTE narrow USING @v;

-- ## Names and their ends
SET sql_mode = DEFAULT;
PREPARE s FROM 'SELECT 1';
EXECUTE S;
-- @once
DEALLOCATE PREPARE s;
-- @error 1243
DEALLOCATE PREPARE s;
-- @error 1243
EXECUTE s;
-- @error 1243
EXECUTE nobody USING @a;
PREPARE s FROM 'SELECT ?';
-- @error 1210
EXECUTE s;
-- @error 1210
EXECUTE s USING @a, @b;
-- @error 1064
PREPARE s FROM 'SELEC 1';
-- @error 1243
DROP PREPARE s;
-- @error 1064
PREPARE s FROM 'SELECT 1; SELECT 2';
-- @error 1295
PREPARE s FROM 'PREPARE t FROM ''SELECT 1''';
-- @error 1146
PREPARE s FROM 'SELECT * FROM nowhere';
-- @error 1064
PREPARE FROM 'SELECT 1';
-- @error 1064
EXECUTE s USING 1;
