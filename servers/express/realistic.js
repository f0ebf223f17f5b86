'use strict';

const escapeHtml = require('escape-html');
const { Pool } = require('pg');

const { DB_PORT, DB_POOL, UPSTREAM_PORT } = process.env;

function overPostgres(app) {
  const pool = new Pool({
    host: '127.0.0.1', port: Number(DB_PORT), user: 'prony', database: 'prony', max: Number(DB_POOL),
  });

  app.get('/db', async (request, response) => {
    const { id } = request.query;
    if (typeof id !== 'string' || !/^\d{1,10}$/.test(id) || Number(id) > 2147483647) {
      return response.sendStatus(400);
    }
    // With a name it is prepared once on each connection.
    const text = 'SELECT id, message FROM message WHERE id = $1';
    const { rows } = await pool.query({ name: 'message', text, values: [id] });
    return rows.length === 0 ? response.sendStatus(404) : response.json(rows[0]);
  });

  app.get('/fortunes', async (request, response) => {
    const { rows } = await pool.query({ name: 'fortune', text: 'SELECT id, message FROM fortune' });
    rows.push({ id: 0, message: 'Added when the page was asked for.' });
    rows.sort((a, b) => (a.message < b.message ? -1 : 1));
    const row = ({ id, message }) => `<tr><td>${id}</td><td>${escapeHtml(message)}</td></tr>`;
    const page = `<!DOCTYPE html><title>Fortunes</title><table>${rows.map(row).join('')}</table>`;
    response.type('text/html').send(page);
  });
}

/** The routes whose services there are. */
module.exports = (app) => {
  if (DB_PORT) overPostgres(app);
  if (UPSTREAM_PORT) {
    app.get('/upstream', async (request, response) => {
      const upstream = await fetch(`http://127.0.0.1:${UPSTREAM_PORT}/`);
      response.status(upstream.status).type('text/plain').send(await upstream.text());
    });
  }
};
