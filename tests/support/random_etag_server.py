# SPDX-License-Identifier: Apache-2.0
#
# random_etag_server.py PORT - a server of the model etag-kv that makes up another tag each time it is started, and always tells the same
# wrong value.
import json, os, socket, sys, threading

tag = {'opaque': os.urandom(8).hex(), 'weak': False}


def answer(request):
    if request['f'] == 'put':
        return {'code': 412 if 'if_match' in request else 201}
    return {'code': 200, 'value': 'nobody put this', 'tag': tag}


def talk(peer):
    lines = peer.makefile('rw')
    for line in lines:
        lines.write(json.dumps(answer(json.loads(line))) + '\n')
        lines.flush()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', int(sys.argv[1])))
listener.listen()
while True:
    threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()
