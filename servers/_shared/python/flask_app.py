"""The contract as a Flask application."""

import json
import time

from flask import Flask, Response, request

app = Flask(__name__)


def number(key, otherwise):
    value = request.args.get(key, "")
    return int(value) if value.isdecimal() else otherwise


@app.get("/")
def text():
    return Response("Hello, World!", mimetype="text/plain")


@app.get("/json")
def greeting():
    # Not jsonify: it ends with a newline, and all servers are to send the same bytes.
    body = json.dumps({"message": "Hello, World!"}, separators=(",", ":"))
    return Response(body, mimetype="application/json")


@app.get("/sleep")
def sleep():
    time.sleep(number("ms", 0) / 1000)
    return text()


@app.get("/work")
def work():
    """n steps of a linear congruential generator: pure arithmetic, the same in every language here."""
    x = 0
    for _ in range(number("n", 1000)):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return Response(str(x), mimetype="text/plain")


@app.post("/echo")
def echo():
    return Response(request.get_data(), mimetype="application/octet-stream")
