-- The rows of the contract's routes /db and /fortunes.
CREATE TABLE message (id integer PRIMARY KEY, message text NOT NULL);
INSERT INTO message SELECT id, 'Message ' || id FROM generate_series(1, 1000) AS id;

CREATE TABLE fortune (id integer PRIMARY KEY, message text NOT NULL);
INSERT INTO fortune VALUES
  (1, 'A queue that only grows is an outage with a date.'),
  (2, 'The fastest query is the one that nobody sends.'),
  (3, 'Measure before you cut; then measure again.'),
  (4, 'an index on every column is an index on none'),
  (5, 'Caches are right until something changes.'),
  (6, 'Retries without a limit are a second load.'),
  (7, 'Time-outs add up: "30 s" & "30 s" make a minute, don''t they?'),
  (8, 'No error in the log may mean no log.'),
  (9, 'Žluťoučký kůň, ½ ß, 日本語: not all text is ASCII.'),
  (10, 'Every percentile hides the rest.'),
  (11, '<script>alert("This row is text, not a program.");</script>'),
  (12, 'One core is enough, until there are two users.');
ANALYZE;
