"""A service, or an application over one, of known behaviour. What a service counted is in the file beside it.

serve PORT FILE: counts requests of /row into FILE, one byte each; `/reset` empties it.
cost PORT FILE: the same without counting; ended by SIGTERM, it leaves its CPU time in ns and its peak memory in bytes in FILE.
mortal PORT N: ends with exit code 4 when /row was asked for N times.
app PORT SERVICE [HOST]: asks the service at 127.0.0.1:SERVICE for /row once for each request; without it, it does not answer.
reset SERVICE: asks the service for /reset.
hold FILE: makes FILE, and waits.
"""

import os
import resource
import signal
import socket
import sys
import threading
import time

mode, port, other = (sys.argv + [""])[1:4]
host = sys.argv[4] if len(sys.argv) > 4 else "127.0.0.1"
lock = threading.Lock()
rows = 0


def ask(number, path):
    with socket.create_connection(("127.0.0.1", int(number))) as service:
        service.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while service.recv(65536):
            pass


def serve(connection):
    global rows
    seen = b""
    while part := connection.recv(65536):
        seen += part
        while b"\r\n\r\n" in seen:
            head, seen = seen.split(b"\r\n\r\n", 1)
            path = head.split()[1]
            if mode == "app":
                try:
                    ask(other, "/row")
                except OSError:
                    time.sleep(3600)  # whoever waits for it learns why from elsewhere
                path = b"/"
            with lock:
                if path == b"/reset" and mode == "serve":
                    open(other, "wb").close()
                elif mode == "mortal" and path == b"/row":
                    rows += 1
                    if rows == int(other):
                        print("no more rows", flush=True)
                        os._exit(4)
                elif path == b"/row" and mode == "serve":
                    with open(other, "ab") as counted:
                        counted.write(b"x")
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            if b"Connection: close" in head:
                connection.close()
                return


def begin(connection):
    try:
        serve(connection)
    except OSError:
        pass  # the other end has gone


if mode == "hold":
    open(port, "w").close()
    time.sleep(3600)
if mode == "reset":
    ask(port, "/reset")
    sys.exit(0)
def leave_costs(*_):
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open(other, "w") as costs:
        costs.write(f"{int((used.ru_utime + used.ru_stime) * 1e9)} {used.ru_maxrss * 1024}")
    os._exit(0)


if mode == "cost":
    signal.signal(signal.SIGTERM, leave_costs)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((host, int(port)))
listener.listen(64)
while True:
    threading.Thread(target=begin, args=(listener.accept()[0],), daemon=True).start()
