# SPDX-License-Identifier: Apache-2.0
#
# odd_servers.py - correct servers whose behaviour a tester could reject by mistake.
#
#   odd_servers.py PORT news      {"f":"sub"}, {"f":"unsub"}, {"f":"pub","x":X}: sends X to every subscriber
#   odd_servers.py PORT hangs-up  {"f":"echo","x":X}: returns X and closes the connection
#   odd_servers.py PORT full      the same without closing, but with a short backlog
import json
import socket
import sys
import threading

kind = sys.argv[2]
lock = threading.Lock()
subscribers = []


def send(connection, message):
    connection.sendall(json.dumps(message).encode() + b"\n")


def respond(connection, q):
    with lock:
        if q["f"] == "sub" and connection not in subscribers:
            subscribers.append(connection)
        if q["f"] == "unsub" and connection in subscribers:
            subscribers.remove(connection)
        for s in subscribers if q["f"] == "pub" else []:
            send(s, {"news": q["x"]})
        send(connection, q["x"] if q["f"] == "echo" else "ok")


def serve(connection):
    try:
        for line in connection.makefile("rb"):
            respond(connection, json.loads(line))
            if kind == "hangs-up":
                break
    except OSError:
        pass
    with lock:
        if connection in subscribers:
            subscribers.remove(connection)
    connection.close()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(1 if kind == "full" else 1024)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
