#!/usr/bin/env python3
"""A small application that answers every GET. A slow commit sets TURNS to 2000: each answer is then computed by burn_cpu().

    python3 server.py 8080
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TURNS = 0


def burn_cpu(turns):
    total = 0
    for i in range(turns):
        total = (total * 31 + i) & 0xFFFFFFFF
    return total


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        body = f"{burn_cpu(TURNS) if TURNS else 1}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Prints nothing: a log of requests is work, too."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Application)
server.daemon_threads = True
server.serve_forever()
