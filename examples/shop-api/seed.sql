CREATE TABLE item (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE price (item integer PRIMARY KEY REFERENCES item, cents integer NOT NULL);
INSERT INTO item SELECT id, 'item ' || id FROM generate_series(1, 1000) AS id;
INSERT INTO price SELECT id, 100 + id % 900 FROM generate_series(1, 1000) AS id;
ANALYZE;
