## another current database
SELECT DATABASE()
SELECT SCHEMA(), id FROM shop.orders WHERE id = 1
SELECT id FROM shop.orders WHERE id = 1
SELECT * FROM orders WHERE id = 1
SELECT * FROM shop.country
INSERT INTO orders (id) VALUES (1)
CREATE TABLE orders (id INT)
SHOW TABLES
SHOW TABLES FROM shop
SHOW COLUMNS FROM orders FROM shop
