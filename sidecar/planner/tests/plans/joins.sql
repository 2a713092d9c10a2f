## colocated
SELECT o.id, p.id FROM orders o JOIN payment p ON o.id = p.order_id WHERE o.id = 1
SELECT o.id, p.id FROM orders o JOIN payment p ON o.id = p.order_id WHERE p.order_id = 1
SELECT o.id, p.id FROM orders o, payment p WHERE o.id = p.order_id AND o.customer = 'x'
SELECT o.id, p.id FROM orders o LEFT JOIN payment p ON p.order_id = o.id ORDER BY o.id, p.id LIMIT 3
SELECT o.id FROM orders o LEFT JOIN payment p ON p.order_id = o.id WHERE p.order_id <=> NULL
SELECT o.id FROM orders o LEFT JOIN payment p ON p.order_id = o.id AND p.order_id = 1
SELECT orders.id, payment.kind FROM orders JOIN payment ON orders.id = payment.order_id
SELECT o.id, COUNT(*) FROM orders o JOIN payment p ON o.id = p.order_id GROUP BY o.id
SELECT p.order_id, COUNT(*) FROM orders o LEFT JOIN payment p ON o.id = p.order_id GROUP BY p.order_id
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM payment p WHERE p.order_id = o.id AND p.kind = 'card')
SELECT o.id FROM orders o JOIN payment p ON o.id = p.order_id AND (o.id = 1 OR p.order_id = 2)
SELECT a.id FROM orders a JOIN orders b ON a.id = b.id JOIN payment p ON p.order_id = b.id WHERE a.id = 3
SELECT o.id FROM orders o WHERE o.id IN (SELECT order_id FROM payment WHERE kind = 'card') AND o.amount > 1
SELECT o.id FROM orders o WHERE o.id NOT IN (SELECT p.order_id FROM payment p)
DELETE FROM orders WHERE id IN (SELECT order_id FROM payment WHERE kind = 'x') AND id = 1
SELECT id, (SELECT SUM(paid) FROM payment WHERE order_id = orders.id) FROM orders
## broadcast
SELECT o.id, c.title FROM orders o JOIN country c ON o.country = c.code WHERE o.id = 1
SELECT o.id, c.title FROM orders o JOIN country c ON o.country = c.code ORDER BY c.title, o.id
SELECT o.id, c.title FROM orders o LEFT JOIN country c ON o.country = c.code
SELECT o.id FROM orders o WHERE o.country IN (SELECT code FROM country WHERE title = 'x')
SELECT c.title, COUNT(*) FROM country c JOIN orders o ON o.country = c.code GROUP BY c.title
SELECT o.id FROM country c RIGHT JOIN orders o ON o.country = c.code
## both keys given
SELECT * FROM orders o JOIN payment p ON o.customer = p.kind WHERE o.id = 1 AND p.order_id = 1
SELECT * FROM orders o, account a WHERE o.id = 4 AND a.name = 'Bob'
## refused
SELECT * FROM orders o JOIN payment p ON o.customer = p.kind
SELECT * FROM orders o JOIN payment p ON o.id = p.id
SELECT * FROM orders o JOIN account a ON o.id = a.id
SELECT c.code, o.id FROM country c LEFT JOIN orders o ON o.country = c.code
SELECT * FROM orders a JOIN orders b ON a.amount = b.amount WHERE a.id = 1
SELECT a.id FROM orders a JOIN orders b ON 1 = 1 LEFT JOIN payment p ON a.id = p.order_id AND b.id = p.order_id WHERE b.id = 5
SELECT * FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payment p WHERE p.kind = o.customer)
SELECT * FROM orders NATURAL JOIN payment
SELECT * FROM orders o JOIN LATERAL (SELECT * FROM payment p WHERE p.order_id = o.id) x
SELECT a AS k FROM (SELECT COUNT(*) AS a FROM orders) t
SELECT d.id FROM (SELECT id FROM orders LIMIT 1) d
SELECT 1 FROM country WHERE code IN (SELECT country FROM orders)
WITH x AS (SELECT COUNT(*) FROM orders) SELECT * FROM x
SELECT o.id FROM orders o WHERE o.id IN (SELECT MAX(order_id) FROM payment)
SELECT o.id FROM orders o WHERE o.id IN (SELECT order_id FROM payment GROUP BY kind)
SELECT o.id FROM orders o WHERE o.id IN (SELECT id FROM payment)
SELECT o.id FROM orders o LEFT JOIN payment q ON q.order_id = o.id WHERE q.order_id NOT IN (SELECT p.order_id FROM payment p)
SELECT o.id FROM orders o WHERE o.id IN (SELECT order_id FROM payment) OR o.amount = 1
SELECT o.id FROM orders o WHERE o.id NOT IN (SELECT p.order_id FROM orders q LEFT JOIN payment p ON p.order_id = q.id)
