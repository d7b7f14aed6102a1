# SPDX-License-Identifier: Apache-2.0
#
# random_etag_server.py PORT - a server for the model etag-kv with a random tag in each run, and always the same wrong value.
import json, os, socket, sys, threading

tag = {'opaque': os.urandom(8).hex(), 'weak': False}


def response_to(request):
    if request['f'] == 'put':
        return {'code': 412 if 'if_match' in request else 201}
    return {'code': 200, 'value': 'nobody put this', 'tag': tag}


def serve(peer):
    lines = peer.makefile('rw')
    for line in lines:
        lines.write(json.dumps(response_to(json.loads(line))) + '\n')
        lines.flush()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', int(sys.argv[1])))
listener.listen()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
