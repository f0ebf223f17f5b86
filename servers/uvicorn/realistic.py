"""The ASGI application with the routes whose services there are; nothing of them is loaded where there are none."""

import os
import re

import app as contract

app = contract.app


def over_postgres():
    import asyncio
    import html
    import json
    from urllib.parse import parse_qs

    import asyncpg

    pools = {}

    async def kept(connection):
        """Instead of a statement after each query that resets the session."""

    async def pool():
        """The pool of this process; requests that come before it is made wait for it."""
        if "it" not in pools:
            port, most = int(os.environ["DB_PORT"]), int(os.environ["DB_POOL"])
            pools["it"] = asyncio.ensure_future(
                asyncpg.create_pool(
                    host="127.0.0.1",
                    port=port,
                    user="prony",
                    database="prony",
                    min_size=1,
                    max_size=most,
                    reset=kept,
                )
            )
        return await pools["it"]

    async def db(scope):
        number = parse_qs(scope["query_string"].decode("latin-1")).get("id", [""])[0]
        if not re.fullmatch("[0-9]{1,10}", number) or int(number) > 2147483647:
            return 400, b"text/plain", b"id must be a number"
        row = await (await pool()).fetchrow("SELECT id, message FROM message WHERE id = $1", int(number))
        if row is None:
            return 404, b"text/plain", b"Not Found"
        return 200, b"application/json", json.dumps(dict(row), separators=(",", ":")).encode()

    async def fortunes(scope):
        rows = [tuple(row) for row in await (await pool()).fetch("SELECT id, message FROM fortune")]
        rows.append((0, "Added when the page was asked for."))
        rows.sort(key=lambda row: row[1])
        page = "".join(f"<tr><td>{number}</td><td>{html.escape(message)}</td></tr>" for number, message in rows)
        page = f"<!DOCTYPE html><title>Fortunes</title><table>{page}</table>"
        return 200, b"text/html; charset=utf-8", page.encode()

    return {"/db": db, "/fortunes": fortunes}


def over_upstream():
    import httpx

    url = f"http://127.0.0.1:{os.environ['UPSTREAM_PORT']}/"
    # Its own bound, 100 connections, would be another server's queue.
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None), trust_env=False)

    async def upstream(scope):
        answer = await client.get(url)
        return answer.status_code, b"text/plain", answer.content

    return {"/upstream": upstream}


def with_routes(routes):
    async def respond(scope, receive, send):
        route = routes.get(scope.get("path"))
        if route is None or scope["type"] != "http":
            return await contract.app(scope, receive, send)
        status, kind, body = await route(scope)
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return respond


ROUTES = {}
if "DB_PORT" in os.environ:
    ROUTES |= over_postgres()
if "UPSTREAM_PORT" in os.environ:
    ROUTES |= over_upstream()
if ROUTES:
    app = with_routes(ROUTES)
