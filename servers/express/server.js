'use strict';

const cluster = require('node:cluster');
const fs = require('node:fs');
const https = require('node:https');
const express = require('express');

// With TLS a certificate and its key are named, too.
const [host, port, mode, workers, cert, key] = process.argv.slice(2);

function number(request, key, otherwise) {
  const value = request.query[key];
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : otherwise;
}

/** `n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return String(x);
}

function serve() {
  const app = express(); // with its own settings: among them an ETag of every answer
  const greet = (response) => response.type('text/plain').send('Hello, World!');

  app.get('/', (request, response) => greet(response));
  app.get('/json', (request, response) => response.json({ message: 'Hello, World!' }));
  app.get('/sleep', (request, response) => setTimeout(greet, number(request, 'ms', 0), response));
  app.get('/work', (request, response) => {
    response.type('text/plain').send(work(number(request, 'n', 1000)));
  });
  app.post('/echo', express.raw({ type: () => true }), (request, response) => {
    response.type('application/octet-stream').send(request.body ?? Buffer.alloc(0));
  });

  // Nothing of it is loaded where it has no services.
  if (process.env.DB_PORT || process.env.UPSTREAM_PORT) require('./realistic')(app);

  const server = cert ? https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, app) : app;
  // As long a queue as the kernel lets it be (somaxconn): with 511 a burst of connections waits a second.
  server.listen({ host, port: Number(port), backlog: 65535 });
}

if (mode === 'cluster' && cluster.isPrimary) {
  for (let i = 0; i < Number(workers); i++) cluster.fork();
  // A lost worker would bend the figures in silence: end the whole server instead.
  cluster.on('exit', () => process.exit(1));
} else {
  serve();
}
