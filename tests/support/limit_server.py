# SPDX-License-Identifier: Apache-2.0
#
# limit_server.py - a server that responds to each line with JSON near or beyond the limits of Antiphon.
#
#   limit_server.py PORT KIND
import socket
import sys
import threading

kind = sys.argv[2]
responses = {
    "whole": b"1.0",
    "fraction": b'{"value":[1,1.5]}',
    "deep": b"[" * 257 + b"]" * 257,
    "twice": b'{"a":1,"a":1}',
    "large": b"{" + b",".join(b'"key %d":%d' % (i, i) for i in range(40000 if kind == "large" else 0)) + b"}",
    "broken": b"[1.5,oops]",
}


def serve(connection):
    try:
        for _ in connection.makefile("rb"):
            connection.sendall(responses[kind] + b"\n")
    except OSError:
        pass
    connection.close()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(1024)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
