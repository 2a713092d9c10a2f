-- One answer from the parts of all shards.
DROP TABLE IF EXISTS item;
CREATE TABLE item (
  id BIGINT NOT NULL PRIMARY KEY,
  kind VARCHAR(20) COLLATE utf8mb4_bin NULL,
  word VARCHAR(20) NULL,
  price DECIMAL(12,3) NULL,
  small TINYINT NULL,
  big BIGINT UNSIGNED NULL,
  ratio DOUBLE NULL,
  day DATE NULL,
  moment DATETIME(3) NULL,
  grade ENUM('zebra','lion','ant') NULL
);
INSERT INTO item VALUES
 (1, 'a', 'apple', 10.500, 1, 5, 0.5, '2026-01-05', '2026-01-05 10:00:00.001', 'zebra'),
 (2, 'b', 'Berry', -3.250, 2, 9223372036854775807, -1.5, '2025-12-31', '2025-12-31 23:59:59.999', 'lion'),
 (3, 'a', 'cherry', 0.000, -3, 0, 2.25, '2026-01-01', '2026-01-01 00:00:00', 'ant'),
 (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (5, '', 'date', 100.000, 127, 9223372036854775808, 100, '1999-07-04', '1999-07-04 12:00:00', 'zebra'),
 (6, 'b', 'elder', 99.999, -128, 7, 8, '2024-02-29', '2024-02-29 01:02:03.5', 'lion'),
 (7, 'c', 'fig', 9.000, 0, 10, -0.25, '2026-11-30', '2026-11-30 08:00:00', 'ant'),
 (8, 'c', 'Grape', 9.001, 9, 11, 0, '2026-11-30', '2026-11-30 08:00:00', NULL),
 (9, 'a', 'honey', -100.001, 8, 12, 3.5, '2000-01-01', '2000-01-01 00:00:00', 'zebra');

-- ## COUNT
SELECT COUNT(*) FROM item;
SELECT COUNT(*) AS how_many FROM item WHERE price > ${1|50};
SELECT COUNT(price) FROM item;
SELECT COUNT(1), COUNT(NULL), COUNT(grade) FROM item;
SELECT COUNT(*) FROM item WHERE id = ${1|4711};
SELECT COUNT(*) FROM item WHERE kind = ${'nothing'|'a'};
SELECT COUNT(*) + 1 FROM item;
SELECT COUNT(DISTINCT kind) FROM item;
SELECT COUNT(*) FROM item WHERE id IN (${1|2}, ${3|4}, 5);
SELECT COUNT(*), kind FROM item WHERE kind = ${'a'|'b'} GROUP BY kind;
SELECT COUNT(*) FROM item HAVING COUNT(*) > ${3|100};
SELECT COUNT(*) FROM item LIMIT 1;
SELECT COUNT(*) FROM item LIMIT 1 OFFSET 1;

-- ## SUM
SELECT SUM(price) FROM item;
SELECT SUM(small), SUM(big) FROM item;
SELECT SUM(ratio) FROM item;
SELECT SUM(price) AS total FROM item WHERE kind = ${'a'|'nothing'};
SELECT SUM(price * 2) FROM item;
SELECT SUM(price), COUNT(*) FROM item WHERE id > ${3|7};
SELECT SUM(id) FROM item WHERE id = ${2|4711};
SELECT SUM(word) FROM item WHERE id < 0;
SELECT SUM(DISTINCT small) FROM item;

-- ## MIN and MAX
SELECT MIN(id), MAX(id) FROM item;
SELECT MIN(price), MAX(price) FROM item;
SELECT MIN(word), MAX(word) FROM item;
SELECT MIN(kind), MAX(kind) FROM item;
SELECT MIN(day), MAX(day), MIN(moment), MAX(moment) FROM item;
SELECT MIN(big), MAX(big), MIN(small), MAX(small) FROM item;
SELECT MIN(ratio), MAX(ratio) FROM item;
SELECT MIN(grade), MAX(grade) FROM item;
SELECT MAX(price) AS top FROM item WHERE kind = ${'c'|'nothing'};
SELECT MIN(id) FROM item WHERE id > ${100|5};

-- ## AVG
SELECT AVG(price) FROM item;
SELECT AVG(small), AVG(big) FROM item;
SELECT AVG(ratio) FROM item;
SELECT AVG(price) AS middle FROM item WHERE kind = ${'a'|'nothing'};
SELECT AVG(price), SUM(price), COUNT(price), COUNT(*) FROM item;
SELECT AVG(id) FROM item WHERE id < ${4|7};
SELECT AVG(price + 1) FROM item;

-- ## GROUP BY
SELECT kind, COUNT(*) FROM item GROUP BY kind ORDER BY kind;
SELECT kind, SUM(price), AVG(price), MIN(id), MAX(id) FROM item GROUP BY kind ORDER BY kind DESC;
SELECT kind, COUNT(*) AS n FROM item GROUP BY kind ORDER BY n DESC, kind;
SELECT kind, SUM(price) AS total FROM item GROUP BY kind ORDER BY total, kind LIMIT ${2|3};
SELECT kind, COUNT(*) FROM item WHERE price > ${0|9} GROUP BY kind ORDER BY kind;
SELECT kind, COUNT(*) FROM item GROUP BY kind;
SELECT day, COUNT(*) FROM item GROUP BY day ORDER BY day;
SELECT grade, COUNT(*) FROM item GROUP BY grade ORDER BY grade;
SELECT kind, grade, COUNT(*), SUM(small) FROM item GROUP BY kind, grade ORDER BY kind, grade;
SELECT COUNT(*) FROM item GROUP BY kind ORDER BY COUNT(*), MIN(id);
SELECT kind FROM item GROUP BY kind ORDER BY kind LIMIT 2 OFFSET 1;
SELECT id, COUNT(*) FROM item GROUP BY id ORDER BY id;
SELECT kind AS k, MAX(price) FROM item GROUP BY k ORDER BY k;
SELECT kind, MAX(price) FROM item GROUP BY 1 ORDER BY 1;
SELECT kind, COUNT(*) FROM item GROUP BY kind HAVING COUNT(*) > ${1|2} ORDER BY kind;
SELECT YEAR(day) AS y, COUNT(*) FROM item GROUP BY y ORDER BY y;
SELECT kind, COUNT(*) FROM item WHERE id = ${1|2} GROUP BY kind;
SELECT kind, COUNT(*) FROM item WHERE id < ${-1|-2} GROUP BY kind;
-- @error 1055
SELECT kind, price FROM item GROUP BY kind;
-- @error 1140
SELECT kind, COUNT(*) FROM item;

-- ## DISTINCT
SELECT DISTINCT kind FROM item ORDER BY kind;
SELECT DISTINCT kind FROM item;
SELECT DISTINCT kind, grade FROM item ORDER BY kind, grade;
SELECT DISTINCT day FROM item ORDER BY day DESC LIMIT ${3|5};
SELECT DISTINCT grade FROM item WHERE price > ${0|9} ORDER BY grade;
SELECT DISTINCT id FROM item WHERE id = ${1|2};
SELECT DISTINCT price > ${5|50} AS dear FROM item ORDER BY dear;
SELECT DISTINCT kind FROM item WHERE id IN (${1|2}, ${3|6}, 9) ORDER BY kind;
