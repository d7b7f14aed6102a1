"""A small REST application: users log in, own items, and fill a cart. Run it as: server.py PORT [--bug NAME]

POST /login    {"user": ..., "password": ...}   200 with the cookie "session", or 401
POST /logout                                    204; the session ends
POST /items    {"name": ...}                    201 {"id": ..., "name": ...}; the server chooses the id
GET, PUT, DELETE /items/ID                      200 or 204, or 404: not an item of this user
POST /cart     {"add": ...}                     200 {"cart": [...]}, the cart of this session

All but /login need the cookie of a session, and return 401 without it. The bugs are session-survives-logout, id-reused,
foreign-item and lost-update.
"""
import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PASSWORDS = {"ann": "apple", "bob": "berry"}

sessions = {}  # token: {"user", "cart"}
items = {}     # id: {"user", "name"}
free_ids = []  # of deleted items
lock = threading.Lock()


class Failed(Exception):
    """The request failed with this status."""


def login(body):
    if PASSWORDS.get(body.get("user")) != body["password"]:
        raise Failed(401)
    token = os.urandom(8).hex()
    sessions[token] = {"user": body["user"], "cart": []}
    return 200, {"user": body["user"]}, token


def logout(token):
    if bug != "session-survives-logout":
        del sessions[token]
    return 204, None


def add_item(user, body):
    new_id = free_ids.pop() if bug == "id-reused" and free_ids else os.urandom(4).hex()
    items[new_id] = {"user": user, "name": body["name"]}
    return 201, {"id": new_id, "name": body["name"]}


def use_item(method, user, item_id, body):
    item = items.get(item_id)
    foreign = item and item["user"] != user and not (bug == "foreign-item" and method == "GET")
    if not item or foreign:
        raise Failed(404)
    if method == "DELETE":
        del items[item_id]
        free_ids.append(item_id)
        return 204, None
    if method == "PUT":
        item["name"] = body["name"]
    return 200, {"id": item_id, "name": item["name"]}


def add_to_cart(session, body):
    cart = session["cart"] + [body["add"]]
    if bug == "lost-update":
        lock.release()
        threading.Event().wait(0.01)  # a slow price service, for which the lock was released
        lock.acquire()
    session["cart"] = cart
    return 200, {"cart": session["cart"]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1                    # one write for each response
    disable_nagle_algorithm = True

    def route(self, body):
        method, path = self.command, self.path
        if (method, path) == ("POST", "/login"):
            return login(body)
        token = (self.headers["Cookie"] or "").partition("session=")[2]
        session = sessions.get(token)
        if not session:
            raise Failed(401)
        if (method, path) == ("POST", "/logout"):
            return logout(token)
        if (method, path) == ("POST", "/cart"):
            return add_to_cart(session, body)
        if (method, path) == ("POST", "/items"):
            return add_item(session["user"], body)
        return use_item(method, session["user"], path.removeprefix("/items/"), body)

    def respond(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        try:
            with lock:
                status, answer, *token = self.route(json.loads(body or "null"))
        except Failed as failed:
            status, answer, token = failed.args[0], {"error": "failed"}, []
        text = json.dumps(answer).encode() if answer else b""
        self.send_response(status)
        for t in token:
            self.send_header("Set-Cookie", f"session={t}; Path=/; HttpOnly")
        if text:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = respond

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


bug = sys.argv[3] if "--bug" in sys.argv else None
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
