#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# tcp_client.py PORT [SECONDS] - sends its standard input, half-closes, and prints the received bytes until the end. After
# SECONDS without data it prints "(silence)", after a reset "(reset)".
import socket, sys, threading

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
    server.settimeout(float(sys.argv[2]) if len(sys.argv) > 2 else 200)
    text = sys.stdin.buffer.read()

    def send():
        try:
            server.sendall(text)
            server.shutdown(socket.SHUT_WR)
        except ConnectionResetError:
            resets.append(b"(reset)")  # the system reports a reset to the sender or to the receiver
        except OSError:
            pass

    resets = []
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    out = sys.stdout.buffer
    try:
        while piece := server.recv(1 << 16):
            out.write(piece)
        sender.join(1)
        out.write(b"".join(resets))
    except TimeoutError:
        out.write(b"(silence)")
    except ConnectionError:
        out.write(b"(reset)")
    out.flush()
