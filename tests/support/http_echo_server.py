#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# http_echo_server.py PORT - a web server that returns the bytes of the request. Some paths have other responses: /status/N,
# /chunked, /ones (chunks of one byte), /until-end, /pair (waits for a second request, returns its path), /counted (a new tag
# each time).
import itertools, re, socket, sys, threading

pair = threading.Barrier(2)
counter = itertools.count(1)


def line(file):
    text = file.readline()
    if not text:
        raise EOFError
    return text


def body(file, head):
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        text = b""
        while True:
            size = line(file)
            text += size
            n = int(size.split(b";")[0], 16)
            if n == 0:
                break
            text += file.read(n) + line(file)
        while True:
            text += line(file)
            if text.endswith((b"\n\n", b"\n\r\n")):
                return text
    length = re.search(rb"(?im)^content-length: *([0-9]+)", head)
    return file.read(int(length[1])) if length else b""


def response(status, text, fields=b"ETag: \"e\"\r\n", length=True):
    sized = b"Content-Length: %d\r\n" % len(text) if length else b""
    return b"HTTP/1.1 %d Mirror\r\n" % status + fields + sized + b"\r\n" + text


def response_to(target, request):
    if target.startswith(b"/status/"):
        status = int(target[8:11])
        bare = status in (204, 304)
        return response(status, b"" if bare else b"status %d\n" % status, length=not bare)
    if target == b"/chunked":
        chunks = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nT: v\r\n\r\n"
        return response(200, chunks, b"Transfer-Encoding: chunked\r\n", False)
    if target == b"/ones":
        return response(200, b"1\r\na\r\n1\r\nb\r\n0\r\n\r\n", b"Transfer-Encoding: chunked\r\n", False)
    if target == b"/until-end":
        return response(200, b"to the end", b"", False)
    if target.startswith(b"/counted"):
        return response(200, b"counted\n", b'ETag: "%d"\r\n' % next(counter))
    if target.startswith(b"/pair/"):
        pair.wait(200)
        return response(200, target)
    return response(200, request)


def serve(client):
    file = client.makefile("rb")
    try:
        while True:
            head = line(file)
            while not head.strip():
                head = line(file)
            while not head.endswith((b"\n\n", b"\n\r\n")):
                head += line(file)
            method, target = head.split(b" ")[:2]
            if re.search(rb"(?im)^expect: *100-continue", head):
                client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            text = response_to(target, head + body(file, head))
            client.sendall(text[: text.index(b"\r\n\r\n") + 4] if method == b"HEAD" else text)
            if target == b"/until-end":
                break
    except (EOFError, OSError):
        pass
    client.close()


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
