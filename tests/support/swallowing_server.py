# SPDX-License-Identifier: Apache-2.0
#
# swallowing_server.py - an echo server, one JSON value per line, that reads some requests without responding to them and
# then closes the connection, so that only a part of its behaviour can be judged.
#
# usage: python3 swallowing_server.py PORT HABIT
#
#   second      swallows the second request of each connection
#   tenth       swallows every tenth request of a connection
#   rare        swallows every hundredth request of a connection, like a server that times out now and then
#   kind        swallows {"f":"last","x":X}, except as the first request of a connection
#   SUFFIX      -reset: resets the connection; -half: closes only its own direction
import json
import socket
import struct
import sys
import threading

port, habit = int(sys.argv[1]), sys.argv[2]
habit, _, ending = habit.partition('-')


def is_swallowed(number, request):
    if habit == 'kind':
        return number > 1 and request['f'] == 'last'
    return number % {'second': 2, 'tenth': 10, 'rare': 100}[habit] == 0


def serve(connection):
    lines = connection.makefile('rb')
    try:
        for number, line in enumerate(lines, 1):
            request = json.loads(line)
            if is_swallowed(number, request):
                break
            connection.sendall(json.dumps(request['x']).encode() + b'\n')
        if ending == 'reset':
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        if ending == 'half':
            connection.shutdown(socket.SHUT_WR)
            lines.read()
    except OSError:
        pass
    lines.close()
    connection.close()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', port))
listener.listen(1024)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
