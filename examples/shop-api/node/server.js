// A shop's list of items over PostgreSQL: node server.js PORT, with DB_PORT in the environment.
const http = require("node:http");
const { Pool } = require("pg");

const pool = new Pool({ host: "127.0.0.1", port: Number(process.env.DB_PORT), user: "prony", database: "prony", max: 8 });

async function items() {
  const { rows } = await pool.query("SELECT id, name, cents FROM item JOIN price ON item = id ORDER BY id LIMIT 50");
  return rows;
}

http.createServer((request, response) => {
  items().then(
    (found) => response.setHeader("Content-Type", "application/json").end(JSON.stringify(found)),
    (error) => response.writeHead(500).end(`${error.message}\n`),
  );
}).listen(Number(process.argv[2]), "127.0.0.1");
