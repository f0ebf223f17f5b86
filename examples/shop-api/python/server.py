#!/usr/bin/env python3
"""A shop's list of items over PostgreSQL: server.py PORT, with DB_PORT in the environment."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

local = threading.local()


def database():
    if not hasattr(local, "connection"):
        where = f"host=127.0.0.1 port={os.environ['DB_PORT']} user=prony dbname=prony"
        local.connection = psycopg.connect(where, autocommit=True)
    return local.connection


def items():
    rows = database().execute("SELECT id, name, cents FROM item JOIN price ON item = id ORDER BY id LIMIT 50")
    return [{"id": id, "name": name, "cents": cents} for id, name, cents in rows]


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write: two would wait for each other's acknowledgement, 40 ms

    def do_GET(self):
        body = json.dumps(items()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Prints nothing: a log of requests is work, too."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop)
server.daemon_threads = True
server.serve_forever()
