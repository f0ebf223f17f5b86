"""A server of the contract's GET / that misbehaves in one way: python3 misbehave.py MODE PORT FOLDER [HOST].

A single loop over epoll, so that a thousand answers take a moment. FOLDER is where a test and it meet."""

import os
import select
import signal
import socket
import sys
import time

MODE, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
HOST = sys.argv[4] if len(sys.argv) > 4 else "127.0.0.1"
# held-3: the third start and all later ones stop answering in mid load, until the test says "go".
HELD_FROM = int(MODE.split("-")[1]) if MODE.startswith("held-") else 0
# count-NAME: counts requests with the header X-Load, and leaves their number when it is told to end. While there is a file
# `hold`, it answers none of them after the hundredth.
COUNTS = MODE[len("count-") :] if MODE.startswith("count-") else None
BODY = b"Hello, World!"
answered = 0
counted = 0
started = 0
kept = []


def path(name):
    return os.path.join(FOLDER, name)


def write(name, text):
    with open(path(name + ".new"), "w") as file:
        file.write(text)
    os.rename(path(name + ".new"), path(name))


def count():
    global counted
    counted += 1
    if counted > 100 and os.path.exists(path("hold")):
        write("held", "")
        while os.path.exists(path("hold")):
            time.sleep(0.005)


def end(*_):
    write("count-%s-%d" % (COUNTS, os.getpid()), str(counted))
    os._exit(0)


def answer(request):
    global answered
    answered += 1
    body = BODY
    if COUNTS and b"X-Load:" in request:
        count()
    # The check, the look before the load and the warm-up succeed.
    if MODE == "wrong" and answered % 10_000 == 0:
        body = b"Hello, Wield!"
    if MODE == "die" and answered == 500:
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "restart" and answered == 500 and not os.path.exists(path("restarted")):
        write("restarted", "")
        os._exit(1)
    if MODE == "anew" and answered == 500 and not os.path.exists(path("anew")):
        # As servers load their code anew: the same process, another program in it.
        write("anew", "")
        os.execv(sys.executable, [sys.executable] + sys.argv)
    if HELD_FROM and answered > 100 and started >= HELD_FROM and not os.path.exists(path("go")):
        write("held", "")
        while not os.path.exists(path("go")):
            time.sleep(0.005)
    if MODE == "slow":
        time.sleep(0.002)
    if MODE == "leak" and answered % 4 == 0:
        kept.append(bytearray(os.urandom(1)) * 65536)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


def listener():
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, PORT))
    listening.listen(128)
    return listening


def serve(listening):
    poll = select.epoll()
    poll.register(listening, select.EPOLLIN)
    connections, unread = {}, {}
    while True:
        for number, _ in poll.poll():
            if number == listening.fileno():
                connection, _ = listening.accept()
                connections[connection.fileno()] = connection
                unread[connection.fileno()] = b""
                poll.register(connection, select.EPOLLIN)
                continue
            connection = connections[number]
            try:
                piece = connection.recv(65536)
            except OSError:
                piece = b""
            text = unread[number] + piece
            while piece and b"\r\n\r\n" in text:
                request, text = text.split(b"\r\n\r\n", 1)
                try:
                    connection.sendall(answer(request))
                except OSError:
                    piece = b""
            unread[number] = text
            if not piece:
                poll.unregister(number)
                connection.close()
                del connections[number], unread[number]


def detach():
    """As daemons do: fork, a session of one's own, fork again; and a second one that only sleeps."""
    if os.fork() > 0:
        # The first process ends when the port is open, as well-behaved daemons have it.
        while not os.path.exists(path("listens")):
            time.sleep(0.005)
        os._exit(0)
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)


def count_start():
    global started
    with open(path("starts"), "a") as file:
        file.write("x")
    started = os.path.getsize(path("starts"))


def main():
    count_start()
    if COUNTS:
        signal.signal(signal.SIGTERM, end)
    if MODE == "deaf":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if MODE == "squatted":
        write("port", str(PORT))
        while not os.path.exists(path("taken")):
            time.sleep(0.005)
        # It cannot bind and does not end: it tries again and again.
        while True:
            try:
                return serve(listener())
            except OSError:
                time.sleep(0.05)
    if MODE == "daemon":
        detach()
    if MODE == "anew" and os.path.exists(path("anew")):
        time.sleep(1)
    listening = listener()
    if MODE == "daemon":
        write("listens", "")
    # A master that holds the socket and starts its worker again, as process managers do.
    while MODE == "restart":
        worker = os.fork()
        if worker == 0:
            # Long enough, by its own clock, for Prony to see the other one several times.
            if os.path.exists(path("restarted")):
                time.sleep(1)
            break
        os.waitpid(worker, 0)
    serve(listening)


main()
