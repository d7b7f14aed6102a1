# SPDX-License-Identifier: Apache-2.0
#
# odd_http_server.py - a web server that is right, but not as most are: what RFC 9110 allows and hardly anybody does.
#
# usage: odd_http_server.py PORT HABIT
#
#   odd        HEAD without validators (9.3.2), 410 for 404, DELETE of nothing is a success, so is a write that is already
#              applied (13.1.1), parts that are shorter than asked and do not tell the length (15.3.7, 14.4), tags on errors,
#              every ninth request is answered 500 or 503 (a write half of the time done), every eleventh 429
#   read-only  405 with Allow, 501 and 403 to all that writes
#   busy       503 to everything
import socketserver
import sys
import threading

port, habit = int(sys.argv[1]), sys.argv[2]
store = {"/old": (b"what was there before", 1)} if habit == "read-only" else {}
lock = threading.Lock()
count = version = 0


def tags_match(value, tag, weakly):
    if value == "*":
        return True
    listed = [one.strip() for one in value.split(",")]
    return tag in listed or (weakly and "W/" + tag in listed)


def judge(asked, method, here):
    """0, 412 or 304; tags are all strong, and there are no dates: 13.1.3 and 13.1.4 then have nothing to compare."""
    tag = '"%d"' % here[1] if here else None
    if "if-match" in asked and not (here and tags_match(asked["if-match"], tag, False)):
        return 412
    if "if-none-match" in asked and here and tags_match(asked["if-none-match"], tag, True):
        return 304 if method in ("GET", "HEAD") else 412
    return 0


def read(method, asked, here):
    if not here:
        return 410, {"ETag": '"of-the-error"'}, b"gone"
    failed = judge(asked, method, here)
    tag = {"ETag": '"%d"' % here[1]}
    if failed == 412:
        return 412, {"ETag": 'W/"of-the-error"'}, b"no"
    if method == "HEAD":
        return failed or 200, {}, b""
    if failed:
        return failed, tag, b""
    whole, ranged = here[0], asked.get("range", "")
    if ranged.startswith("bytes=") and asked.get("if-range", tag["ETag"]) == tag["ETag"]:
        first, last = (int(n) for n in ranged[6:].split("-"))
        if first >= len(whole):
            return 416, {"Content-Range": "bytes */%d" % len(whole), "ETag": '"of-the-error"'}, b"no"
        last = (first + min(last, len(whole) - 1)) // 2
        return 206, dict(tag, **{"Content-Range": "bytes %d-%d/*" % (first, last)}), whole[first:last + 1]
    return 200, tag, whole


def write(method, path, asked, body):
    global version
    here = store.get(path)
    if method == "POST":
        return 303, {"Location": "/elsewhere"}, b""
    failed = judge(asked, method, here)
    applied = here[0] == body if here and method == "PUT" else not here and method == "DELETE"
    if failed and (judge({k: v for k, v in asked.items() if k != "if-match"}, method, here) or not applied):
        return 412, {}, b"no"
    if method == "DELETE":
        store.pop(path, None)
        return 204, {}, b""
    if not failed:
        version += 1
        store[path] = (body, version)
    return (200 if here else 201), {}, b"done"


def answer(method, path, asked, body):
    global count
    count += 1
    reads = method in ("GET", "HEAD")
    if habit == "busy":
        return 503, {"Retry-After": "1"}, b"busy"
    if habit == "read-only" and not reads:
        return {"PUT": (405, {"Allow": "GET, HEAD"}, b"no"), "POST": (501, {}, b"no"), "DELETE": (403, {}, b"no")}[method]
    if habit == "odd" and count % 11 == 0:
        return 429, {}, b"slower"
    if habit == "odd" and count % 9 == 0:
        if not reads and count % 2:
            write(method, path, asked, body)
        return (500 if count % 4 else 503), {}, b"failed"
    return read(method, asked, store.get(path)) if reads else write(method, path, asked, body)


class Connection(socketserver.StreamRequestHandler):
    def body_of(self, asked):
        if asked.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(asked.get("content-length", 0)))
        body = b""
        while n := int(self.rfile.readline(), 16):
            body += self.rfile.read(n)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def handle(self):
        while line := self.rfile.readline().decode("latin-1"):
            asked = {}
            while field := self.rfile.readline().decode("latin-1").strip():
                name, value = field.split(":", 1)
                asked[name.lower()] = value.strip()
            method, path, _ = line.split(" ")
            body = self.body_of(asked)
            with lock:
                status, fields, said = answer(method, path, asked, body)
            lines = ["HTTP/1.1 %d x" % status] + ["%s: %s" % pair for pair in fields.items()]
            if status not in (204, 304):
                lines.append("Content-Length: %d" % len(said))
            self.wfile.write("\r\n".join(lines + ["", ""]).encode() + (b"" if method == "HEAD" else said))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


Server(("127.0.0.1", port), Connection).serve_forever()
