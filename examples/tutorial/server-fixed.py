"""A server for the stock of a shop: one JSON value per line, many clients at once."""
import json, socketserver, sys, threading, time

stock = {}
lock = threading.Lock()


def journal(entry):
    time.sleep(0.02)  # simulates a write to a database


def change(item, count):
    with lock:
        left = stock.get(item, 0) + count
        if left < 0:
            return "sold out"
        journal([item, left])
        stock[item] = left
    return left


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            request = json.loads(line)
            f, item = request["f"], request["item"]
            if f == "add":
                answer = change(item, request["count"])
            elif f == "take":
                answer = change(item, -request["count"])
            else:
                answer = stock.get(item, 0)
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Client).serve_forever()
