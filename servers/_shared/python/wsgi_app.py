"""The contract as a bare WSGI application."""

import json
import time
from urllib.parse import parse_qs


def number(environ, key, otherwise):
    value = parse_qs(environ.get("QUERY_STRING", "")).get(key, [""])[0]
    return int(value) if value.isdecimal() else otherwise


def work(n):
    """n steps of a linear congruential generator: pure arithmetic, the same in every language here."""
    x = 0
    for _ in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return str(x).encode()


def sleep(environ):
    time.sleep(number(environ, "ms", 0) / 1000)  # the gevent worker has patched it to yield
    return "text/plain", b"Hello, World!"


def echo(environ):
    length = int(environ.get("CONTENT_LENGTH") or 0)
    return "application/octet-stream", environ["wsgi.input"].read(length)


ROUTES = {
    ("GET", "/"): lambda _: ("text/plain", b"Hello, World!"),
    ("GET", "/json"): lambda _: (
        "application/json",
        json.dumps({"message": "Hello, World!"}, separators=(",", ":")).encode(),
    ),
    ("GET", "/sleep"): sleep,
    ("GET", "/work"): lambda environ: ("text/plain", work(number(environ, "n", 1000))),
    ("POST", "/echo"): echo,
}


def app(environ, start_response):
    route = ROUTES.get((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
    if route is None:
        status, (kind, body) = "404 Not Found", ("text/plain", b"Not Found")
    else:
        status, (kind, body) = "200 OK", route(environ)
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]
