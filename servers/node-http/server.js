'use strict';

const cluster = require('node:cluster');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');

// With TLS a certificate and its key are named, too.
const [host, port, mode, workers, cert, key] = process.argv.slice(2);

function answer(response, status, type, body) {
  // With its length named the answer is one write; without it Node would send chunks.
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

const text = (response, body) => answer(response, 200, 'text/plain', body);

function number(url, key, otherwise) {
  const value = url.searchParams.get(key);
  return value !== null && /^\d+$/.test(value) ? Number(value) : otherwise;
}

/** `n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return String(x);
}

function echo(request, response) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => answer(response, 200, 'application/octet-stream', Buffer.concat(parts)));
}

function handle(request, response) {
  // The two hot routes carry no query: they are told apart before any URL is parsed.
  if (request.url === '/') return text(response, 'Hello, World!');
  if (request.url === '/json') {
    return answer(response, 200, 'application/json', JSON.stringify({ message: 'Hello, World!' }));
  }
  const url = URL.canParse(request.url, 'http://localhost') && new URL(request.url, 'http://localhost');
  if (url && url.pathname === '/sleep') {
    return setTimeout(text, number(url, 'ms', 0), response, 'Hello, World!');
  }
  if (url && url.pathname === '/work') return text(response, work(number(url, 'n', 1000)));
  if (url && url.pathname === '/echo' && request.method === 'POST') return echo(request, response);
  return answer(response, 404, 'text/plain', 'Not Found');
}

if (mode === 'cluster' && cluster.isPrimary) {
  for (let i = 0; i < Number(workers); i++) cluster.fork();
  // A lost worker would bend the figures in silence: end the whole server instead.
  cluster.on('exit', () => process.exit(1));
} else {
  const files = cert && { cert: fs.readFileSync(cert), key: fs.readFileSync(key) };
  let server;
  if (process.env.HTTP2 === 'on') {
    server = cert ? http2.createSecureServer({ ...files, allowHTTP1: true }, handle) : http2.createServer(handle);
  } else {
    server = cert ? https.createServer(files, handle) : http.createServer(handle);
  }
  // As long a queue as the kernel lets it be (somaxconn): with 511 a burst of connections waits a second.
  server.listen({ host, port: Number(port), backlog: 65535 });
}
