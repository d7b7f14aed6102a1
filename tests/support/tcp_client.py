#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# tcp_client.py PORT [SECONDS] - sends its standard input as it is, says that this was all, and prints what comes back until the end.
# After SECONDS without an end it prints "(silence)", after a reset "(reset)".
import socket, sys, threading

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
    server.settimeout(float(sys.argv[2]) if len(sys.argv) > 2 else 30)
    text = sys.stdin.buffer.read()

    def say():
        try:
            server.sendall(text)
            server.shutdown(socket.SHUT_WR)
        except ConnectionResetError:
            told.append(b"(reset)")  # of two that ask, the system tells only one
        except OSError:
            pass

    told = []
    saying = threading.Thread(target=say, daemon=True)
    saying.start()
    out = sys.stdout.buffer
    try:
        while piece := server.recv(1 << 16):
            out.write(piece)
        saying.join(1)
        out.write(b"".join(told))
    except TimeoutError:
        out.write(b"(silence)")
    except ConnectionError:
        out.write(b"(reset)")
    out.flush()
