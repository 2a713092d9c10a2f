-- Rows of all shards in the order that the statement fixes.
DROP TABLE IF EXISTS item;
CREATE TABLE item (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(40) NULL,
  code VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NULL,
  tag VARCHAR(20) COLLATE utf8mb4_bin NULL,
  price DECIMAL(12,3) NULL,
  big BIGINT UNSIGNED NULL,
  ratio DOUBLE NULL,
  day DATE NULL,
  moment DATETIME(6) NULL,
  span TIME NULL,
  grade ENUM('low','mid','high') NULL,
  raw VARBINARY(16) NULL,
  flag BIT(4) NULL,
  year_made YEAR NULL
);
INSERT INTO item VALUES
 (1, 'beta', 'B', 'b', 10.500, 5, 0.5, '2026-01-05', '2026-01-05 10:00:00.000001', '10:00:00', 'mid', x'01', b'0001', 2001),
 (2, 'Alpha', 'a', 'A', -3.250, 18446744073709551615, -1.5, '2025-12-31', '2025-12-31 23:59:59.999999', '-01:00:00', 'low', x'ff', b'0010', 1999),
 (3, 'alpha', 'A', 'a', 0.000, 0, 2.25, '2026-01-01', '2026-01-01 00:00:00', '838:59:59', 'high', x'0100', b'1000', 2155),
 (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (5, '', '', '', 100.000, 9223372036854775808, 100, '1999-07-04', '1999-07-04 12:00:00', '00:00:00', 'low', '', b'0000', 2026);
INSERT INTO item VALUES
 (6, 'Ärger', 'Ä', 'ä', 99.999, 7, 1e10, '2024-02-29', '2024-02-29 01:02:03.5', '00:00:01', 'mid', x'00', b'1111', 1970),
 (7, 'zoo', 'z', 'z', 9.000, 10, -1e-5, '2026-11-30', '2026-11-30 08:00:00', '-10:10:10', 'high', x'7f', b'0100', 2000),
 (8, 'zOO ', 'Z ', 'Z ', 9.001, 11, 0, '2026-11-30', '2026-11-30 08:00:00', '12:34:56', NULL, x'80', b'0101', 2010),
 (9, 'ß', 'ss', 'ss', -100.001, 12, 3.5, '2000-01-01', '2000-01-01 00:00:00', '23:00:00', 'low', 'abc', b'0110', 1901),
 (10, '日本', 'nn', '日本', 1.000, 13, 4.5, '2020-05-05', '2020-05-05 05:05:05', '05:05:05', 'mid', 'ABC', b'0111', 2020);

-- ## ORDER BY
SELECT id FROM item ORDER BY id;
SELECT id, name FROM item ORDER BY id DESC;
SELECT id, name FROM item ORDER BY name, id;
SELECT id, code FROM item ORDER BY code DESC, id;
SELECT id, tag FROM item ORDER BY tag, id DESC;
SELECT id, price FROM item ORDER BY price, id;
SELECT id, big FROM item ORDER BY big DESC, id;
SELECT id, ratio FROM item ORDER BY ratio, id;
SELECT id, day FROM item ORDER BY day DESC, id DESC;
SELECT id, moment FROM item ORDER BY moment, id;
SELECT id, span FROM item ORDER BY span, id;
SELECT id, grade FROM item ORDER BY grade, id;
SELECT id, grade FROM item ORDER BY grade DESC, id;
SELECT id, raw FROM item ORDER BY raw, id;
SELECT id, flag FROM item ORDER BY flag DESC, id;
SELECT id, year_made FROM item ORDER BY year_made, id;
SELECT * FROM item ORDER BY 5, 1;
SELECT id, price AS cost FROM item ORDER BY cost DESC, id;
SELECT id FROM item ORDER BY name, id;
SELECT id FROM item ORDER BY price * -1, id;
SELECT id FROM item ORDER BY price IS NULL, price, id;
SELECT id, name FROM item ORDER BY LOWER(name), id;
SELECT id, name FROM item WHERE price > ${0|5.5} ORDER BY name DESC, id;
SELECT id, name FROM item ORDER BY name COLLATE utf8mb4_bin, id;
SELECT id, day, grade FROM item WHERE day >= ${'2000-01-01'|'2026-01-01'} ORDER BY grade, day, id;
SELECT id FROM item ORDER BY NULL, id;
SELECT i.id, i.name FROM item i ORDER BY i.name, i.id;
SELECT id FROM item ORDER BY CASE WHEN id > ${5|3} THEN 0 ELSE 1 END, id;

-- ## LIMIT and OFFSET
SELECT id FROM item ORDER BY id LIMIT ${3|5};
SELECT id FROM item ORDER BY id LIMIT ${3|1}, ${2|4};
SELECT id, name FROM item ORDER BY name, id LIMIT ${4|2} OFFSET ${1|6};
SELECT id FROM item ORDER BY id DESC LIMIT 0;
SELECT id FROM item ORDER BY id LIMIT 3 OFFSET 100;
SELECT id, price FROM item WHERE price IS NOT NULL ORDER BY price DESC, id LIMIT 3;
SELECT id FROM item ORDER BY id LIMIT ${2|7} OFFSET ${0|9};
SELECT id FROM item ORDER BY id LIMIT 18446744073709551615 OFFSET 8;
SELECT id FROM item WHERE id = ${3|4} LIMIT 1;
SELECT id FROM item WHERE id = ${3|4} LIMIT 1 OFFSET 1;
SELECT id FROM item WHERE id IN (${1|2}, ${5|7}, 9) ORDER BY id LIMIT 2;
-- @error 1064 1690
SELECT id FROM item ORDER BY id LIMIT ${-1|-2};
-- @error 1064
SELECT id FROM item ORDER BY id LIMIT 'x';

-- ## Rows without an order
SELECT * FROM item;
SELECT id, name, price FROM item WHERE price < ${10|0};
SELECT id, grade FROM item WHERE grade = ${'low'|'high'};
SELECT id FROM item WHERE grade > ${1|2};
SELECT name FROM item WHERE day BETWEEN ${'2026-01-01'|'2020-01-01'} AND ${'2026-12-31'|'2025-12-31'};
SELECT id, 1, 'x' AS word, NULL, id + ${1|2} AS more FROM item WHERE id < ${4|3};
SELECT ALL id FROM item;
SELECT id, price + 1, CONCAT(name, '!'), -big, day + INTERVAL 1 DAY FROM item WHERE id IN (${1|5}, ${3|6});
-- @error 1054
SELECT nothing FROM item;
-- @error 1054
SELECT id FROM item WHERE nothing = ${1|2};
-- @error 1054
SELECT id FROM item ORDER BY nothing;
-- @error 1146
SELECT id FROM no_such_table;
-- @error 1064
SELECT id FROM item WHERE;
-- @error 1690
SELECT id, big - 100 FROM item WHERE big = 5;
SELECT id, price / 0 FROM item WHERE id = ${1|2};
SELECT id, price / 0 FROM item WHERE id < ${4|3};
