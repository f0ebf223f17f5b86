"""The contract as a bare ASGI application."""

import asyncio
import json
from urllib.parse import parse_qs


def number(scope, key, otherwise):
    value = parse_qs(scope["query_string"].decode("latin-1")).get(key, [""])[0]
    return int(value) if value.isdecimal() else otherwise


def work(n):
    """n steps of a linear congruential generator: pure arithmetic, the same in every language here."""
    x = 0
    for _ in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return str(x).encode()


async def text(scope, receive):
    return b"text/plain", b"Hello, World!"


async def greeting(scope, receive):
    return b"application/json", json.dumps({"message": "Hello, World!"}, separators=(",", ":")).encode()


async def sleep(scope, receive):
    await asyncio.sleep(number(scope, "ms", 0) / 1000)
    return b"text/plain", b"Hello, World!"


async def compute(scope, receive):
    return b"text/plain", work(number(scope, "n", 1000))


async def echo(scope, receive):
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"application/octet-stream", b"".join(parts)


ROUTES = {
    ("GET", "/"): text,
    ("GET", "/json"): greeting,
    ("GET", "/sleep"): sleep,
    ("GET", "/work"): compute,
    ("POST", "/echo"): echo,
}


async def app(scope, receive, send):
    # An application may refuse to be told of the start and the end: the server goes on without.
    if scope["type"] != "http":
        raise RuntimeError(f"{scope['type']} is not served")
    route = ROUTES.get((scope["method"], scope["path"]))
    if route is None:
        status, (kind, body) = 404, (b"text/plain", b"Not Found")
    else:
        status, (kind, body) = 200, await route(scope, receive)
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
