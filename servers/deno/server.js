// `deno serve` listens; this is what it asks for each request.

const hello = () => new Response('Hello, World!', { headers: { 'Content-Type': 'text/plain' } });

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

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

async function handle(request) {
  const url = new URL(request.url);
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /':
      return hello();
    case 'GET /json':
      return Response.json({ message: 'Hello, World!' });
    case 'GET /sleep':
      await wait(number(url, 'ms', 0));
      return hello();
    case 'GET /work':
      return new Response(work(number(url, 'n', 1000)), { headers: { 'Content-Type': 'text/plain' } });
    case 'POST /echo':
      return new Response(await request.arrayBuffer(), {
        headers: { 'Content-Type': 'application/octet-stream' },
      });
    default:
      return new Response('Not Found', { status: 404 });
  }
}

export default { fetch: handle };
