-- UPDATE and DELETE by key and without one.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(10) NULL, stock INT NOT NULL DEFAULT 0);
INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5), (6, 'f', 6), (7, NULL, 7), (-8, '', 8);

-- ## UPDATE by key
UPDATE item SET stock = ${10|20} WHERE id = ${1|2};
UPDATE item SET stock = ${10|20} WHERE id = ${1|2};
UPDATE item SET name = ${NULL|'x'}, stock = stock + 1 WHERE id = ${3|4};
UPDATE item SET stock = 1 WHERE id = ${4711|NULL};
UPDATE item AS i SET i.stock = ${7|8} WHERE i.id = ${-8|7};
UPDATE shop.item SET shop.item.stock = ${5|6} WHERE shop.item.id = ${'5'|'6'};
UPDATE item SET stock = stock + ${1|2} WHERE id IN (${1|3}, ${2|5}, 4711);
-- @error 1406
UPDATE item SET name = ${'longer than ten'|'also much longer'} WHERE id = ${1|2};
-- @error 1264
UPDATE item SET stock = ${99999999999|-99999999999} WHERE id = ${1|2};
-- @error 1048
UPDATE item SET stock = NULL WHERE id = ${1|2};
UPDATE item SET stock = stock WHERE id = ${1|2} AND name = ${'a'|'zzz'};
SELECT * FROM item ORDER BY id;

-- ## UPDATE of all shards
UPDATE item SET stock = stock + ${1|2};
UPDATE item SET name = ${'many'|'some'} WHERE stock > ${5|8};
UPDATE item SET name = 'none' WHERE stock > ${1000|2000};
UPDATE item SET stock = 0 WHERE name IS NULL;
UPDATE item SET stock = ${3|4} WHERE id > ${2|5} AND id < ${6|9};
-- @error 1406
UPDATE item SET name = ${'longer than ten'|'also much longer'} WHERE stock >= 0;
-- @error 1054
UPDATE item SET nothing = ${1|2};
-- @error 1054
UPDATE item SET stock = 1 WHERE nothing = ${1|2};
SELECT * FROM item ORDER BY id;

-- ## DELETE by key
DELETE FROM item WHERE id = ${1|2};
DELETE FROM item WHERE id = ${1|2};
DELETE FROM item WHERE id IN (${3|4}, 4711);
DELETE FROM shop.item WHERE id = ${NULL|4711};
DELETE FROM item WHERE id = ${5|6} AND name = ${'wrong'|'nothing'};
DELETE i FROM item AS i WHERE i.id = ${-8|9};
SELECT * FROM item ORDER BY id;

-- ## DELETE of all shards
INSERT INTO item (id, stock) VALUES (${20|30}, 1), (${21|31}, 2), (${22|32}, 3), (${23|33}, 4);
DELETE FROM item WHERE stock = ${2|3};
DELETE FROM item WHERE stock > ${100|200};
DELETE FROM item WHERE id > ${31|22} AND stock < ${2|4};
-- @error 1054
DELETE FROM item WHERE nothing = ${1|2};
SELECT * FROM item ORDER BY id;
DELETE FROM item;
SELECT COUNT(*) FROM item;
