-- Sharding by the hash of a text key: values that are equal under the key's collation are together.
DROP TABLE IF EXISTS text_key;
CREATE TABLE text_key (k VARCHAR(40) COLLATE utf8mb4_0900_ai_ci NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
DROP TABLE IF EXISTS bin_key;
CREATE TABLE bin_key (k VARCHAR(40) COLLATE utf8mb4_bin NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
DROP TABLE IF EXISTS accent_key;
CREATE TABLE accent_key (k VARCHAR(40) COLLATE utf8mb4_0900_as_cs NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
DROP TABLE IF EXISTS byte_key;
CREATE TABLE byte_key (k VARBINARY(40) NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
INSERT INTO text_key VALUES ('abc', 1), ('ABC', 2), ('äbc', 3), ('', 4), ('7', 5), ('straße', 6), ('strasse', 7), ('abc ', 8);
INSERT INTO bin_key VALUES ('abc', 1), ('ABC', 2), ('äbc', 3), ('', 4), ('7', 5), ('07', 6), ('abc ', 8);
INSERT INTO accent_key VALUES ('abc', 1), ('ABC', 2), ('äbc', 3), ('', 4), ('7', 5), ('a\u0308bc', 6);
INSERT INTO byte_key VALUES ('abc', 1), ('ABC', 2), (x'00ff', 3), ('', 4), ('7', 5), (x'00', 6);

-- ## Text key that ignores case and accents
SELECT k, n FROM text_key WHERE k = ${'abc'|'ABC'} ORDER BY n;
SELECT k, n FROM text_key WHERE k = ${'äbc'|'Äbc'} ORDER BY n;
SELECT k, n FROM text_key WHERE k = ${''|' '} ORDER BY n;
SELECT k, n FROM text_key WHERE k = ${'straße'|'STRASSE'} ORDER BY n;
SELECT k, n FROM text_key WHERE k IN (${'abc'|'7'}, ${'7'|''}) ORDER BY n;
SELECT n FROM text_key WHERE k = ${7|7} ORDER BY n;
SELECT n FROM text_key WHERE k = ${'abc '|'abc'} ORDER BY n;
-- @error 1062
INSERT INTO text_key VALUES (${'Abc'|'aBc'}, 1);
UPDATE text_key SET n = n + ${100|200} WHERE k = ${'aBC'|'STRASSE'};
SELECT k, n FROM text_key ORDER BY n;
DELETE FROM text_key WHERE k = ${'ABC'|'strasse'};
SELECT k, n FROM text_key ORDER BY n;

-- ## Text key compared by its code points
SELECT k, n FROM bin_key WHERE k = ${'abc'|'ABC'} ORDER BY n;
SELECT k, n FROM bin_key WHERE k = ${'äbc'|'Äbc'} ORDER BY n;
SELECT k, n FROM bin_key WHERE k = ${''|'nothing'} ORDER BY n;
SELECT k, n FROM bin_key WHERE k = ${7|7} ORDER BY n;
SELECT k, n FROM bin_key WHERE k = ${'abc '|'abc'} ORDER BY n;
SELECT k, n FROM bin_key WHERE k IN (${'abc'|'07'}, 'ABC') ORDER BY n;
INSERT INTO bin_key VALUES (${'Abc'|'aBc'}, 1);
-- @error 1062
INSERT INTO bin_key VALUES (${'Abc'|'aBc'}, 1);
SELECT k, n FROM bin_key ORDER BY k, n;

-- ## Text key that tells case and accents apart
SELECT k, n FROM accent_key WHERE k = ${'abc'|'ABC'} ORDER BY n;
SELECT k, n FROM accent_key WHERE k = ${'äbc'|'Äbc'} ORDER BY n;
SELECT k, n FROM accent_key WHERE k = ${''|' '} ORDER BY n;
SELECT k, n FROM accent_key WHERE k IN (${'abc'|'7'}, ${'ABC'|'7'}) ORDER BY n;
SELECT k, n FROM accent_key ORDER BY k, n;
UPDATE accent_key SET n = ${50|60} WHERE k = ${'abc'|'äbc'};
DELETE FROM accent_key WHERE k = ${'abc'|'ABC'};
SELECT COUNT(*) FROM accent_key;

-- ## Binary key
SELECT k, n FROM byte_key WHERE k = ${'abc'|'ABC'};
SELECT k, n FROM byte_key WHERE k = x'00ff';
SELECT k, n FROM byte_key WHERE k = ${''|'x'};
SELECT k, n FROM byte_key WHERE k = ${x'00'|x'00ff'};
SELECT k, n FROM byte_key WHERE k IN (${'abc'|'7'}, x'00') ORDER BY n;
SELECT HEX(k), n FROM byte_key ORDER BY k, n;
UPDATE byte_key SET n = n + 10 WHERE k = ${x'00'|'7'};
SELECT HEX(k), n FROM byte_key ORDER BY n;

-- ## Literals with character sets and escapes
SELECT n FROM bin_key WHERE k = _utf8mb4'abc' ORDER BY n;
SELECT n FROM bin_key WHERE k = N'abc' ORDER BY n;
SELECT n FROM bin_key WHERE k = 'a\bc';
SELECT n FROM bin_key WHERE k = "abc" ORDER BY n;
SELECT n FROM bin_key WHERE k = 'ab' 'c' ORDER BY n;
SELECT n FROM text_key WHERE k = 'a''b' ORDER BY n;
SELECT n FROM bin_key WHERE k = CONCAT('ab', 'c') ORDER BY n;
SELECT n FROM bin_key WHERE k = ${'it''s'|'abc'} ORDER BY n;
SELECT n FROM bin_key WHERE k = x'616263' ORDER BY n;
