## without a current database
SELECT * FROM shop.orders WHERE id = 1
SELECT * FROM shop.orders o ORDER BY o.id LIMIT 1
SELECT shop.orders.id FROM shop.orders
INSERT INTO shop.orders (id) VALUES (1)
UPDATE shop.orders SET customer = 'x' WHERE shop.orders.id = 1
DELETE FROM shop.orders WHERE id = 1
SELECT * FROM orders WHERE id = 1
INSERT INTO orders (id) VALUES (1)
SHOW CREATE TABLE shop.orders
DROP TABLE shop.orders
SELECT * FROM `shop`.`orders` WHERE id = 1
SELECT DATABASE()
SELECT DATABASE(), id FROM shop.orders WHERE id = 1
