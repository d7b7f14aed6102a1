"""A gateway for HTTP with two origin servers. Run it as: server.py PORT ORIGIN-0 ORIGIN-1 [--bug NAME]

GET /users/X is forwarded as GET /X to the port ORIGIN-0, and GET /items/X to ORIGIN-1, with the client's Accept. The
response of the origin is returned. Any other path is a 404. The bugs are wrong-origin and wrong-client (one request in
five), cached and no-accept.
"""
import http.client, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, *origins = map(int, sys.argv[1:4])
bug = sys.argv[5] if "--bug" in sys.argv else None
lock = threading.Lock()
count = 0
cache = {}
last = None


def call(origin, path, accept):
    """Returns the response of an origin: the status, the content type and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", origins[origin])
    connection.request("GET", path, headers={"Accept": accept} if accept and bug != "no-accept" else {})
    response = connection.getresponse()
    answer = response.status, response.headers["Content-Type"], response.read()
    connection.close()
    return answer


def forward(origin, path, accept):
    global count, last
    with lock:
        count += 1
        nth = count % 5 == 0
    if bug == "wrong-origin" and nth:
        origin = 1 - origin
    if bug == "cached" and (origin, path) in cache:
        return cache[origin, path]
    answer = call(origin, path, accept)
    with lock:
        cache[origin, path] = answer
        last, other = answer, last
    return other if bug == "wrong-client" and nth else answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1                    # one write for each response
    disable_nagle_algorithm = True

    def do_GET(self):
        first, _, name = self.path[1:].partition("/")
        found = first in ("users", "items") and name and "/" not in name
        status, kind, body = (forward(first == "items", "/" + name, self.headers["Accept"]) if found
                              else (404, None, b""))
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", port), Handler).serve_forever()
