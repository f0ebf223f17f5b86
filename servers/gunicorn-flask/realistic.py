"""The Flask application with the routes whose services there are; nothing of them is loaded where there are none."""

import os
import re

from app import app


def over_postgres():
    from flask import Response, abort, request
    from markupsafe import escape
    from psycopg_pool import ConnectionPool

    # A sync worker has one request at a time, and so one connection. Opened in each worker, by its first request.
    pool = ConnectionPool(
        f"host=127.0.0.1 port={os.environ['DB_PORT']} user=prony dbname=prony",
        min_size=1,
        max_size=int(os.environ["DB_POOL"]),
        open=False,
        # Else each query is a transaction of three round trips.
        kwargs={"autocommit": True},
    )

    def rows(sql, *parameters):
        pool.open()  # does nothing but the first time
        with pool.connection() as connection:
            return connection.execute(sql, parameters).fetchall()

    @app.get("/db")
    def db():
        number = request.args.get("id", "")
        if not re.fullmatch("[0-9]{1,10}", number) or int(number) > 2147483647:
            abort(400)
        found = rows("SELECT id, message FROM message WHERE id = %s", int(number))
        if not found:
            abort(404)
        (identity, message) = found[0]
        return {"id": identity, "message": message}

    @app.get("/fortunes")
    def fortunes():
        found = rows("SELECT id, message FROM fortune")
        found.append((0, "Added when the page was asked for."))
        found.sort(key=lambda row: row[1])
        page = "".join(f"<tr><td>{number}</td><td>{escape(message)}</td></tr>" for number, message in found)
        return Response(f"<!DOCTYPE html><title>Fortunes</title><table>{page}</table>", mimetype="text/html")


def over_upstream():
    from flask import Response
    from requests import Session

    session = Session()
    session.trust_env = False  # reads proxies and passwords for each request
    url = f"http://127.0.0.1:{os.environ['UPSTREAM_PORT']}/"

    @app.get("/upstream")
    def upstream():
        answer = session.get(url)
        return Response(answer.content, status=answer.status_code, mimetype="text/plain")


if "DB_PORT" in os.environ:
    over_postgres()
if "UPSTREAM_PORT" in os.environ:
    over_upstream()
