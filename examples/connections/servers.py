#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# servers.py - the servers that the models in this folder describe, and faulty variants of them.
#
#     servers.py greeter|limit|chat|login|session PORT [FAULT]
#
# One thread serves all connections. A connection is read until its client closes its side; each protocol then sends its
# last message and closes the connection.
import json
import secrets
import selectors
import socket
import sys


class Connection:
    def __init__(self, server, sock):
        self.server, self.sock = server, sock
        self.input, self.output = b'', b''
        self.closing = self.over = False
        self.user = None
        self.number = 0

    def send(self, message):
        if not self.closing and not self.over:
            self.output += self.server.encode(message)
            self.server.dirty.add(self)

    def close(self):
        self.closing = True
        self.server.dirty.add(self)


class Server:
    def __init__(self, fault):
        self.fault = fault
        self.dirty = set()
        self.open = []
        self.selector = selectors.DefaultSelector()

    def encode(self, message):
        return json.dumps(message).encode() + b'\n'

    def decode(self, line):
        return json.loads(line)

    # ---- the protocol --------------------------------------------------------------------------------------------

    def opened(self, c): pass

    def received(self, c, message): pass

    def closed(self, c):
        c.close()

    def broken(self, c): pass

    # ---- sockets -------------------------------------------------------------------------------------------------

    def accept(self, listener):
        sock, _ = listener.accept()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c = Connection(self, sock)
        self.selector.register(sock, selectors.EVENT_READ, c)
        self.open.append(c)
        self.opened(c)

    def drop(self, c, broken):
        if c.over:
            return
        c.over = True
        self.selector.unregister(c.sock)
        c.sock.close()
        self.open.remove(c)
        if broken and not c.closing:
            self.broken(c)

    def read(self, c):
        try:
            data = c.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            self.drop(c, True)
            return
        c.input += data
        while not c.closing and not c.over and b'\n' in c.input:
            line, c.input = c.input.split(b'\n', 1)
            self.received(c, self.decode(line))
        if not data and not c.closing and not c.over:
            self.closed(c)

    def write(self, c):
        try:
            while c.output:
                c.output = c.output[c.sock.send(c.output):]
        except BlockingIOError:
            self.selector.modify(c.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, c)
            return
        except OSError:
            self.drop(c, True)
            return
        if c.closing:
            self.drop(c, False)
        else:
            self.selector.modify(c.sock, selectors.EVENT_READ, c)

    def flush(self):
        while self.dirty:
            c = self.dirty.pop()
            if not c.over:
                self.write(c)

    def run(self, port):
        listener = socket.create_server(('127.0.0.1', port), backlog=128)
        self.selector.register(listener, selectors.EVENT_READ, None)
        while True:
            for key, events in self.selector.select():
                if key.data is None:
                    self.accept(listener)
                elif not key.data.over and events & selectors.EVENT_READ:
                    self.read(key.data)
                elif not key.data.over:
                    self.dirty.add(key.data)
                self.flush()


class Greeter(Server):
    FAULTS = ('greets-late', 'greets-twice', 'omits-bye', 'stays-open')

    def opened(self, c):
        if self.fault != 'greets-late':
            c.send('hello')
        if self.fault == 'greets-twice' and len(self.open) > 1:
            c.send('hello')

    def received(self, c, message):
        if self.fault == 'greets-late' and not c.number:
            c.send('hello')
        c.number += 1
        if message == 'quit' and self.fault == 'stays-open':
            c.send('bye')
        elif message == 'quit':
            self.closed(c)
        else:
            c.send(message)

    def closed(self, c):
        if not (self.fault == 'omits-bye' and c.number):
            c.send('bye')
        c.close()


class Limit(Server):
    FAULTS = ('counts-closed', 'counts-refused', 'serves-four', 'leaves-refused-open', 'leaks-aborted')

    def __init__(self, fault):
        super().__init__(fault)
        self.served = set()

    def opened(self, c):
        if len(self.served) >= (4 if self.fault == 'serves-four' else 3):
            if self.fault == 'counts-refused':
                self.served.add(c)
            c.send('full')
            if self.fault != 'leaves-refused-open':
                c.close()
        else:
            self.served.add(c)
            c.send('welcome')

    def received(self, c, message):
        if message == 'quit':
            self.served.discard(c)
            c.send('bye')
            c.close()
        else:
            c.send(len(self.served))

    def closed(self, c):
        if self.fault != 'counts-closed':
            self.served.discard(c)
        c.close()

    def broken(self, c):
        if self.fault != 'leaks-aborted':
            self.served.discard(c)


class Chat(Server):
    FAULTS = ('forgets-to-announce', 'announces-to-all', 'reuses-numbers', 'sends-to-sender')

    def __init__(self, fault):
        super().__init__(fault)
        self.joined = 0

    def tell_others(self, me, news, value, all=False):
        for c in self.open:
            if c is not me or all:
                c.send({'from': me.number, news: value})

    def opened(self, c):
        self.joined = len(self.open) if self.fault == 'reuses-numbers' else self.joined + 1
        c.number = self.joined
        c.send({'welcome': c.number})
        self.tell_others(c, 'joined', True, self.fault == 'announces-to-all')

    def received(self, c, message):
        self.tell_others(c, 'text', message, self.fault == 'sends-to-sender')

    def closed(self, c):
        c.close()
        self.tell_others(c, 'left', True)

    def broken(self, c):
        if self.fault != 'forgets-to-announce':
            self.tell_others(c, 'left', True)


class Login(Server):
    FAULTS = ('keeps-login', 'shares-user', 'skips-user', 'forgets-failure')

    def __init__(self, fault):
        super().__init__(fault)
        self.kept = None
        self.shared = None

    def encode(self, message):
        return message.encode() + b'\r\n'

    def decode(self, line):
        return line.decode().rstrip('\r')

    def opened(self, c):
        if self.fault == 'keeps-login':
            c.user, self.kept = self.kept, None
        c.send('220 ready')

    def received(self, c, line):
        user = self.shared if self.fault == 'shares-user' and c.user != 'in' else c.user
        if line == 'USER alice':
            c.user = self.shared = 'alice'
            c.send('331 password?')
        elif line == 'PASS secret' and (user == 'alice' or self.fault == 'skips-user'):
            c.user = 'in'
            c.send('230 logged in')
        elif line.startswith('PASS '):
            if self.fault != 'forgets-failure':
                c.user = self.shared = None
            c.send('530 login failed')
        elif line == 'MAIL':
            c.send('250 no mail' if c.user == 'in' else '530 log in first')
        elif line == 'QUIT':
            self.closed(c)
        else:
            c.send('500 unknown command')

    def closed(self, c):
        self.kept = c.user if c.user == 'in' else self.kept
        c.send('221 bye')
        c.close()


class Session(Server):
    FAULTS = ('forgets-on-reset', 'shares-value', 'reuses-token', 'resumes-first')

    def __init__(self, fault):
        super().__init__(fault)
        self.values = {}

    def begin(self, c, message):
        if message == 'hello':
            c.user = 'T' if self.fault == 'reuses-token' else secrets.token_hex(4)
            self.values[c.user] = 0
        elif message['token'] not in self.values:
            c.send('unknown token')
            return
        else:
            c.user = list(self.values)[0] if self.fault == 'resumes-first' else message['token']
        c.send({'token': message['token'] if message != 'hello' else c.user})

    def received(self, c, message):
        if not c.user:
            self.begin(c, message)
        elif message == 'get':
            c.send(self.values[c.user])
        elif self.fault == 'shares-value':
            self.values = dict.fromkeys(self.values, message['set'])
            c.send('ok')
        else:
            self.values[c.user] = message['set']
            c.send('ok')

    def broken(self, c):
        if self.fault == 'forgets-on-reset' and c.user in self.values:
            self.values[c.user] = 0


SERVERS = {'session': Session, 'greeter': Greeter, 'limit': Limit, 'chat': Chat, 'login': Login}

if __name__ == '__main__':
    if len(sys.argv) == 2 and sys.argv[1] in SERVERS:
        print('\n'.join(SERVERS[sys.argv[1]].FAULTS))
        sys.exit()
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in SERVERS:
        sys.exit('usage: servers.py ' + '|'.join(SERVERS) + ' PORT [FAULT]')
    kind, fault = SERVERS[sys.argv[1]], sys.argv[3] if len(sys.argv) == 4 else None
    if fault and fault not in kind.FAULTS:
        sys.exit(f'servers.py: {fault}: unknown fault; use one of: ' + ', '.join(kind.FAULTS))
    kind(fault).run(int(sys.argv[2]))
