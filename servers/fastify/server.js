'use strict';

const cluster = require('node:cluster');
const fs = require('node:fs');
const fastify = require('fastify');

// With TLS a certificate and its key are named, too.
const [host, port, mode, workers, cert, key] = process.argv.slice(2);

const query = (key) => ({
  schema: { querystring: { type: 'object', properties: { [key]: { type: 'integer', minimum: 0 } } } },
});

/** `n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return String(x);
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

function serve() {
  const https = cert ? { cert: fs.readFileSync(cert), key: fs.readFileSync(key) } : null;
  const http2 = process.env.HTTP2 === 'on';
  const app = fastify(http2 ? { http2, ...(https && { https: { ...https, allowHTTP1: true } }) } : { https }); // its logger is off unless asked for

  // A schema of the answer is how Fastify is meant to be used: the serializer is made of it, once.
  const greeting = {
    schema: { response: { 200: { type: 'object', properties: { message: { type: 'string' } } } } },
  };
  app.get('/', (request, reply) => reply.type('text/plain').send('Hello, World!'));
  app.get('/json', greeting, (request, reply) => reply.send({ message: 'Hello, World!' }));
  app.get('/sleep', query('ms'), async (request, reply) => {
    await wait(request.query.ms ?? 0);
    return reply.type('text/plain').send('Hello, World!');
  });
  app.get('/work', query('n'), (request, reply) => {
    reply.type('text/plain').send(work(request.query.n ?? 1000));
  });

  // Whatever a body says it is, its bytes are sent back.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => done(null, body));
  app.post('/echo', (request, reply) => {
    reply.type('application/octet-stream').send(request.body ?? Buffer.alloc(0));
  });

  // As long a queue as the kernel lets it be (somaxconn): with 511 a burst of connections waits a second.
  app.listen({ host, port: Number(port), backlog: 65535 });
}

if (mode === 'cluster' && cluster.isPrimary) {
  for (let i = 0; i < Number(workers); i++) cluster.fork();
  // A lost worker would bend the figures in silence: end the whole server instead.
  cluster.on('exit', () => process.exit(1));
} else {
  serve();
}
