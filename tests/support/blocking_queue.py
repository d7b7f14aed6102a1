# SPDX-License-Identifier: Apache-2.0
#
# blocking_queue.py - a queue whose clients can wait for an item; a connection that waits is not read.
#
#   blocking_queue.py PORT MODE
#
#   {"f": "push", "x": X}   returns the length of the queue after the push; the client that waits longest gets X
#   {"f": "pop"}            removes and returns the oldest item, or null
#   {"f": "bpop"}           the same, but waits for an item
#
# MODE: right, or an error in every third case: forgets loses a wakeup and keeps the item in the queue; loses loses the
# item as well; doubles keeps the item although it wakes a waiter; gives-up returns null instead of waiting; newest returns
# the newest item.
import collections
import json
import selectors
import socket
import sys

mode = sys.argv[2]
items = collections.deque()
waiters = []  # the one that waits longest is first
inboxes = {}
wrongs = 0
selector = selectors.DefaultSelector()


def is_wrong(kind):
    global wrongs
    wrongs += mode == kind
    return mode == kind and wrongs % 3 == 0


def send(connection, message):
    try:
        connection.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        pass


def push(item):
    items.append(item)
    size = len(items)
    if not waiters or is_wrong("forgets"):
        return size
    waiter = waiters.pop(0)
    if not is_wrong("doubles"):
        items.popleft()
    if not is_wrong("loses"):
        send(waiter, item)
        ready.append(waiter)
    return size


def respond(connection, q):
    if q["f"] == "push":
        send(connection, push(q["x"]))
    elif items:
        send(connection, items.pop() if is_wrong("newest") else items.popleft())
    elif q["f"] == "pop" or is_wrong("gives-up"):
        send(connection, None)
    else:
        waiters.append(connection)


def read(connection):
    try:
        data = connection.recv(65536)
    except OSError:
        data = b""
    if data:
        inboxes[connection] += data
        ready.append(connection)
    else:
        selector.unregister(connection)
        if connection in waiters:
            waiters.remove(connection)
        del inboxes[connection]
        connection.close()


def serve(connection):
    while connection in inboxes and connection not in waiters and b"\n" in inboxes[connection]:
        line, inboxes[connection] = inboxes[connection].split(b"\n", 1)
        respond(connection, json.loads(line))


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(1024)
selector.register(listener, selectors.EVENT_READ)
ready = collections.deque()
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            connection = listener.accept()[0]
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            inboxes[connection] = b""
            selector.register(connection, selectors.EVENT_READ)
        else:
            read(key.fileobj)
        while ready:
            serve(ready.popleft())
