// With TLS a certificate and its key are named, too.
const [host, port, mode, workers, cert, key] = process.argv.slice(2);

const hello = () => new Response('Hello, World!', { headers: { 'Content-Type': 'text/plain' } });

function number(request, key, otherwise) {
  const value = new URL(request.url).searchParams.get(key);
  return value !== null && /^\d+$/.test(value) ? Number(value) : otherwise;
}

/** `n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return String(x);
}

// Functions, though Bun takes ready answers too: every server makes its answer anew for each request.
const routes = {
  '/': { GET: hello },
  '/json': { GET: () => Response.json({ message: 'Hello, World!' }) },
  '/sleep': {
    GET: async (request) => {
      await Bun.sleep(number(request, 'ms', 0));
      return hello();
    },
  },
  '/work': {
    GET: (request) =>
      new Response(work(number(request, 'n', 1000)), { headers: { 'Content-Type': 'text/plain' } }),
  },
  '/echo': {
    POST: async (request) =>
      new Response(await request.arrayBuffer(), { headers: { 'Content-Type': 'application/octet-stream' } }),
  },
};

if (mode === 'cluster') {
  const children = [];
  const end = () => {
    for (const child of children) child.kill();
    process.exit(1);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
  for (let i = 0; i < Number(workers); i++) {
    children.push(
      Bun.spawn([process.execPath, import.meta.path, host, port, 'shared', workers, ...(cert ? [cert, key] : [])], {
        stdout: 'inherit',
        stderr: 'inherit',
        // A lost worker would bend the figures in silence: end the whole server instead.
        onExit: end,
      }),
    );
  }
} else {
  Bun.serve({
    hostname: host,
    port: Number(port),
    // In a cluster the kernel deals the connections out.
    reusePort: mode === 'shared',
    tls: cert ? { cert: Bun.file(cert), key: Bun.file(key) } : undefined,
    development: false,
    // By default a connection that is silent for 10 s is closed: a /sleep, or a slow client.
    idleTimeout: 255,
    routes,
    fetch: () => new Response('Not Found', { status: 404 }),
  });
}
