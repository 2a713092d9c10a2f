## one place
UPDATE orders SET customer = 'x' WHERE id = 1
UPDATE orders AS o SET o.customer = 'x' WHERE o.id = 1 ORDER BY o.customer LIMIT 1
UPDATE shop.orders SET shop.orders.customer = 'x' WHERE shop.orders.id = 1
UPDATE orders SET customer = ? WHERE id = ? -- params: 'x', 1
DELETE FROM orders WHERE id = 1
DELETE FROM orders WHERE id = NULL
DELETE FROM orders WHERE id = 1 ORDER BY customer LIMIT 1
DELETE o FROM orders o JOIN payment p ON o.id = p.order_id WHERE o.id = 1
DELETE orders FROM orders JOIN payment ON orders.id = payment.order_id WHERE orders.id = 1
DELETE FROM orders USING orders JOIN payment ON orders.id = payment.order_id WHERE orders.id = 1
DELETE LOW_PRIORITY FROM orders WHERE id = 1
UPDATE IGNORE orders SET customer = 'y' WHERE id IN (1)
## several places
UPDATE orders SET customer = 'x'
UPDATE orders SET customer = 'x' WHERE id IN (1, 2)
UPDATE account SET balance = balance + 1 WHERE balance < 3
UPDATE orders o, payment p SET o.customer = p.kind WHERE o.id = p.order_id AND p.kind = 1
UPDATE shop.orders, shop.payment SET customer = (1), orders.note = 2 WHERE orders.id = order_id AND order_id = 1
UPDATE orders o JOIN payment p ON o.id = p.order_id SET o.customer = p.kind
DELETE FROM orders WHERE amount < ? -- params: 5
DELETE FROM orders
DELETE FROM account WHERE name IN ('Bob', 'Alice')
## everywhere and elsewhere
UPDATE country SET title = 'x' WHERE code = 'DE'
DELETE FROM country
UPDATE note SET a = 1
DELETE FROM note WHERE id = 1
UPDATE future SET a = 1 WHERE id = 5
## refused
UPDATE orders SET id = 2 WHERE id = 1
UPDATE orders o JOIN payment p ON o.id = p.order_id SET p.order_id = 2 WHERE o.id = 1
UPDATE orders SET customer = 'x' ORDER BY id LIMIT 1
UPDATE orders SET customer = 'x' LIMIT 1
DELETE FROM orders LIMIT 1
DELETE FROM orders ORDER BY id LIMIT 1
UPDATE orders, payment SET orders.customer = payment.kind WHERE orders.amount = payment.paid
UPDATE country c JOIN orders o ON o.country = c.code SET c.title = 'x' WHERE o.id = 1
UPDATE country SET title = UUID()
DELETE c FROM country c JOIN orders o ON o.country = c.code
UPDATE orders SET customer = (SELECT title FROM note)
UPDATE country SET area = 1 LIMIT 1
DELETE FROM country ORDER BY area LIMIT 1
UPDATE country SET area = @a := @a + 1
UPDATE account SET id = 5 WHERE name = 'Bob'
