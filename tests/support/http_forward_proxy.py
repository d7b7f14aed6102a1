#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# http_forward_proxy.py PORT MODE - an HTTP/1.1 forward proxy that is correct but unusual, or wrong in one way.
#
# In MODE `right`, the proxy reuses connections to origin servers for all clients, changes the framing of bodies, writes
# field names in capitals, adds fields, has a comment with a comma in its Via, and repeats idempotent requests when the
# origin server closes the connection. Each `wrong == ...` below is another mode:
#
#     wrong-origin   sends each third request to another origin server
#     wrong-pool     reuses a connection that was opened for another origin server
#     wrong-client   returns each third response to the client of the previous request
#     wrong-host     forwards with the Host of the first origin server
#     wrong-cache    caches responses by path, without the origin server
#
# The others violate one duty of a proxy each.
import itertools, socket, sys, threading

port, wrong = int(sys.argv[1]), sys.argv[2]
HOP = {"connection", "keep-alive", "proxy-connection", "te", "upgrade", "transfer-encoding", "content-length", "trailer"}
IDEMPOTENT = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}
lock, idle, clients = threading.Lock(), {}, []
seen, hosts, senders, cached, count = [], [], [], {}, itertools.count(1)


class Stream:
    def __init__(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock, self.file = sock, sock.makefile("rb")

    def read(self, no_body=False):
        """Returns the first line, the fields as pairs, and the body; None at the end."""
        start = self.file.readline().decode("latin-1").rstrip("\r\n")
        if not start:
            return None
        fields = []
        for line in iter(self.file.readline, b"\r\n"):
            name, value = line.decode("latin-1").rstrip("\r\n").split(":", 1)
            fields.append((name.lower(), value.strip()))
        named = dict(fields)
        body = b""
        if no_body:
            pass
        elif named.get("transfer-encoding") == "chunked":
            while size := int(self.file.readline(), 16):
                body += self.file.read(size)
                self.file.readline()
            self.file.readline()
        else:
            body = self.file.read(int(named.get("content-length", 0)))
        return start, fields, body

    def write(self, start, fields, body, framed):
        head = [start] + [f"{n.upper()}: {v}" for n, v in fields]
        if framed and len(body) % 2:
            head.append("Transfer-Encoding: chunked")
            body = b"%x;x=y\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        elif framed:
            head.append(f"Content-Length: {len(body)}")
        else:
            body = b""
        self.sock.sendall(("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + body)


def end_to_end(fields):
    named = {o.strip().lower() for n, v in fields if n == "connection" for o in v.split(",")}
    gone = HOP | named if wrong != "hop" else HOP - {"te"}
    kept = [(n, v) for n, v in fields if n not in gone and n not in ("via", "host")]
    via = [v for n, v in fields if n == "via"] + ["HTTP/1.1 forward (right, or not)"]
    return kept + ([("via", ", ".join(via))] if wrong != "via" else [])


def exchange(address, method, message):
    """Returns the response to a request, over a new or reused connection; None if there is none."""
    for attempt in range(1 << 30 if wrong == "forever" else 2):
        with lock:
            pool = idle.setdefault(address if wrong != "wrong-pool" else "any origin server", [])
            up = pool.pop() if pool and not attempt else None
        up = up or Stream(socket.create_connection(address))
        try:
            up.write(*message)
            response = up.read(method == "HEAD")
        except OSError:
            response = None
        if response:
            with lock:
                pool.append(up)
            return response
        up.sock.close()
        if method not in IDEMPOTENT and wrong != "again":
            return None
    return None


def other_origin(address):
    """Returns another origin server for each third request, if one is known."""
    with lock:
        if address not in seen:
            seen.append(address)
        return seen[(seen.index(address) + (next(count) % 3 == 0)) % len(seen)]


def handle(request):
    start, fields, body = request
    method, target, _ = start.split(" ")
    authority, slash, path = target[len("http://"):].partition("/")
    if authority not in hosts:
        hosts.append(authority)
    host = dict(fields)["host"] if wrong == "host" else hosts[0] if wrong == "wrong-host" else authority
    path = slash + path if slash else "*" if method == "OPTIONS" and wrong != "slash" else "/"
    forwards = dict(fields).get("max-forwards")
    if forwards == "0" and wrong != "forwards":
        return "HTTP/1.1 200 OK", [("via", "1.1 itself"), ("content-type", "text/plain")], b"this far"
    if forwards:
        fields = [(n, v) if n != "max-forwards" else (n, str(max(0, int(v) - 1))) for n, v in fields]
    sent = [("host", host), ("x-forwarded-for", "127.0.0.1"), ("connection", "keep-alive")] + end_to_end(fields)
    if wrong == "body":
        body = body[:-1]
    framed = bool(body) or method in ("PUT", "POST")
    name, _, number = authority.partition(":")
    address = (name, int(number))
    if wrong == "wrong-origin":
        address = other_origin(address)
    response = cached.get((method, path)) or exchange(address, method, (f"{method} {path} HTTP/1.1", sent, body, framed))
    if wrong == "wrong-cache" and method == "GET" and response:
        cached[method, path] = response
    if not response:
        return "HTTP/1.1 504 Gateway Timeout", [("date", "Mon, 16 Nov 2020 07:39:45 GMT"), ("content-type", "a/b")], b"alas"
    start, fields, body = response
    return start, end_to_end(fields) + [("x-cache", "MISS")], body


def framed(method, response):
    return method != "HEAD" and response[0].split(" ")[1] not in ("204", "304")


def previous(client):
    """Returns the client of the previous request for each third response, else the given one."""
    with lock:
        senders.append(client)
        return senders[-2] if next(count) % 3 == 0 else client


def serve(sock):
    client = Stream(sock)
    with lock:
        clients.append(client)
    while request := client.read():
        method = request[0].split(" ")[0]
        response = handle(request)
        to = clients[0] if wrong == "client" else previous(client) if wrong == "wrong-client" else client
        to.write(*response, framed(method, response))


listener = socket.create_server(("127.0.0.1", port), backlog=256)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
