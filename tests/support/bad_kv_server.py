# SPDX-License-Identifier: Apache-2.0
#
# bad_kv_server.py - a key-value server, one JSON value per line, that misbehaves in a way that MODE selects.
#
# usage: python3 bad_kv_server.py PORT MODE [NUMBER] [PIDFILE]
#
# The server is correct until request NUMBER (default: 5), and then misbehaves. With once-MODE, it misbehaves in only one of
# all runs; PIDFILE.once marks that this run has happened. With once-MODE-then-OTHER, later runs misbehave in the mode OTHER.
# PIDFILE receives the process id.
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

port, mode = int(sys.argv[1]), sys.argv[2]
after = int(sys.argv[3]) if len(sys.argv) > 3 else 5
if len(sys.argv) > 4:
    with open(sys.argv[4], 'w') as out:
        out.write(str(os.getpid()))

once = mode.startswith('once-') and sys.argv[4] + '.once'
if once:
    first, _, then = mode[5:].partition('-then-')
    mode = then or 'right' if os.path.exists(once) else first

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
data = {}
requests = 0


def answer(line):
    """Returns the correct response."""
    import json
    q = json.loads(line)
    key = q['key']
    old = data.get(key, '')
    if q['f'] == 'put':
        data[key] = q['value']
    elif q['f'] == 'append':
        data[key] = old + q['value']
    elif q['f'] == 'delete':
        data.pop(key, None)
    return json.dumps(old if q['f'] == 'get' else 'ok').encode() + b'\n'


def send_all(peer, data):
    try:
        peer.setblocking(True)
        peer.sendall(data)
    except OSError:
        os._exit(0)  # the tester has closed the connection


def reset(peer):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    peer.close()


def send_slowly(peer, data, pause):
    for i in range(len(data)):
        send_all(peer, data[i:i + 1])
        time.sleep(pause)


def send_endlessly(peer, data):
    while True:
        send_all(peer, data)


def wait_forever():
    while True:
        signal.pause()


def misbehave(peer, right):
    """Misbehaves at request NUMBER on this connection; right is the correct response. Returns True if the connection is
    closed."""
    if once:
        open(once, 'w').close()
    if mode == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == 'crash':
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == 'exit':
        os._exit(3)
    elif mode == 'exit-0':
        os._exit(0)
    elif mode == 'stop':
        os.kill(os.getpid(), signal.SIGSTOP)
    elif mode == 'hang':
        wait_forever()
    elif mode == 'late-response':
        time.sleep(1.2)
        send_all(peer, right)
    elif mode == 'close':
        peer.close()
        return True
    elif mode == 'close-after-response':
        send_all(peer, right)
        peer.close()
        return True
    elif mode == 'reset':
        reset(peer)
        return True
    elif mode == 'half-close':
        peer.shutdown(socket.SHUT_WR)
        time.sleep(3)
    elif mode == 'garbage':
        send_all(peer, b'\xff\x00<html>not a message</html>\n')
    elif mode == 'truncate':
        send_all(peer, right[:-2])
        peer.close()
        return True
    elif mode == 'gigabyte':
        block = b'"' + b'x' * (1 << 20)
        for i in range(1024):
            send_all(peer, block)
            block = block[-(1 << 20):]
        send_all(peer, b'"\n')
    elif mode == 'incomplete':  # a large incomplete message on each connection
        send_all(peer, b'"' + b'x' * (6 << 20))
    elif mode == 'flood':
        send_endlessly(peer, right * 1000)
    elif mode == 'twice':
        send_all(peer, right + right)
    elif mode == 'trickle':
        send_slowly(peer, b'"' + b'x' * 100000, 0.02)
    elif mode == 'wrong':
        send_all(peer, b'"nobody stored this"\n')
    else:
        sys.exit('bad_kv_server: no mode ' + mode)
    return False


def serve():
    global requests
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    if mode == 'late-listen':
        time.sleep(0.3)
    listener.listen(0 if mode == 'backlog-full' else 200)
    if mode in ('backlog-full', 'no-accept'):
        wait_forever()
    if mode == 'verbose':
        for i in range(10000):
            print('line', i, 'of a verbose subject')
        sys.stdout.flush()
    inboxes = {}
    peers = {listener.fileno(): listener}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                peer, _ = listener.accept()
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if mode == 'reset-on-accept':
                    reset(peer)
                    continue
                peers[peer.fileno()] = peer
                inboxes[peer.fileno()] = b''
                poll.register(peer, select.POLLIN)
                continue
            peer = peers[fd]
            try:
                got = peer.recv(65536)
            except OSError:
                got = b''
            gone = not got
            inboxes[fd] += got
            while not gone and b'\n' in inboxes[fd]:
                line, inboxes[fd] = inboxes[fd].split(b'\n', 1)
                requests += 1
                right = answer(line)
                if (requests == after or mode == 'incomplete') and mode not in ('right', 'late-listen', 'verbose', 'bytes', 'slow'):
                    gone = misbehave(peer, right)
                elif mode == 'bytes':
                    send_slowly(peer, right, 0)
                elif mode == 'slow':
                    send_slowly(peer, right, 0.15)
                else:
                    send_all(peer, right)
            if gone:
                poll.unregister(fd)
                peers.pop(fd).close()


if mode == 'exit-at-start':
    sys.exit('bad_kv_server: cannot read its configuration')
if mode == 'never-listen':
    wait_forever()
serve()
