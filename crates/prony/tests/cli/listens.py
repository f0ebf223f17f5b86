"""A server of GET / that listens on a Unix socket or speaks TLS: python3 listens.py unix PATH | tls PORT CERTIFICATE KEY."""

import socket
import ssl
import sys
import threading


def serve(connection):
    seen = b""
    while part := connection.recv(65536):
        seen += part
        while b"\r\n\r\n" in seen:
            seen = seen[seen.index(b"\r\n\r\n") + 4 :]
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


if sys.argv[1] == "unix":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[2])
    wrap = None
else:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[2])))
    wrap = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    wrap.load_cert_chain(sys.argv[3], sys.argv[4])
listener.listen(64)


def begin(connection):
    try:
        serve(wrap.wrap_socket(connection, server_side=True) if wrap else connection)
    except OSError:
        pass  # the other end has gone


while True:
    threading.Thread(target=begin, args=(listener.accept()[0],), daemon=True).start()
