## rows
SELECT * FROM orders
SELECT id, customer FROM orders WHERE amount > 10
SELECT * FROM orders WHERE id IN (1, 2, 3, 4, 5)
SELECT * FROM orders WHERE id = 1 OR customer = 'x'
SELECT * FROM orders WHERE id = 1 OR 1
SELECT * FROM orders WHERE NOT id = 1
SELECT * FROM orders WHERE id = 1 XOR amount = 2
SELECT * FROM orders WHERE id = 1 AND amount = 2 || customer = 'x'
SELECT * FROM orders WHERE id > 5
SELECT * FROM orders WHERE id IN (?, ?) -- params: 1, 4
SELECT * FROM account WHERE balance > 5
SELECT * FROM orders # comment
## ORDER BY
SELECT id FROM orders ORDER BY id
SELECT id, amount FROM orders ORDER BY amount DESC, id
SELECT customer FROM orders ORDER BY customer
SELECT id FROM orders ORDER BY customer DESC
SELECT * FROM orders ORDER BY customer, id DESC
SELECT id, customer AS c FROM orders ORDER BY c
SELECT id, customer FROM orders ORDER BY 2 DESC
SELECT id FROM orders ORDER BY state
SELECT id FROM orders ORDER BY ratio
SELECT id FROM orders ORDER BY doc
SELECT id FROM orders ORDER BY amount + 1
SELECT id FROM orders ORDER BY LOWER(customer), id
SELECT id, LOWER(customer) FROM orders ORDER BY LOWER(customer)
SELECT id FROM orders ORDER BY NULL
SELECT id FROM orders ORDER BY RAND()
SELECT id FROM orders ORDER BY 3
SELECT id AS a, amount AS a FROM orders ORDER BY a
SELECT id AS a FROM orders ORDER BY a + 1
SELECT id FROM orders WHERE customer = ? ORDER BY CONCAT(customer, ?) -- params: 'x', 'y'
SELECT id FROM orders ORDER BY amount IS NULL, amount, id
SELECT id FROM orders ORDER BY CASE WHEN id > 5 THEN 0 ELSE 1 END, id LIMIT 3
SELECT id FROM orders USE INDEX FOR ORDER BY (PRIMARY) ORDER BY id
SELECT name FROM account ORDER BY name
## LIMIT
SELECT id FROM orders LIMIT 5
SELECT id FROM orders ORDER BY id LIMIT 5
SELECT id FROM orders ORDER BY id LIMIT 10, 5
SELECT id FROM orders ORDER BY id LIMIT 5 OFFSET 10
SELECT customer FROM orders ORDER BY customer LIMIT 3
SELECT id FROM orders ORDER BY id LIMIT ? -- params: 5
SELECT id FROM orders WHERE amount > ? ORDER BY id LIMIT ?, ? -- params: 1, 10, 5
SELECT id FROM orders LIMIT 0
SELECT id FROM orders LIMIT 18446744073709551615 OFFSET 1
SELECT balance FROM account ORDER BY balance LIMIT 2
## aggregates
SELECT COUNT(*) FROM orders
SELECT COUNT(*), SUM(amount), MIN(id), MAX(id), AVG(amount) FROM orders
SELECT COUNT(customer) AS n, MAX(customer) FROM orders WHERE amount > 1000
SELECT MIN(state), MAX(ratio) FROM orders
SELECT COUNT(*), COUNT(*) FROM orders
SELECT COUNT(DISTINCT id) FROM orders
SELECT COUNT(*) FROM orders LIMIT 1
SELECT COUNT(*) FROM orders ORDER BY 1
SELECT AVG(balance) FROM account
SELECT 1, COUNT(*) FROM orders
SELECT COUNT(*) FROM orders WHERE id IN (1, 2)
## GROUP BY
SELECT country, COUNT(*) FROM orders GROUP BY country
SELECT COUNT(*), country FROM orders GROUP BY country ORDER BY country DESC
SELECT country, SUM(amount) AS s FROM orders GROUP BY country ORDER BY s DESC LIMIT 3
SELECT country, SUM(amount) FROM orders GROUP BY country ORDER BY SUM(amount), country
SELECT country FROM orders GROUP BY country ORDER BY COUNT(*) DESC
SELECT country, MAX(customer) m FROM orders GROUP BY country ORDER BY m
SELECT state, COUNT(*) FROM orders GROUP BY state ORDER BY state
SELECT YEAR(created) y, COUNT(*) FROM orders GROUP BY y ORDER BY y
SELECT YEAR(created), COUNT(*) FROM orders GROUP BY YEAR(created) LIMIT 2
SELECT COUNT(*) FROM orders GROUP BY LOWER(customer)
SELECT country, AVG(amount) FROM orders GROUP BY 1 ORDER BY 2
SELECT country, amount, COUNT(*) FROM orders GROUP BY country, amount ORDER BY amount DESC, country LIMIT 4
SELECT id, COUNT(*), GROUP_CONCAT(customer) FROM orders GROUP BY id HAVING COUNT(*) > 1 ORDER BY MAX(customer)
SELECT country, AVG(amount) FROM orders GROUP BY country ORDER BY AVG(amount)
## DISTINCT
SELECT DISTINCT country FROM orders
SELECT DISTINCT country, amount FROM orders ORDER BY amount LIMIT 3
SELECT DISTINCT note FROM orders LIMIT 3
SELECT DISTINCT state FROM orders ORDER BY 1 DESC
SELECT DISTINCT amount FROM orders ORDER BY amount DESC LIMIT 2, 3
SELECT DISTINCT * FROM account
## refused
SELECT country, COUNT(*) FROM orders GROUP BY country HAVING COUNT(*) > 1
SELECT COUNT(DISTINCT customer) FROM orders
SELECT SUM(amount) / COUNT(*) FROM orders
SELECT GROUP_CONCAT(customer) FROM orders
SELECT country, COUNT(*) FROM orders GROUP BY country WITH ROLLUP
SELECT ROW_NUMBER() OVER (ORDER BY id) FROM orders
SELECT * FROM orders UNION SELECT * FROM orders
SELECT * FROM orders FOR UPDATE
SELECT SQL_CALC_FOUND_ROWS * FROM orders LIMIT 1
SELECT id INTO @x FROM orders
SELECT id, @n := @n + 1 FROM orders
SELECT SLEEP(1) FROM orders
SELECT id FROM orders WHERE MATCH (customer) AGAINST ('x')
SELECT CONNECTION_ID(), id FROM orders ORDER BY customer
SELECT id, COUNT(*) FROM orders
SELECT DISTINCT country FROM orders ORDER BY id
SELECT DISTINCT doc FROM orders
SELECT DISTINCT country, COUNT(*) FROM orders GROUP BY country
SELECT * FROM payment
SELECT (SELECT MAX(paid) FROM payment) FROM orders
(SELECT * FROM orders) ORDER BY id
SELECT /*!80000 id, */ amount FROM orders
