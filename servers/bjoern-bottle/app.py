"""The contract as a Bottle application."""

import json
import time

from bottle import Bottle, request, response

app = Bottle()


def number(key, otherwise):
    value = request.query.get(key, "")
    return int(value) if value.isdecimal() else otherwise


@app.get("/")
def text():
    response.content_type = "text/plain"
    return "Hello, World!"


@app.get("/json")
def greeting():
    # Not a plain dict: Bottle would encode it with a space, and all servers are to send the same bytes.
    response.content_type = "application/json"
    return json.dumps({"message": "Hello, World!"}, separators=(",", ":"))


@app.get("/sleep")
def sleep():
    time.sleep(number("ms", 0) / 1000)  # the whole event loop waits: WSGI has no way to give it back
    return text()


@app.get("/work")
def work():
    """n steps of a linear congruential generator: pure arithmetic, the same in every language here."""
    x = 0
    for _ in range(number("n", 1000)):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    response.content_type = "text/plain"
    return str(x)


@app.post("/echo")
def echo():
    response.content_type = "application/octet-stream"
    return request.body.read()
