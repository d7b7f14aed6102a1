# SPDX-License-Identifier: Apache-2.0
#
# slow_kv_server.py - a correct key-value server, one JSON value per line, that takes its time.
#
#   slow_kv_server.py PORT MODE MS [SWALLOWED]
#
# MODE: serial takes MS milliseconds for each response, one request after another; parallel takes them for each
# connection; jitter takes from 0 to MS; pause takes MS once, at the 20th request; slow-get takes MS for the first get, and
# answers other requests meanwhile. Requests are applied on arrival. The response to request number SWALLOWED is never sent.
import json
import random
import socket
import sys
import threading
import time

mode, seconds = sys.argv[2], int(sys.argv[3]) / 1000
swallowed = int(sys.argv[4]) if len(sys.argv) > 4 else 0
data = {}
lock = threading.Lock()
requests = gets = 0


def apply(q):
    old = data.get(q["key"], "")
    if q["f"] == "put":
        data[q["key"]] = q["value"]
    elif q["f"] == "append":
        data[q["key"]] = old + q["value"]
    elif q["f"] == "delete":
        data.pop(q["key"], None)
    return old if q["f"] == "get" else "ok"


def delay(number, is_first_get):
    if mode == "jitter":
        return random.random() * seconds
    is_slow = mode == "slow-get" and is_first_get or mode == "pause" and number == 20
    return seconds if is_slow or mode in ("serial", "parallel") else 0


def respond(connection, line):
    global requests, gets
    q = json.loads(line)
    with lock:
        requests += 1
        gets += q["f"] == "get"
        number, answer = requests, apply(q)
        pause = delay(number, q["f"] == "get" and gets == 1)
        if mode in ("serial", "pause"):
            time.sleep(pause)
            pause = 0
    time.sleep(pause)
    if number != swallowed:
        connection.sendall(json.dumps(answer).encode() + b"\n")


def serve(connection):
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in connection.makefile("rb"):
            respond(connection, line)
    except OSError:
        pass


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(1024)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
