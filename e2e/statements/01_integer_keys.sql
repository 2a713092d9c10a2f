-- Sharding by the hash of an integer key: every way to write the key finds the row that MySQL finds.
DROP TABLE IF EXISTS item;
CREATE TABLE item (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(40) NOT NULL DEFAULT '',
  price DECIMAL(10,2) NULL,
  stock INT NULL
);
DROP TABLE IF EXISTS unsigned_key;
CREATE TABLE unsigned_key (k BIGINT UNSIGNED NOT NULL PRIMARY KEY, v INT NULL);
DROP TABLE IF EXISTS small_key;
CREATE TABLE small_key (k SMALLINT NULL, v INT NOT NULL, KEY (k));
INSERT INTO item VALUES (0, 'zero', 0.00, 0), (1, 'one', 1.50, 10), (2, 'two', 2.25, NULL), (3, '', NULL, 7);
INSERT INTO item VALUES (-1, 'minus one', -1.00, 1), (-5, 'minus five', 5.05, 2), (17, 'seventeen', 17.17, 17);
INSERT INTO item VALUES (9223372036854775807, 'largest', 9.99, 9), (-9223372036854775808, 'least', 8.88, 8);
INSERT INTO unsigned_key VALUES (0, 0), (1, 1), (9223372036854775808, 2), (18446744073709551615, 3);
INSERT INTO small_key VALUES (1, 1), (1, 2), (-32768, 3), (32767, 4), (NULL, 5), (NULL, 6);

-- ## Hash of an integer key
SELECT * FROM item WHERE id = ${1|2};
SELECT name, price FROM item WHERE id = ${-1|-5};
SELECT id, stock FROM item WHERE id = ${9223372036854775807|-9223372036854775808};
SELECT * FROM item WHERE id = ${4711|0};
SELECT i.id, i.name AS called FROM item AS i WHERE i.id = ${3|17};
SELECT shop.item.id FROM shop.item WHERE shop.item.id = ${17|1};
SELECT * FROM item WHERE id IN (${1|2}, ${3|17}, ${4711|-1}) ORDER BY id;
SELECT * FROM item WHERE id IN (${1|0}, NULL) ORDER BY id;
SELECT id FROM item WHERE id = ${1|2} OR id = ${3|-5} ORDER BY id;
SELECT id FROM item WHERE ${1|2} = id;
SELECT id FROM item WHERE id = ${1|2} AND name = ${'one'|'one'};
SELECT id FROM item WHERE id = ${1|2} AND id = ${2|2};
SELECT `id`, `name` FROM `item` WHERE `id` = ${1|17} FOR UPDATE;

-- ## NULL keys
SELECT * FROM item WHERE id = ${NULL|1};
SELECT * FROM item WHERE id IS NULL;
SELECT k, v FROM small_key WHERE k IS NULL ORDER BY v;
SELECT k, v FROM small_key WHERE k <=> ${NULL|1} ORDER BY v;
SELECT k, v FROM small_key WHERE k IN (NULL);
SELECT COUNT(*) FROM small_key WHERE k IS NOT NULL AND v > ${0|2};
INSERT INTO small_key VALUES (${NULL|7}, ${7|8});
-- @error 1048
INSERT INTO item (id, name) VALUES (${NULL|NULL}, 'no key');
UPDATE small_key SET v = v + 10 WHERE k IS NULL;
DELETE FROM small_key WHERE k IS NULL AND v = ${15|16};
SELECT k, v FROM small_key ORDER BY v;

-- ## Unsigned keys
SELECT * FROM unsigned_key WHERE k = ${18446744073709551615|9223372036854775808};
SELECT * FROM unsigned_key WHERE k = ${0|1};
SELECT * FROM unsigned_key WHERE k = ${-1|1};
SELECT * FROM unsigned_key WHERE k IN (${18446744073709551615|1}, ${0|9223372036854775808}) ORDER BY k;
SELECT * FROM unsigned_key WHERE k > ${9223372036854775807|0} ORDER BY k;
-- @error 1264
INSERT INTO unsigned_key VALUES (${-1|-2}, 4);
INSERT INTO unsigned_key VALUES (${18446744073709551614|18446744073709551613}, 5);
UPDATE unsigned_key SET v = ${6|7} WHERE k = ${18446744073709551614|18446744073709551613};
SELECT * FROM unsigned_key ORDER BY k DESC;

-- ## Constants converted to an integer key
SELECT id FROM item WHERE id = ${'1'|'2'};
SELECT id FROM item WHERE id = ${'01'|'0017'};
SELECT id FROM item WHERE id = 1.0;
SELECT id FROM item WHERE id = 1.4;
SELECT id FROM item WHERE id = 0x11;
SELECT id FROM item WHERE id = TRUE;
SELECT id FROM item WHERE id = FALSE;
SELECT id FROM item WHERE id = 1e0;
SELECT id FROM item WHERE id = ${' 1'|'2 '};
SELECT id FROM item WHERE id = -0;
SELECT id FROM item WHERE id = - 5;
SELECT id FROM item WHERE id = +17;
SELECT id FROM item WHERE id = b'11';
SELECT id FROM item WHERE id = ${'one'|'1x'} ORDER BY id;
SELECT id FROM item WHERE id IN (${'1'|'2'}, ${3|17}) ORDER BY id;
SELECT id FROM item WHERE id = 1 + 1;
SELECT id FROM item WHERE id = ${99999999999999999999|1};
-- @error 1264
INSERT INTO item (id) VALUES (9223372036854775808);
-- @error 1366
INSERT INTO item (id) VALUES (${'abc'|'xyz'});
INSERT INTO item (id, name) VALUES (${'100'|'101'}, 'by a string');
-- @error 1265
INSERT INTO item (id, name) VALUES (${'100x'|'101x'}, 'by half a number');
SELECT * FROM item WHERE id IN (100, 101) ORDER BY id;

-- ## Conditions that hold no key
SELECT id FROM item WHERE name = ${'one'|'two'};
SELECT id FROM item WHERE stock IS NULL;
SELECT id FROM item WHERE id > ${2|-2} AND id < ${18|2} ORDER BY id;
SELECT id FROM item WHERE id BETWEEN ${-1|1} AND ${1|3} ORDER BY id;
SELECT id FROM item WHERE id <> ${1|2} ORDER BY id;
SELECT id FROM item WHERE NOT id = ${1|2} ORDER BY id;
SELECT id FROM item WHERE id = ${1|2} OR name = ${'two'|'one'} ORDER BY id;
SELECT id FROM item WHERE id = ${1|2} OR ${0|0} ORDER BY id;
SELECT id FROM item WHERE id = ${1|2} OR ${1|1} ORDER BY id;
SELECT id FROM item WHERE id = ${1|2} XOR id = ${1|3} ORDER BY id;
SELECT id FROM item WHERE name LIKE ${'%one'|'minus%'} ORDER BY id;
SELECT id FROM item WHERE id + 0 = ${1|2};
SELECT id FROM item WHERE id = ${1|2} AND name = 'o' || 'ne' ORDER BY id;
SELECT id FROM item WHERE (id, name) = (${1|2}, ${'one'|'two'});

-- ## Version comments
SELECT id FROM item WHERE id = ${1|2} /*!80000 AND 1 = 1 */;
SELECT id FROM item WHERE id = ${1|2} /*!80000 AND name = 'no such name' */ ;
SELECT id FROM item WHERE id = ${1|2} /*!99999 AND 1 = 0 */;
/*!50003 SELECT id FROM item WHERE id = ${1|2} */;
SELECT /*!40001 SQL_NO_CACHE */ id FROM item WHERE id = ${1|2};
UPDATE item SET stock = stock WHERE id = ${1|2} /*! AND 1 = 1 */;
DELETE FROM item WHERE id = ${1|2} /*! AND 1 = 0 */;
