## by key
SELECT * FROM orders WHERE id = 1
select * from orders where id=2 -- trailing
SELECT * FROM orders WHERE 3 = id;
SELECT o.* FROM orders AS o WHERE o.id = 1
SELECT orders.id, orders.customer FROM orders WHERE orders.id = 1
SELECT * FROM `orders` WHERE `id` = 1 FOR UPDATE
SELECT * FROM shop.orders WHERE shop.orders.id = 1 ORDER BY shop.orders.customer
SELECT shop.orders.* FROM shop.orders WHERE id = 1
SELECT * FROM orders WHERE id = '1'
SELECT * FROM orders WHERE id = '01'
SELECT * FROM orders WHERE id = 1.0
SELECT * FROM orders WHERE id = 1.5
SELECT * FROM orders WHERE id = -1
SELECT * FROM orders WHERE id = 18446744073709551615
SELECT * FROM orders WHERE id = TRUE
SELECT * FROM orders WHERE id = 0x01
SELECT * FROM orders WHERE id = ''
SELECT * FROM orders WHERE id = NULL
SELECT * FROM orders WHERE id <=> 1
SELECT * FROM orders WHERE id IN (1)
SELECT * FROM orders WHERE (id, customer) = (1, 'x')
SELECT * FROM orders WHERE (customer, id) IN (('x', 1))
SELECT * FROM orders WHERE (id) = (1) AND amount > 3
SELECT * FROM orders WHERE id = 1 OR id = 1
SELECT * FROM orders WHERE id = 1 OR 0
SELECT * FROM orders WHERE id = 1 AND id = 4
SELECT * FROM orders WHERE id = 1 AND FALSE
SELECT * FROM orders WHERE id = ? -- params: 1
SELECT * FROM orders WHERE id = ? -- params: '1'
SELECT * FROM orders WHERE id = ? -- params: NULL
SELECT * FROM orders WHERE customer = ? AND id = ? LIMIT ? -- params: 'x', 1, 5
SELECT * FROM account WHERE name = 'Bob'
SELECT * FROM account WHERE name = 'BOB'
SELECT * FROM account WHERE name = 1
SELECT * FROM account WHERE name = 'a' 'b'
SELECT /*+ MAX_EXECUTION_TIME(1000) */ * FROM orders USE INDEX (PRIMARY) WHERE id = 1
SELECT /*!80000 SQL_NO_CACHE */ * FROM orders WHERE id = 1
SELECT id, COUNT(*) OVER (PARTITION BY customer) FROM orders WHERE id = 1
SELECT MAX(amount), GROUP_CONCAT(customer) FROM orders WHERE id = 1 HAVING COUNT(*) > 0
SELECT * FROM orders WHERE id = 1 LOCK IN SHARE MODE
SELECT * FROM orders WHERE id = 1 UNION SELECT * FROM orders WHERE id = 1
SELECT * FROM orders o WHERE o.id = 1 AND EXISTS (SELECT 1 FROM payment p WHERE p.order_id = 1)
WITH x AS (SELECT * FROM orders WHERE id = 1) SELECT * FROM x
SELECT * FROM (SELECT id FROM orders WHERE id = 1) AS d
SELECT CONNECTION_ID(), id FROM orders WHERE id = 1
SELECT id INTO @x FROM orders WHERE id = 1
## not sharded
SELECT 1
SELECT @@version_comment LIMIT 1
SELECT CONNECTION_ID()
SELECT CONNECTION_ID() + 1, LAST_INSERT_ID()
SELECT CONNECTION_ID() AS c
SELECT GET_LOCK('x', 1)
SELECT (SELECT MAX(a) FROM note)
(SELECT * FROM note)
TABLE note
SELECT my_function(1)
SELECT NOW(), UPPER('a'), CAST('1' AS DECIMAL(10, 2))
SELECT my_function(code) FROM country
VALUES ROW(1, 2)
SELECT @a := 1
SELECT * FROM note WHERE id = 1
SELECT * FROM note, country
SELECT * FROM country
SELECT * FROM country FOR UPDATE
SELECT * FROM other.orders
SELECT * FROM information_schema.PROCESSLIST
SELECT * FROM future WHERE id = 5
## refused
SELECT * FROM orders JOIN note ON orders.id = note.id WHERE orders.id = 1
SELECT * FROM orders WHERE id = 1 UNION SELECT * FROM orders WHERE id = 2
SELECT * FROM shop__0001.orders
TABLE orders
SELECT * FROM orders PROCEDURE ANALYSE()
SELECT * FROM orders WHERE id = 1; SELECT 1
SELECT * FROM orders WHERE 'open
WITH orders AS (SELECT 1) SELECT * FROM orders
SELECT * FROM orders WHERE id = (SELECT MAX(order_id) FROM payment)
## session's values
SELECT id, CONNECTION_ID() FROM orders WHERE id = 1
SELECT CONNECTION_ID() x, id FROM orders WHERE id = 1
SELECT DISTINCT CONNECTION_ID() FROM note
SELECT LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS()
## names of columns
SELECT EXISTS(SELECT 1 /* c */ FROM orders WHERE id = 1)
SELECT (SELECT o.id FROM orders AS o WHERE o.id = 1), a.id FROM orders AS a WHERE a.id = 1
SELECT shop.orders.id + 1, shop.orders.id, shop.orders.id AS `a` FROM shop.orders WHERE id = 1
(SELECT shop.orders.id + 1 FROM shop.orders WHERE id = 1) UNION ALL (SELECT 2)
SELECT COUNT(shop.orders.`id`) FROM shop.orders
SELECT * FROM changed WHERE id = 1
