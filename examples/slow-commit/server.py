#!/usr/bin/env python3
"""A small application for trying a comparison on: it answers every GET with the sum of a list.

    python3 server.py --port 8080
    python3 server.py --port 8080 --delay 50     # what a commit that is slow by 50 ms a request does
"""

import argparse
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write: two would wait for each other's acknowledgement, 40 ms
    delay_s = 0.0

    def do_GET(self):
        time.sleep(self.delay_s)
        body = f"{sum(range(1000))}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Prints nothing: a log of requests is work, too."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--delay", type=float, default=0, metavar="MS")
    arguments = parser.parse_args()
    Application.delay_s = arguments.delay / 1000
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Application)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
