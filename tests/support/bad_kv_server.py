# SPDX-License-Identifier: Apache-2.0
#
# bad_kv_server.py - a key-value server that speaks one JSON value a line, and goes wrong in the way that it is told to.
#
# usage: python3 bad_kv_server.py PORT MODE [NUMBER] [PIDFILE]
#
# It behaves until it has had NUMBER requests (default: 5), then MODE happens; from then on, or once, as the mode says.
# With once-MODE it happens once and never again, however often the server is started: PIDFILE.once tells. With
# once-MODE-then-OTHER, the other one happens from then on.
# PIDFILE gets its process id, so that a test can see that it is gone.
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
    """What a right server says: enough of JSON for requests that Antiphon writes."""
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
        os._exit(0)  # the tester has seen enough


def reset(peer):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    peer.close()


def dribble(peer, data, pause):
    for i in range(len(data)):
        send_all(peer, data[i:i + 1])
        time.sleep(pause)


def endlessly(peer, data):
    while True:
        send_all(peer, data)


def forever():
    while True:
        signal.pause()


def strike(peer, right):
    """The request with the number has come, on this connection; right is what a right server would answer. True: the
    connection is no more."""
    if once:
        open(once, 'w').close()
    if mode == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == 'crash':
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == 'exit':
        os._exit(3)
    elif mode == 'leave':
        os._exit(0)
    elif mode == 'stop':
        os.kill(os.getpid(), signal.SIGSTOP)
    elif mode == 'hang':
        forever()
    elif mode == 'doze':
        time.sleep(1.2)
        send_all(peer, right)
    elif mode == 'close':
        peer.close()
        return True
    elif mode == 'settle':
        send_all(peer, right)
        peer.close()
        return True
    elif mode == 'reset':
        reset(peer)
        return True
    elif mode == 'half':
        peer.shutdown(socket.SHUT_WR)
        time.sleep(3)
    elif mode == 'garbage':
        send_all(peer, b'\xff\x00<html>not a message</html>\n')
    elif mode == 'cut':
        send_all(peer, right[:-2])
        peer.close()
        return True
    elif mode == 'gigabyte':
        block = b'"' + b'x' * (1 << 20)
        for i in range(1024):
            send_all(peer, block)
            block = block[-(1 << 20):]
        send_all(peer, b'"\n')
    elif mode == 'hoard':  # much of a message to each, the end of which never comes
        send_all(peer, b'"' + b'x' * (6 << 20))
    elif mode == 'flood':
        endlessly(peer, right * 1000)
    elif mode == 'twice':
        send_all(peer, right + right)
    elif mode == 'trickle':
        dribble(peer, b'"' + b'x' * 100000, 0.02)
    elif mode == 'wrong':
        send_all(peer, b'"nobody stored this"\n')
    else:
        sys.exit('hostile: no mode ' + mode)
    return False


def serve():
    global requests
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    if mode == 'late':
        time.sleep(0.3)
    listener.listen(0 if mode == 'unlet' else 200)
    if mode in ('unlet', 'accept'):
        forever()
    if mode == 'noisy':
        for i in range(10000):
            print('line', i, 'of a subject that says much')
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
                if mode == 'door':
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
                if (requests == after or mode == 'hoard') and mode not in ('right', 'late', 'noisy', 'bytes', 'slow'):
                    gone = strike(peer, right)
                elif mode == 'bytes':
                    dribble(peer, right, 0)
                elif mode == 'slow':
                    dribble(peer, right, 0.15)
                else:
                    send_all(peer, right)
            if gone:
                poll.unregister(fd)
                peers.pop(fd).close()


if mode == 'stillborn':
    sys.exit('hostile: cannot read its configuration')
if mode == 'elsewhere':
    forever()
serve()
