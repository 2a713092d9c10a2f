## one place
INSERT INTO orders (id, customer) VALUES (1, 'a')
INSERT INTO orders (customer, id) VALUES ('a', 1), ('b', 1)
INSERT INTO shop.orders (id) VALUES (1) ON DUPLICATE KEY UPDATE customer = VALUES(customer)
INSERT IGNORE INTO `orders` (id, customer) VALUES ('1', 'x')
REPLACE INTO payment (id, order_id) VALUES (7, 1)
INSERT INTO payment SET order_id = 1, id = 2
INSERT INTO payment VALUES (1, 1, 'card', 2, 3)
INSERT INTO orders (id, customer) VALUES (?, ?) -- params: 1, 'x'
INSERT INTO payment VALUES ROW(1, 1, 'card', 2, 3)
INSERT INTO orders (id, customer) VALUES (1, 'a') AS new ON DUPLICATE KEY UPDATE customer = new.customer
INSERT HIGH_PRIORITY payment (order_id, id) VALUE (-1, 2)
INSERT INTO orders (id, customer) VALUES (1, CONCAT('a', NOW()))
## several places
INSERT INTO payment (order_id, id) VALUES (1, 10), (2, 20), (3, 30), (1, 11)
INSERT INTO payment (order_id, id) VALUES (?, ?), (?, ?) -- params: 1, 10, 4, 20
REPLACE INTO account (name, balance) VALUES ('Bob', 1), ('Alice', 2)
INSERT INTO payment (order_id, id) VALUES (1, 10), (2, 20) ON DUPLICATE KEY UPDATE kind = 'again'
## generated
INSERT INTO orders (customer) VALUES ('a')
INSERT INTO orders (customer) VALUES ('a'), ('b')
INSERT INTO orders (id, customer) VALUES (NULL, 'a'), (0, 'b'), (DEFAULT, 'c'), (9, 'd')
INSERT INTO orders () VALUES ()
INSERT INTO orders SET customer = 'a'
INSERT INTO orders VALUES (NULL, 'a', NULL, 1.5, 'new', 1, NULL, 'DE', NOW())
INSERT INTO orders (customer) VALUES (?) -- params: 'x'
INSERT INTO orders (id, customer) VALUES (?, ?) -- params: NULL, 'x'
INSERT INTO account (name) VALUES ('Bob')
INSERT INTO account (name, id) VALUES ('Bob', NULL)
INSERT INTO orders (id, customer) VALUES (1, 'a') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), customer = 'b'
## everywhere
INSERT INTO country (code, title, number) VALUES ('DE', 'Germany', 1)
REPLACE INTO country SET code = 'DE', number = 4
INSERT INTO country (code, number) VALUES (?, ?) -- params: 'DE', 5
INSERT IGNORE INTO country (number, code) VALUES (1, 'DE'), (2, 'FR')
INSERT INTO country VALUES ('DE', 'Germany', 1, 2, '2020-01-01', 's')
INSERT INTO country (code, number) VALUES ('DE', 1) ON DUPLICATE KEY UPDATE title = 'x'
## not sharded
INSERT INTO note (id) VALUES (1)
INSERT INTO note SELECT * FROM other
INSERT INTO future (id) VALUES (1)
## refused
INSERT INTO orders (id, customer) VALUES (1 + 1, 'a')
INSERT INTO payment (id) VALUES (1)
INSERT INTO payment (order_id, id) VALUES (NULL, 1)
INSERT INTO payment (order_id, id) VALUES ('x', 1)
INSERT INTO payment (order_id, id) VALUES (1.5, 1)
INSERT INTO payment (order_id, id) VALUES (1, 2, 3)
INSERT INTO orders SELECT * FROM note
INSERT INTO orders (id) VALUES ((SELECT MAX(id) FROM note))
INSERT INTO note SELECT * FROM orders
INSERT INTO orders (id) VALUES (1) ON DUPLICATE KEY UPDATE id = 5
INSERT INTO orders (id) VALUES (1) ON DUPLICATE KEY UPDATE shop.orders.customer = 'a'
INSERT INTO country (code) VALUES ('DE')
INSERT INTO country (code, number) VALUES (UUID(), 1)
INSERT INTO orders PARTITION (p0) (id) VALUES (1)
INSERT INTO orders (id, customer) VALUES (0.0, 'a')
INSERT INTO orders (id, customer) VALUES (0x00, 'a')
INSERT INTO orders (id, customer) VALUES ('', 'a')
INSERT INTO account (name, id) VALUES ('Bob', 5.5)
INSERT INTO country (code, number) VALUES ('DE', 0e0)
INSERT INTO orders (id, customer) VALUES (1, @a := 'x')
INSERT INTO account (name, id) VALUES ('Bob', 5)
INSERT INTO account (name) VALUES ('Bob') ON DUPLICATE KEY UPDATE id = 7
