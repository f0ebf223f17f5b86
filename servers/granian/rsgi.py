"""The contract as an application of Granian's own interface."""

import asyncio
import json

from app import number_in, work

JSON = {"message": "Hello, World!"}


async def app(scope, protocol):
    route = (scope.method, scope.path)
    if route == ("GET", "/"):
        answer(protocol, "text/plain", b"Hello, World!")
    elif route == ("GET", "/json"):
        answer(protocol, "application/json", json.dumps(JSON, separators=(",", ":")).encode())
    elif route == ("GET", "/sleep"):
        await asyncio.sleep(number_in(scope.query_string, "ms", 0) / 1000)
        answer(protocol, "text/plain", b"Hello, World!")
    elif route == ("GET", "/work"):
        answer(protocol, "text/plain", work(number_in(scope.query_string, "n", 1000)))
    elif route == ("POST", "/echo"):
        answer(protocol, "application/octet-stream", await protocol())
    else:
        answer(protocol, "text/plain", b"Not Found", 404)


def answer(protocol, kind, body, status=200):
    headers = [("content-type", kind), ("content-length", str(len(body)))]
    protocol.response_bytes(status, headers, body)
