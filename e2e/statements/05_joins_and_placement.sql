-- Where tables live: together, on every shard, or on the first one alone.
DROP TABLE IF EXISTS customer;
CREATE TABLE customer (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, land CHAR(2) NOT NULL);
DROP TABLE IF EXISTS purchase;
CREATE TABLE purchase (customer_id BIGINT NOT NULL, nr INT NOT NULL, total DECIMAL(10,2) NOT NULL, PRIMARY KEY (customer_id, nr));
DROP TABLE IF EXISTS country;
CREATE TABLE country (code CHAR(2) NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL);
DROP TABLE IF EXISTS note;
CREATE TABLE note (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, text VARCHAR(100) NULL, KEY (text));
INSERT INTO customer VALUES (1, 'Ada', 'gb'), (2, 'Bob', 'us'), (3, 'Cem', 'tr'), (4, 'Dai', 'cn'), (5, 'Eva', 'de');
INSERT INTO purchase VALUES (1, 1, 10.00), (1, 2, 5.50), (2, 1, 7.25), (5, 1, 1.00), (5, 2, 2.00), (5, 3, 3.00);
INSERT INTO country VALUES ('gb', 'Great Britain'), ('us', 'USA'), ('de', 'Germany');

-- ## Colocated tables
SELECT c.name, p.nr, p.total FROM customer c JOIN purchase p ON p.customer_id = c.id WHERE c.id = ${1|5} ORDER BY p.nr;
SELECT c.name, p.total FROM customer c JOIN purchase p ON p.customer_id = c.id WHERE p.customer_id = ${2|5} ORDER BY p.nr;
SELECT c.name, p.nr FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id WHERE c.id = ${3|1} ORDER BY p.nr;
SELECT c.id, p.nr, p.total FROM customer c JOIN purchase p ON p.customer_id = c.id ORDER BY c.id, p.nr;
SELECT c.id, p.nr FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id ORDER BY c.id, p.nr LIMIT ${4|6};
SELECT COUNT(*), SUM(p.total) FROM customer c JOIN purchase p ON p.customer_id = c.id WHERE p.total > ${2|5};
SELECT c.land, SUM(p.total) FROM customer c JOIN purchase p ON p.customer_id = c.id GROUP BY c.land ORDER BY c.land;
SELECT * FROM customer c, purchase p WHERE c.id = p.customer_id AND c.id = ${5|2} ORDER BY p.nr;
SELECT p.customer_id, p.nr FROM purchase p JOIN purchase q ON q.customer_id = p.customer_id AND q.nr = p.nr + 1 WHERE p.customer_id = ${5|1} ORDER BY p.nr;

-- ## Broadcast tables
SELECT * FROM country ORDER BY code;
SELECT name FROM country WHERE code = ${'gb'|'de'};
SELECT COUNT(*) FROM country;
INSERT INTO country VALUES (${'tr'|'cn'}, ${'Türkiye'|'China'});
UPDATE country SET name = ${'United States'|'USA'} WHERE code = 'us';
-- @error 1062
INSERT INTO country VALUES (${'tr'|'cn'}, 'again');
SELECT c.id, c.name, l.name FROM customer c JOIN country l ON l.code = c.land WHERE c.id = ${2|5};
SELECT c.id, l.name FROM customer c JOIN country l ON l.code = c.land ORDER BY c.id;
SELECT c.id, l.name FROM customer c LEFT JOIN country l ON l.code = c.land ORDER BY c.id LIMIT ${2|3};
DELETE FROM country WHERE code = ${'tr'|'nowhere'};
SELECT * FROM country ORDER BY name;

-- ## Unsharded tables
INSERT INTO note (text) VALUES (${'first'|'second'});
INSERT INTO note (text) VALUES (${'third'|NULL}), ('more');
SELECT LAST_INSERT_ID();
SELECT * FROM note ORDER BY id;
SELECT COUNT(*), MIN(id), MAX(text) FROM note WHERE text IS NOT NULL;
UPDATE note SET text = ${'changed'|'again'} WHERE id = ${1|2};
SELECT a.id, b.id FROM note a JOIN note b ON b.id > a.id ORDER BY a.id, b.id LIMIT ${3|4};
SELECT id FROM note WHERE id = (SELECT MAX(id) FROM note);
SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS r FROM note ORDER BY id;
SELECT text, COUNT(*) FROM note GROUP BY text WITH ROLLUP;
SELECT n.text, l.name FROM note n, country l WHERE n.id = ${1|2} ORDER BY l.code;
DELETE FROM note WHERE id = ${2|3};
SELECT id, text FROM note UNION ALL SELECT 0, 'none' ORDER BY id;
INSERT INTO note (text) VALUES ('x') ON DUPLICATE KEY UPDATE text = 'y';
REPLACE INTO note VALUES (${1|2}, 'replaced');
SELECT * FROM note ORDER BY id;
