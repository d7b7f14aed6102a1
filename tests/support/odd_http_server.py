# SPDX-License-Identifier: Apache-2.0
#
# odd_http_server.py - a correct web server with unusual behaviour that RFC 9110 allows.
#
# usage: odd_http_server.py PORT HABIT
#
#   odd        HEAD without validators (9.3.2), 410 for 404, success for DELETE of a missing document and for a write that is
#              already applied (13.1.1), parts that are shorter than requested without the total length (15.3.7, 14.4), tags
#              in errors, 500 or 503 to every ninth request (half of these writes are done), 429 to every eleventh
#   read-only  405 with Allow, 501 and 403 to all writes
#   busy       503 to everything
import socketserver
import sys
import threading

port, habit = int(sys.argv[1]), sys.argv[2]
store = {"/old": (b"old content", 1)} if habit == "read-only" else {}
lock = threading.Lock()
count = version = 0


def tags_match(value, tag, weakly):
    if value == "*":
        return True
    listed = [one.strip() for one in value.split(",")]
    return tag in listed or (weakly and "W/" + tag in listed)


def failed_condition(fields_in, method, here):
    """0, 412 or 304. All tags are strong, and there are no dates, so that 13.1.3 and 13.1.4 do not apply."""
    tag = '"%d"' % here[1] if here else None
    if "if-match" in fields_in and not (here and tags_match(fields_in["if-match"], tag, False)):
        return 412
    if "if-none-match" in fields_in and here and tags_match(fields_in["if-none-match"], tag, True):
        return 304 if method in ("GET", "HEAD") else 412
    return 0


def respond_to_read(method, fields_in, here):
    if not here:
        return 410, {"ETag": '"of-the-error"'}, b"gone"
    failed = failed_condition(fields_in, method, here)
    tag = {"ETag": '"%d"' % here[1]}
    if failed == 412:
        return 412, {"ETag": 'W/"of-the-error"'}, b"no"
    if method == "HEAD":
        return failed or 200, {}, b""
    if failed:
        return failed, tag, b""
    whole, ranged = here[0], fields_in.get("range", "")
    if ranged.startswith("bytes=") and fields_in.get("if-range", tag["ETag"]) == tag["ETag"]:
        first, last = (int(n) for n in ranged[6:].split("-"))
        if first >= len(whole):
            return 416, {"Content-Range": "bytes */%d" % len(whole), "ETag": '"of-the-error"'}, b"no"
        last = (first + min(last, len(whole) - 1)) // 2
        return 206, dict(tag, **{"Content-Range": "bytes %d-%d/*" % (first, last)}), whole[first:last + 1]
    return 200, tag, whole


def respond_to_write(method, path, fields_in, body):
    global version
    here = store.get(path)
    if method == "POST":
        return 303, {"Location": "/elsewhere"}, b""
    failed = failed_condition(fields_in, method, here)
    applied = here[0] == body if here and method == "PUT" else not here and method == "DELETE"
    if failed and (failed_condition({k: v for k, v in fields_in.items() if k != "if-match"}, method, here) or not applied):
        return 412, {}, b"no"
    if method == "DELETE":
        store.pop(path, None)
        return 204, {}, b""
    if not failed:
        version += 1
        store[path] = (body, version)
    return (200 if here else 201), {}, b"done"


def respond(method, path, fields_in, body):
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
            respond_to_write(method, path, fields_in, body)
        return (500 if count % 4 else 503), {}, b"failed"
    return respond_to_read(method, fields_in, store.get(path)) if reads else respond_to_write(method, path, fields_in, body)


class Connection(socketserver.StreamRequestHandler):
    def body_of(self, fields_in):
        if fields_in.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(fields_in.get("content-length", 0)))
        body = b""
        while n := int(self.rfile.readline(), 16):
            body += self.rfile.read(n)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def handle(self):
        while line := self.rfile.readline().decode("latin-1"):
            fields_in = {}
            while field := self.rfile.readline().decode("latin-1").strip():
                name, value = field.split(":", 1)
                fields_in[name.lower()] = value.strip()
            method, path, _ = line.split(" ")
            body = self.body_of(fields_in)
            with lock:
                status, fields, content = respond(method, path, fields_in, body)
            lines = ["HTTP/1.1 %d x" % status] + ["%s: %s" % pair for pair in fields.items()]
            if status not in (204, 304):
                lines.append("Content-Length: %d" % len(content))
            self.wfile.write("\r\n".join(lines + ["", ""]).encode() + (b"" if method == "HEAD" else content))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


Server(("127.0.0.1", port), Connection).serve_forever()
