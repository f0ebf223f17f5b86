"""A server of the contract's GET / that counts: python3 counting.py HOST PORT FOLDER NAME.

It counts requests with the header X-Load, and writes their number into FOLDER when it is told to end. While FOLDER has a
file `hold`, it answers none of them after the hundredth."""

import os
import select
import signal
import socket
import sys
import time

HOST, PORT, FOLDER, NAME = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
counted = 0


def path(name):
    return os.path.join(FOLDER, name)


def write(name, text):
    with open(path(name + ".new"), "w") as file:
        file.write(text)
    os.rename(path(name + ".new"), path(name))


def end(*_):
    write("count-%s-%d" % (NAME, os.getpid()), str(counted))
    os._exit(0)


def answer(head):
    global counted
    if b"X-Load:" in head:
        counted += 1
        if counted > 100 and os.path.exists(path("hold")):
            write("held", "")
            while os.path.exists(path("hold")):
                time.sleep(0.005)
    return ANSWER


signal.signal(signal.SIGTERM, end)
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind((HOST, PORT))
listening.listen(128)
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
            head, text = text.split(b"\r\n\r\n", 1)
            try:
                connection.sendall(answer(head))
            except OSError:
                piece = b""
        unread[number] = text
        if not piece:
            poll.unregister(number)
            connection.close()
            del connections[number], unread[number]
