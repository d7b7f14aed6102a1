#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# line_relay.py PORT UPSTREAM [wrong] - forwards each line from a client upstream on a new connection, and the response back
# to the client; if wrong, to the first client.
import socket, sys, threading

port, upstream, wrong = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["wrong"]
lock, clients = threading.Lock(), []


def serve(client):
    lines = client.makefile("rb")
    for line in lines:
        with socket.create_connection(("127.0.0.1", upstream)) as up:
            up.sendall(line)
            response = up.makefile("rb").readline()
        with lock:
            to = clients[0] if wrong else client
        to.sendall(response)


listener = socket.create_server(("127.0.0.1", port), backlog=64)
while True:
    connection, _ = listener.accept()
    with lock:
        clients.append(connection)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
