# SPDX-License-Identifier: Apache-2.0
#
# bad_http_server.py - a web server that misbehaves from the first request on, in a way that MODE selects.
#
# usage: python3 bad_http_server.py PORT MODE [PIDFILE [LISTEN]]
#
# PIDFILE, unless it is -, receives the process id. LISTEN is the port on which the tester accepts connections. The modes are
# the keys and functions below.
import itertools
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time

port, mode = int(sys.argv[1]), sys.argv[2]
calls_port = int(sys.argv[4]) if len(sys.argv) > 4 else 0
if len(sys.argv) > 3 and sys.argv[3] != '-':
    with open(sys.argv[3], 'w') as out:
        out.write(str(os.getpid()))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

OK = b'HTTP/1.1 200 OK\r\n'
CHUNKED = OK + b'Transfer-Encoding: chunked\r\n\r\n'

# Sent once.
once = {
    'negative-length': OK + b'Content-Length: -1\r\n\r\nhello',
    'signed-length': OK + b'Content-Length: +5\r\n\r\nhello',
    'overflowing-length': OK + b'Content-Length: 18446744073709551621\r\n\r\nhello',
    'long-length': OK + b'Content-Length: ' + b'9' * 5000 + b'\r\n\r\nhello',
    'gigabyte-length': OK + b'Content-Length: 1073741824\r\n\r\nhello',
    'two-lengths': OK + b'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
    'listed-lengths': OK + b'Content-Length: 5, 6\r\n\r\nhello!',
    'length-and-coding': OK + b'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'coding-and-length': OK + b'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
    'coding-unknown': OK + b'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'coding-twice': OK + b'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n',
    'coding-1.0': b'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'coding-204': b'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'space-before-colon': OK + b'Content-Length : 5\r\n\r\nhello',
    'fold-first': OK + b' Content-Length: 5\r\n\r\nhello',
    'folded-length': OK + b'Content-Length: 5\r\n 6\r\n\r\nhello!',
    'bare-cr': OK + b'X: a\rContent-Length: 5\r\n\r\nhello',
    'nul': OK + b'X: a\0b\r\nContent-Length: 5\r\n\r\nhello',
    'no-name': OK + b': x\r\nContent-Length: 5\r\n\r\nhello',
    'chunk-overflow': CHUNKED + b'10000000000000005\r\nhello\r\n0\r\n\r\n',
    'chunk-gigabyte': CHUNKED + b'40000000\r\nhello',
    'chunk-negative': CHUNKED + b'-5\r\nhello\r\n0\r\n\r\n',
    'chunk-prefix': CHUNKED + b'0x5\r\nhello\r\n0\r\n\r\n',
    'chunk-bare-lf': CHUNKED + b'5\nhello\n0\n\n',
    'chunk-long': CHUNKED + b'5\r\nhello!\r\n0\r\n\r\n',
    'version-2': b'HTTP/2.0 200 OK\r\n\r\n',
    'status-99': b'HTTP/1.1 099 OK\r\n\r\n',
    'status-long': b'HTTP/1.1 2000 OK\r\n\r\n',
    'not-http': b'SSH-2.0-OpenSSH_9.2\r\n',
    'tls': b'\x15\x03\x01\x00\x02\x02\x46' * 3,
    'cut-body': OK + b'Content-Length: 500\r\n\r\nhello',
}

# The first part is sent once, the second one endlessly.
endless = {
    'endless-start': (b'HTTP/1.1 200 ', b'x' * 4096),
    'endless-headers': (OK, b'X-Field: value\r\n' * 256),
    'endless-header': (OK + b'X-Field: ', b'v' * 4096),
    'endless-name': (OK, b'X' * 4096),
    'endless-1xx': (b'', b'HTTP/1.1 100 Continue\r\n\r\n' * 128),
    'endless-blank': (b'', b'\r\n' * 1024),
    'endless-zeros': (OK + b'Content-Length: ', b'0' * 4096),
    'endless-extension': (CHUNKED + b'5;x=', b'x' * 4096),
    'endless-size': (CHUNKED, b'0' * 4096),
    'endless-trailers': (CHUNKED + b'0\r\n', b'X-Trailer: value\r\n' * 256),
    'endless-chunks': (CHUNKED, b'1\r\nx\r\n' * 4096),
    'endless-body': (OK + b'\r\n', b'x' * 65536),
    'flood': (b'', b'HTTP/1.1 204 No Content\r\n\r\n' * 1024),
}


NOT_FOUND = b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'
UNAVAILABLE = b'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n'


def send_all(peer, data):
    try:
        peer.sendall(data)
    except OSError:
        sys.exit(0)  # ends this thread; the tester has closed the connection


def drip(peer):
    """Sends an endless message byte by byte."""
    for byte in itertools.chain(OK + b'X-Slow: ', itertools.repeat(0x78)):
        send_all(peer, bytes([byte]))
        time.sleep(0.01)


def stall(peer):
    """Sends an incomplete body."""
    send_all(peer, OK + b'Content-Length: 5\r\n\r\nhell')


def close(peer):
    peer.close()


def reset(peer):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    peer.close()


def call():
    return socket.create_connection(('127.0.0.1', calls_port))


def many_calls(peer):
    """Opens ten thousand connections to the tester from ten processes, or as many as descriptors allow."""
    for _ in range(10):
        if os.fork() == 0:
            held = []
            try:
                for _ in range(1000):
                    held.append(call())
            except OSError:
                pass
            signal.pause()


def short_calls(peer):
    """Opens short connections to the tester endlessly, and sends no response."""
    try:
        while True:
            call().close()
    except OSError:
        pass


def serve_one(peer):
    if mode == 'early':
        send_all(peer, 2 * NOT_FOUND)
    peer.recv(65536)
    if mode == 'twice':  # the second response has no request
        send_all(peer, 2 * UNAVAILABLE)
    elif mode in once:
        send_all(peer, once[mode])
        if mode.startswith('cut'):
            peer.close()
    elif mode in endless:
        send_all(peer, endless[mode][0])
        while True:
            send_all(peer, endless[mode][1])
    elif mode != 'early':
        {'drip': drip, 'stall': stall, 'close': close, 'reset': reset, 'many-calls': many_calls,
         'short-calls': short_calls}[mode](peer)
    threading.Event().wait()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', port))
listener.listen(200)
while True:
    peer, _ = listener.accept()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve_one, args=(peer,), daemon=True).start()
