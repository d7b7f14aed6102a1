# SPDX-License-Identifier: Apache-2.0
#
# webclient.py - byte-level checks of a web server; for tests/cli/web.sh.
#
# usage: python3 webclient.py PORT right PID [MEGABYTES]
#        python3 webclient.py PORT mutant N right|wrong
#
# right: runs all checks that a correct server passes, also with hostile clients. PID is the process of the server, MEGABYTES
# the limit of its peak memory. mutant: checks that the responses to the sequence for mutant N are those of the correct
# server (right) or of the mutant (wrong).
#
# Prints the differences; the exit code is 1 if there are any. An operation waits up to PATIENCE seconds.
import random
import re
import resource
import socket
import struct
import sys
import time
from email.utils import formatdate, parsedate_to_datetime

PATIENCE = 200
port = int(sys.argv[1])
OLD = 'Sun, 06 Nov 1994 08:49:37 GMT'
FUTURE = formatdate(time.time() + 1000000, usegmt=True)


class Malformed(Exception):
    """The received bytes are not a response."""


class Response:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def __getattr__(self, name):
        return self.fields.get(name.replace('_', '-'))

    def short(self):
        return '%d %s' % (self.status, self.body.decode('latin1')) if self.status in (200, 206) and self.body \
            else str(self.status)


class Client:
    def __init__(self):
        self.socket = socket.create_connection(('127.0.0.1', port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b''

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode('latin1'))

    def more(self):
        data = self.socket.recv(1 << 16)
        self.rest += data
        return data

    def take(self, count):
        while len(self.rest) < count:
            if not self.more():
                raise Malformed('closed in the middle: %r' % self.rest[:100])
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def line(self):
        while b'\n' not in self.rest:
            if not self.more():
                raise Malformed('closed in the middle of a line: %r' % self.rest[:100])
        line, self.rest = self.rest.split(b'\n', 1)
        if not line.endswith(b'\r'):
            raise Malformed('no CR: %r' % line[:100])
        return line[:-1].decode('latin1')

    def answer(self, method='GET'):
        """Returns the next response, parsed strictly."""
        first = self.line()
        match = re.fullmatch(r'HTTP/1\.1 (\d\d\d) [ -~]*', first)
        if not match:
            raise Malformed('no status line: %r' % first[:100])
        status, fields = int(match.group(1)), {}
        while True:
            line = self.line()
            if not line:
                break
            name, value = re.fullmatch(r'([A-Za-z-]+): (\S.*)', line).groups()
            if name.lower() in fields:
                raise Malformed('twice: %s' % name)
            fields[name.lower()] = value
        if status == 100:
            return Response(status, fields, b'')
        if 'date' not in fields:
            raise Malformed('no Date')
        if (status in (204, 304)) != ('content-length' not in fields):
            raise Malformed('Content-Length of %d: %s' % (status, fields))
        bodiless = method == 'HEAD' or status in (204, 304)
        return Response(status, fields, b'' if bodiless else self.take(int(fields['content-length'])))

    def ask(self, method, path, body=None, **fields):
        self.send(request(method, path, body, **fields))
        return self.answer(method)

    def closed(self):
        """Checks that the server closes the connection and sends nothing more."""
        while self.more():
            pass
        return not self.rest


def request(method, path, body=None, **fields):
    lines = ['%s %s HTTP/1.1' % (method, path), 'Host: test']
    lines += ['%s: %s' % (name.replace('_', '-'), value) for name, value in fields.items()]
    if body is not None:
        lines.append('Content-Length: %d' % len(body))
    return ('\r\n'.join(lines) + '\r\n\r\n' + (body or '')).encode('latin1')


# ---- mutants ---------------------------------------------------------------------------------------------------------

# For each mutant: requests, the responses of the correct server, and those of the mutant. {tag} is the tag of the last
# response with a tag; {weak} is its weak form; {first} is the tag of the first response. Requests in a list are sent
# together.
ONE = ('PUT', '/a', 'one')
READ = ('GET', '/a')
MUTANTS = {
    1: ([ONE, READ], '201, 200 one', '404, 404'),
    2: ([ONE, ('GET', '/a', None, {'If-None-Match': '"x", {tag}'})], '201, 304', '201, 200 one'),
    3: ([ONE, ('DELETE', '/a', None, {'If-Match': '"x"'}), READ], '201, 412, 200 one',
        '201, 200 a condition of the request does not hold, 200 one'),
    4: ([ONE, ('GET', '/a', None, {'If-Match': '{tag}'})], '201, 200 one', '201, 412'),
    5: ([ONE, ('GET', '/a', None, {'If-None-Match': '{tag}'})], '201, 304', '201, 200 one'),
    6: ([READ], '404', '200'),
    7: ([ONE, ('PUT', '/a', 'two', {'If-Match': '"x"'}), READ], '201, 412, 200 one', '201, 204, 200 two'),
    8: ([ONE, ('PUT', '/a', 'two', {'If-Match': '{weak}'}), READ], '201, 412, 200 one', '201, 204, 200 two'),
    9: ([ONE, ('PUT', '/a', 'two', {'If-None-Match': '{weak}'}), READ], '201, 412, 200 one', '201, 204, 200 two'),
    10: ([ONE, ('PUT', '/a', 'two', {'If-None-Match': '{tag}'}), READ], '201, 412, 200 one', '201, 204, 200 two'),
    11: ([ONE, READ], '201, 200 one', '201, 200 one+'),
    12: ([ONE, READ], '201, 200 one', '201, 200 on'),
    13: ([ONE, READ], '201, 200 one', '201, 404'),
    14: ([ONE, READ], '201, 200 one', '201, 200'),
    15: ([ONE, READ], '201, 200 one', '201, 200'),
    16: ([ONE, ('DELETE', '/a'), READ], '201, 204, 404', '201, 204, 200 one'),
    17: ([ONE, ('PUT', '/a', 'two'), ('GET', '/a', None, {'If-None-Match': '{first}'})], '201, 204, 200 two',
         '201, 204, 304'),
    18: ([ONE, [READ, ('GET', '/nothing')]], '201, 200 one, 404', '201, 404, 200 one'),
    19: ([ONE, ('HEAD', '/a'), READ], '201, 200, 200 one', '201, 200, malformed'),
    20: ([ONE, ('PUT', '/a', 'two', {'If-Unmodified-Since': OLD}), READ], '201, 412, 200 one', '201, 204, 200 two'),
}


def transcript(steps):
    client, responses, tags = Client(), [], []
    for step in steps:
        together = step if isinstance(step, list) else [step]
        data = b''
        for method, path, body, fields in [(list(one) + [None, {}][len(one) - 2:]) for one in together]:
            tag = tags[-1] if tags else ''
            known = {'tag': tag, 'weak': 'W/' + tag.replace('W/', ''), 'first': tags[0] if tags else ''}
            data += request(method, path, body, **{n: v.format(**known) for n, v in fields.items()})
        client.send(data)
        for one in together:
            try:
                answer = client.answer(one[0])
            except Malformed:
                return ', '.join(responses + ['malformed'])
            responses.append(answer.short())
            if answer.etag:
                tags.append(answer.etag)
    return ', '.join(responses)


def check_mutant(number, which):
    steps, right, wrong = MUTANTS[number]
    seen, expected = transcript(steps), right if which == 'right' else wrong
    if seen != expected:
        print('mutant %d, %s: %s, not %s' % (number, which, seen, expected))
    return seen == expected


# ---- the correct server ----------------------------------------------------------------------------------------------

faults = 0
checks = []
paths = iter(range(1000000))


def check(function):
    checks.append(function)
    return function


def same(what, seen, wanted):
    global faults
    if seen != wanted:
        faults += 1
        print('%s: %r, not %r' % (what, seen, wanted))


def fresh():
    return '/fresh/%d' % next(paths)


def status(method, path, body=None, **fields):
    return Client().ask(method, path, body, **fields).status


def written(c, weak=False):
    """Writes a new resource with a tag of this strength. Returns its path and tag."""
    path = fresh()
    for _ in range(2):
        answer = c.ask('PUT', path, 'content')
        if answer.etag.startswith('W/') == weak:
            return path, answer.etag
    raise AssertionError('every second tag is weak')


def next_second(c):
    """Waits for the next second of the server's clock."""
    begin = c.ask('GET', '/nothing').date
    while c.ask('GET', '/nothing').date == begin:
        time.sleep(0.01)


@check
def methods():
    c, p = Client(), fresh()
    same('GET of a missing resource', c.ask('GET', p).status, 404)
    same('HEAD of a missing resource', c.ask('HEAD', p).status, 404)
    same('DELETE of a missing resource', c.ask('DELETE', p).status, 404)
    tags, codes = [], []
    for i in range(5):
        a = c.ask('PUT', p, 'v%d' % i, Content_Type='text/x')
        codes.append(a.status)
        tags.append(a.etag)
        g = c.ask('GET', p)
        same('GET after PUT', (g.status, g.body, g.etag, g.last_modified, g.content_type),
             (200, b'v%d' % i, a.etag, a.last_modified, 'text/x'))
        h = c.ask('HEAD', p)
        same('HEAD', (h.status, h.body, h.etag, h.last_modified, h.content_length),
             (200, b'', g.etag, g.last_modified, g.content_length))
    same('PUT creates', codes[0], 201)
    same('PUT replaces', set(codes[1:]), {200, 204})
    same('POST appends', (c.ask('POST', p, '+x').status, c.ask('GET', p).body), (200, b'v4+x'))
    tags.append(c.ask('GET', p).etag)
    same('DELETE', (c.ask('DELETE', p).status, c.ask('GET', p).status), (204, 404))
    a = c.ask('POST', p, 'new')
    same('POST creates', (a.status, a.body, c.ask('GET', p).body), (201, b'', b'new'))
    tags.append(c.ask('PUT', p, 'v0').etag)
    same('tags are unique', len(set(t.replace('W/', '') for t in tags)), len(tags))
    same('strong and weak tags', set(t.startswith('W/') for t in tags), {True, False})
    same('an empty representation', (c.ask('PUT', p, '').status in (200, 204), c.ask('GET', p).body), (True, b''))
    same('any byte', (c.ask('PUT', p, ''.join(map(chr, range(256)))).status in (200, 204), c.ask('GET', p).body),
         (True, bytes(range(256))))
    same('times', parsedate_to_datetime(a.last_modified) <= parsedate_to_datetime(a.date), True)
    a = c.ask('OPTIONS', '*')
    same('OPTIONS', (a.status, a.allow), (405, 'GET, HEAD, PUT, POST, DELETE'))
    same('other methods', [c.ask(m, p).status for m in ('TRACE', 'PATCH', 'BREW', 'get', 'GETS')],
         [405, 405, 501, 501, 501])
    same('CONNECT', c.ask('CONNECT', 'a:1').status, 405)


@check
def if_match():
    c = Client()
    p, tag = written(c)
    for value, wanted in [(tag, 200), ('"x"', 412), ('*', 200), ('"x", ' + tag, 200), (tag + ',"x"', 200),
                          (',, ' + tag + ' ,', 200),
                          ('W/' + tag, 412), ('"x", W/' + tag, 412), (tag[:-1] + 'x"', 412), ('"a,b", ' + tag, 200),
                          (tag[1:-1], 400), ('', 400), ('*, ' + tag, 400), (tag + tag, 400), (tag[:-1], 400),
                          ('w/' + tag, 400)]:
        same('GET If-Match: ' + value, c.ask('GET', p, If_Match=value).status, wanted)
        same('HEAD If-Match: ' + value, c.ask('HEAD', p, If_Match=value).status, wanted)
    w, weak = written(c, weak=True)
    same('a weak tag never matches strongly', [c.ask('GET', w, If_Match=v).status for v in (weak, weak[2:], '*')],
         [412, 412, 200])
    for method, done in [('PUT', {200, 204}), ('POST', {200}), ('DELETE', {204})]:
        p, tag = written(c)
        same(method + ' fails', c.ask(method, p, 'new', If_Match='"x"').status, 412)
        same(method + ' did nothing', [c.ask('GET', p).body, c.ask('GET', p).etag], [b'content', tag])
        same(method + ' If-Match', c.ask(method, p, 'new', If_Match=tag).status in done, True)
        same(method + ' again', c.ask(method, p, 'new', If_Match=tag).status, 404 if method == 'DELETE' else 412)
    p = fresh()
    same('of a missing resource',
         [c.ask(m, p, 'x', If_Match=v).status for m in ('PUT', 'POST', 'GET', 'DELETE') for v in ('*', '"x"')],
         [412, 412, 412, 412, 404, 404, 404, 404])
    c.send('GET %s HTTP/1.1\r\nHost: a\r\nIf-Match: "x"\r\nif-match: "y"\r\n\r\n' % w)
    same('two lines', c.answer().status, 412)
    p, tag = written(c)
    c.send('GET %s HTTP/1.1\r\nHost: a\r\nIf-Match: "x"\r\nIF-MATCH:%s  \r\n\r\n' % (p, tag))
    same('two lines, one right', c.answer().status, 200)


@check
def if_none_match():
    c = Client()
    for weak in (False, True):
        p, tag = written(c, weak)
        opaque = tag.replace('W/', '')
        for value, match in [(tag, True), ('"x"', False), ('*', True), ('"x", ' + opaque, True), ('W/' + opaque, True),
                             ('W/"x"', False), (opaque, True), (opaque[:-1] + 'x"', False),
                             ('"x",W/' + opaque + ',"y"', True)]:
            a = c.ask('GET', p, If_None_Match=value)
            same('GET If-None-Match: ' + value, (a.status, a.body, a.etag),
                 (304, b'', tag) if match else (200, b'content', tag))
            same('HEAD If-None-Match: ' + value, c.ask('HEAD', p, If_None_Match=value).status, 304 if match else 200)
        same('POST If-None-Match', c.ask('POST', p, '', If_None_Match='*').status, 412)
        same('DELETE If-None-Match', [c.ask('DELETE', p, If_None_Match=v).status for v in (tag, '*', '"x"', '"x"')],
             [412, 412, 204, 404])
    same('PUT of a new resource only', [c.ask('PUT', p, 'x', If_None_Match='*').status for _ in range(2)], [201, 412])
    same('no list', c.ask('GET', p, If_None_Match='x').status, 400)


@check
def each_if_none_match():
    """A new resource for each value, because each write changes the tag."""
    c = Client()
    for weak in (False, True):
        for form, match in [('%s', True), ('W/%s', True), ('"x", %s', True), ('"x", W/%s, "y"', True),
                            ('"x", W/"y"', False)]:
            p, tag = written(c, weak)
            value = form % tag.replace('W/', '') if '%' in form else form
            seen = c.ask('PUT', p, 'new', If_None_Match=value).status
            same('PUT to %s If-None-Match: %s' % (tag, value), seen == 412, match)
            same('and', c.ask('GET', p).body, b'content' if match else b'new')


@check
def dates():
    c = Client()
    p, tag = written(c)
    made = c.ask('GET', p).last_modified
    stamp = parsedate_to_datetime(made).timestamp()
    before, after = formatdate(stamp - 1, usegmt=True), formatdate(stamp + 1, usegmt=True)
    since = {OLD: True, before: True, made: False, after: False, FUTURE: False}
    for date, changed in since.items():
        same('If-Modified-Since: ' + date, c.ask('GET', p, If_Modified_Since=date).status, 200 if changed else 304)
        same('HEAD If-Modified-Since: ' + date, c.ask('HEAD', p, If_Modified_Since=date).status,
             200 if changed else 304)
        same('If-Unmodified-Since: ' + date, c.ask('GET', p, If_Unmodified_Since=date).status, 412 if changed else 200)
    for form in ('Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'):
        same(form, c.ask('PUT', p, 'x', If_Unmodified_Since=form).status, 412)
    t = time.gmtime(stamp + 9)
    for form in ('%A, %d-%b-%y %H:%M:%S GMT', '%a %b %e %H:%M:%S %Y'):
        same(form, c.ask('GET', p, If_Modified_Since=time.strftime(form, t)).status, 304)
    for bad in ('yesterday', '', OLD + ', ' + OLD, OLD[:-4], OLD + ' ', 'Sun, 31 Feb 1994 08:49:37 GMT', '784111777',
                'Sun, 06 Nov 1994 24:49:37 GMT', 'sun, 06 nov 1994 08:49:37 gmt', 'Sun, D6 Nov 1994 08:49:37 GMT'):
        same('no date: ' + bad, c.ask('GET', p, If_Unmodified_Since=bad).status, 412 if bad == OLD + ' ' else 200)
    same('PUT', [c.ask('PUT', p, 'y', If_Unmodified_Since=v).status == 412 for v in (before, after)], [True, False])
    same('DELETE', [c.ask('DELETE', p, If_Unmodified_Since=v).status for v in (before, FUTURE)], [412, 204])
    same('of a missing resource', c.ask('PUT', p, 'z', If_Unmodified_Since=OLD).status, 201)
    same('PUT has no If-Modified-Since', c.ask('PUT', p, 'z', If_Modified_Since=FUTURE).status in (200, 204), True)


@check
def precedence():
    c = Client()
    p, tag = written(c)
    for wanted, fields in [
            (200, dict(If_Match=tag, If_Unmodified_Since=OLD)), (412, dict(If_Match='"x"', If_Unmodified_Since=FUTURE)),
            (200, dict(If_None_Match='"x"', If_Modified_Since=FUTURE)),
            (304, dict(If_None_Match=tag, If_Modified_Since=OLD)),
            (412, dict(If_Match='"x"', If_None_Match=tag)), (304, dict(If_Match=tag, If_None_Match=tag)),
            (412, dict(If_Unmodified_Since=OLD, If_None_Match=tag)),
            (304, dict(If_Unmodified_Since=FUTURE, If_Modified_Since=FUTURE)),
            (304, dict(If_None_Match=tag, Range='bytes=0-0')), (412, dict(If_Match='"x"', Range='bytes=99-')),
            (416, dict(If_Match=tag, Range='bytes=99-')), (304, dict(If_None_Match=tag, Range='bytes=99-'))]:
        same('GET %s' % fields, c.ask('GET', p, **fields).status, wanted)
    same('PUT', c.ask('PUT', p, 'x', If_Match='*', If_None_Match='*').status, 412)
    same('404 before conditions', c.ask('GET', fresh(), If_Match='x', If_None_Match='*').status, 404)


@check
def ranges():
    c = Client()
    p, tag = written(c)
    for value, wanted in [
            ('bytes=0-0', 'c 0-0'), ('bytes=1-3', 'ont 1-3'), ('bytes=3-', 'tent 3-6'), ('bytes=-2', 'nt 5-6'),
            ('bytes=-99', 'content 0-6'), ('bytes=5-99', 'nt 5-6'), ('BYTES=0-1', 'co 0-1'),
            ('bytes=6-99999999999999999999999999', 't 6-6')]:
        a = c.ask('GET', p, Range=value)
        same(value, (a.status, '%s %s' % (a.body.decode(), a.content_range), a.etag),
             (206, wanted.replace(' ', ' bytes ') + '/7', tag))
    for value in ('bytes=7-', 'bytes=7-8', 'bytes=-0', 'bytes=99999999999999999999999999-'):
        a = c.ask('GET', p, Range=value)
        same(value, (a.status, a.content_range), (416, 'bytes */7'))
    for value in ('bytes=3-1', 'bytes=', 'bytes=-', 'bytes=a-b', 'lines=0-0', 'bytes 0-0', 'bytes=0-0,2-3', 'bytes=1',
                  ''):
        a = c.ask('GET', p, Range=value)
        same('no range: ' + value, (a.status, a.body, a.content_range), (200, b'content', None))
    same('HEAD has no ranges', c.ask('HEAD', p, Range='bytes=0-0').status, 200)
    same('PUT has none', c.ask('PUT', p, 'content', Range='bytes=0-0').status in (200, 204), True)
    e = fresh()
    c.ask('PUT', e, '')
    same('of a missing resource', [c.ask('GET', e, Range=v).status for v in ('bytes=0-', 'bytes=-1', 'bytes=-0')], [416, 200, 416])


@check
def if_range():
    c = Client()
    p, tag = written(c)
    w, weak = written(c, weak=True)
    for path, value, wanted in [(p, tag, 206), (p, '"x"', 200), (p, 'W/' + tag, 200), (w, weak, 200),
                                (w, weak[2:], 200),
                                (p, tag + ', "x"', 200), (p, 'x', 200), (p, '*', 200), (p, OLD, 200)]:
        same('If-Range: ' + value, c.ask('GET', path, Range='bytes=0-0', If_Range=value).status, wanted)
    same('without Range', c.ask('GET', p, If_Range=tag).status, 200)
    # A date is a strong validator only after the end of its second, and if the content changed only once in it; a content
    # that was deleted in that second counts, too.
    end = time.time() + PATIENCE
    next_second(c)
    while time.time() < end:
        path = fresh()
        made = c.ask('PUT', path, 'content').last_modified
        early = c.ask('GET', path, Range='bytes=0-0', If_Range=made)
        next_second(c)
        if early.date == made:
            break
    same('If-Range with the date of this second', early.status, 200)
    same('If-Range with a date', c.ask('GET', path, Range='bytes=0-0', If_Range=made).status, 206)
    while time.time() < end:
        made = [c.ask('PUT', path, 'content').last_modified for _ in range(2)]
        next_second(c)
        if made[0] == made[1]:
            break
    same('after two changes in a second', c.ask('GET', path, Range='bytes=0-0', If_Range=made[1]).status, 200)
    while time.time() < end:
        path = fresh()
        first = c.ask('PUT', path, 'content').last_modified
        c.ask('DELETE', path)
        made = c.ask('PUT', path, 'another').last_modified
        next_second(c)
        if first == made:
            break
    same('after a DELETE in the same second', c.ask('GET', path, Range='bytes=0-0', If_Range=made).status, 200)


@check
def connections():
    c, p = Client(), fresh()
    reads = request('GET', p) + request('HEAD', p) + request('DELETE', p)
    c.send(b''.join(request('PUT', p, 'v%d' % i) + reads for i in range(500)))
    for i in range(500):
        same('pipelined', [c.answer().status, c.answer().body, c.answer('HEAD').status, c.answer().status],
             [201, b'v%d' % i, 200, 204])
    same('Connection: close', (c.ask('GET', p, Connection='foo, Close').connection, c.closed()), ('close', True))
    c = Client()
    c.send(request('PUT', p, 'x', Connection='close') + request('DELETE', p))
    same('no response after close', (c.answer().status, c.closed(), status('GET', p)), (201, True, 200))
    c = Client()
    c.send(request('GET', p) * 3)
    c.socket.shutdown(socket.SHUT_WR)
    same('half closed', ([c.answer().body for _ in range(3)], c.closed()), ([b'x'] * 3, True))
    c = Client()
    c.send('GET %s HTTP/1.0\r\n\r\n' % p)
    a = c.answer()
    same('HTTP/1.0', (a.status, a.connection, c.closed()), (200, 'close', True))
    c = Client()
    c.send('\r\n\r\nGET http://any:80%s HTTP/1.1\r\nHost: x\r\n\r\n' % p)
    same('an absolute target', c.answer().status, 200)
    c.send('GET %s HTTP/1.9\r\nHost: [::1]:80\r\n\r\n' % p)
    same('HTTP/1.9', c.answer().status, 200)
    for byte in request('PUT', p, 'slowly') + request('GET', p):
        c.send(bytes([byte]))
    same('byte by byte', (c.answer().status in (200, 204), c.answer().body), (True, b'slowly'))
    same('equivalent paths', [c.ask('PUT', '/%7euser/%2f', 'x').status, c.ask('GET', '/~user/%2F').status,
                              c.ask('GET', '/~user//').status, c.ask('GET', '/~user/%2F?').status],
                              [201, 200, 404, 404])
    a = Client()
    a.send('PUT %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n' % p)
    same('100', a.answer().status, 100)
    a.send('ab')
    same('then', (a.answer().status in (200, 204), a.ask('GET', p).body), (True, b'ab'))


def chunked(body, path, more=''):
    return 'PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n%s\r\n%s' % (path, more, body)


@check
def chunks():
    c, p = Client(), fresh()
    for body, wanted in [('3\r\none\r\n0\r\n\r\n', b'one'), ('0\r\n\r\n', b''),
                         ('1\r\na\r\n00A\r\n0123456789\r\n000\r\n\r\n', b'a0123456789'),
                         ('2;x=y;z="q"\r\nab\r\n0 ;e\r\nTrailer: x\r\nIf-Match: "none"\r\n\r\n', b'ab'),
                         ('4\r\n\r\n\r\n\r\n0\r\n\r\n', b'\r\n\r\n')]:
        c.send(chunked(body, p))
        same('chunks', (c.answer().status in (200, 201, 204), c.ask('GET', p).body), (True, wanted))
    big = 'x' * 1000
    c.send(chunked(('3E8\r\n' + big + '\r\n') * 1000 + '0\r\n\r\n', p) + 'GET %s HTTP/1.1\r\nHost: x\r\n\r\n' % p)
    same('many chunks', (c.answer().status in (200, 204), len(c.answer().body)), (True, 1000000))
    for bad, wanted in [('x\r\n', 400), ('\r\n', 400), ('-1\r\n', 400), ('0x1\r\n', 400), ('1 \r\n', 400),
                        ('1\nab', 400), ('1\r\nabc', 400),
                        ('1\r\na\n0\r\n\r\n', 400), ('100001\r\n', 413), ('ffffffffffffffffffff\r\n', 413),
                        ('0\r\nbad trailer\r\n\r\n', 400), ('0\r\n folded: x\r\n\r\n', 400), ('1;' + 'e' * 20000, 431),
                        ('0\r\n' + 'a: b\r\n' * 5000, 431), (('1;' + 'e' * 100 + '\r\na\r\n') * 300, 431)]:
        c = Client()
        c.send(chunked(bad, p))
        a = c.answer()
        same('bad chunk %r' % bad[:30], (a.status, a.connection, c.closed()), (wanted, 'close', True))


@check
def refused():
    p = fresh()
    def line(text, more='Host: x\r\n'):
        return text + '\r\n' + more + '\r\n'
    def field(text):
        return line('GET %s HTTP/1.1' % p, 'Host: x\r\n' + text + '\r\n')
    def put(text, body='abc'):
        return line('PUT %s HTTP/1.1' % p, 'Host: x\r\n' + text + '\r\n') + body
    for wanted, text in [
            (400, line('GET /')), (400, line('GET  / HTTP/1.1')), (400, line('GET / HTTP/1.1 ')),
            (400, line(' GET / HTTP/1.1')),
            (400, line('GET / http/1.1')), (400, line('GET / HTTP/11')), (400, line('GET / HTTP/1.10')),
            (505, line('GET / HTTP/2.0')),
            (400, line('G(T / HTTP/1.1')), (400, line('GET a HTTP/1.1')), (400, line('GET * HTTP/1.1')),
            (400, line('GET /a#b HTTP/1.1')),
            (400, line('GET /%zz HTTP/1.1')), (400, line('GET /\xe9 HTTP/1.1')), (400, line('GET /\0 HTTP/1.1')),
            (400, line('BREW \1 HTTP/1.1')),
            (400, line('GET http:///a HTTP/1.1')), (400, line('GET http://u@h/ HTTP/1.1')),
            (400, line('GET https://h/ HTTP/1.1')),
            (400, 'GET / HTTP/1.1\nHost: x\n\n'), (400, line('GET / HTTP/1.1', '')),
            (400, line('GET / HTTP/1.1', 'Host: a b\r\n')),
            (400, line('GET / HTTP/1.1', 'Host: a\r\nHost: a\r\n')), (400, line('GET / HTTP/1.1', 'Host: a/b\r\n')),
            (400, field('Name : x')), (400, field(': x')), (400, field('name')), (400, field(' a: b')),
            (400, field('a: b\r\n c')),
            (400, put('Content-Length: 3\r\nContent-Type: a\r\nContent-Type: b')),
            (400, field('a: \0')), (400, field('a: b\rc')), (400, field('a: b\x7f')), (400, field('a\0: b')),
            (400, put('Content-Length: 3x')), (400, put('Content-Length: -3')), (400, put('Content-Length: +3')),
            (400, put('Content-Length: ')),
            (400, put('Content-Length: 3, 3')), (400, put('Content-Length: 3\r\nContent-Length: 3')),
            (400, put('Content-Length: 0x3')),
            (400, put('Content-Length: 3\r\nTransfer-Encoding: chunked')), (400, put('Transfer-Encoding: gzip')),
            (501, put('Transfer-Encoding: gzip, chunked')), (400, put('Transfer-Encoding: chunked, identity')),
            (400, put('Transfer-Encoding: ')),
            (400, put('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked')), (411, put('A: b', '')),
            (417, put('Expect: a pony')),
            (413, put('Content-Length: 1048577')), (413, put('Content-Length: 99999999999999999999999999')),
            (414, 'GET /' + 'a' * 9000), (431, field('a: ' + 'b' * 20000)), (431, field('a: b\r\n' * 5000)),
            (431, 'GET / HTTP/1.1\r\na: ' + 'b' * 20000),
            (400, 'PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')]:
        c = Client()
        c.send(text + 'DELETE /smuggled HTTP/1.1\r\nHost: x\r\n\r\n' if wanted == 400 else text)
        a = c.answer()
        same('%r' % text[:60], (a.status, a.connection, c.closed()), (wanted, 'close', True))
    c = Client()
    same('an empty type', (c.ask('PUT', p, 'x', Content_Type='').status, c.ask('GET', p).content_type), (201, None))
    c.ask('DELETE', p)
    c = Client()
    c.send('HEAD / HTTP/1.1\r\n\r\n')
    same('a HEAD that is bad', (c.answer('HEAD').status, c.closed()), (400, True))
    c = Client()
    same('connections that stay open',
         [c.ask('PUT', p, 'x', Content_Range='bytes 0-0/1').status,
          c.ask('PUT', p, 'x', Content_Encoding='gzip').status,
                         c.ask('GET', p).status], [400, 415, 404])
    half = 'x' * 600000
    same('a resource that grows too large',
         [c.ask('POST', p, half).status, c.ask('POST', p, half).status, len(c.ask('GET', p).body)],
         [201, 413, len(half)])
    same('the largest',
         [c.ask('PUT', p, 'x' * 1048576).status in (200, 204), len(c.ask('GET', p).body), c.ask('DELETE', p).status],
         [True, 1048576, 204])


# ---- hostile clients -------------------------------------------------------------------------------------------------

def alive(when):
    c, p = Client(), fresh()
    same(when, [c.ask('PUT', p, 'alive').status, c.ask('GET', p).body, c.ask('DELETE', p).status], [201, b'alive', 204])


def reset(c):
    c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    c.socket.close()


def finishes(c, rest):
    """Checks that the server responds after the rest of the request."""
    try:
        c.send(rest)
        return c.answer().status in (200, 201, 204)
    except (OSError, Malformed):
        return False


@check
def noise():
    """Random bytes, and requests with random changes; with a fixed seed."""
    chance = random.Random(1)
    samples = [request('PUT', '/noise', 'body', If_Match='"x", W/"y"', Range='bytes=0-1'),
               chunked('3\r\none\r\n0\r\nT: x\r\n\r\n', '/noise').encode(),
               request('GET', '/noise?x=%20', If_Modified_Since=OLD, If_None_Match='*', If_Range='"x"',
                       Range='bytes=-1')]
    for i in range(1500):
        if i % 3 == 0:
            data = bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
        else:
            data = bytearray(chance.choice(samples) * 2)
            for _ in range(chance.randrange(1, 5)):
                at = chance.randrange(len(data))
                data[at:at + chance.randrange(3)] = chance.choice([b'', b'\r\n', b'\0', b',', b'"', b' ',
                                                                   bytes([chance.randrange(256)])])
        c = Client()
        try:
            c.send(bytes(data))
            if i % 5:
                c.socket.shutdown(socket.SHUT_WR)
                while c.more():
                    pass
        except OSError:
            pass
        if i % 2:
            reset(c)
        else:
            c.socket.close()
    alive('after noise')


@check
def slow_and_not_reading():
    """Clients that stop in the middle of a request, send endlessly, or never read."""
    slow = [Client() for _ in range(200)]
    for i, c in enumerate(slow):
        c.send(request('PUT', '/slow', 'x' * 1000)[:5 + i * 5])
    alive('with slow clients')
    p = fresh()
    Client().ask('PUT', p, 'x' * 1000000)
    not_reading = [Client() for _ in range(10)]
    for c in not_reading:
        c.socket.setblocking(False)
        try:
            for _ in range(1000):
                c.socket.send(request('GET', p) * 100)
        except BlockingIOError:
            pass
    alive('with clients that do not read')
    endless = Client()
    endless.send('GET / HTTP/1.1\r\n')
    try:
        for _ in range(4000):
            endless.send(b'a: ' + b'b' * 10000 + b'\r\n')
    except OSError:
        pass
    alive('after endless fields')
    c = Client()
    c.send(b'\r\n' * 100000 + request('GET', p))
    same('endless empty lines', len(c.answer().body), 1000000)
    data = request('PUT', '/slow', 'x' * 1000)
    same('slow clients get a response', all(finishes(c, data[5 + i * 5:]) for i, c in enumerate(slow)), True)
    Client().ask('DELETE', p)


@check
def too_many():
    """More clients than the limit: the server closes those that have been idle longest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 6000:
        print('skipped: the limit of open files is %d' % hard)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (6000, hard))
    clients = [Client() for _ in range(4500)]
    alive('with many clients')
    same('the first is closed', clients[0].closed(), True)
    same('the last is open', clients[-1].ask('GET', '/nothing').status, 404)
    for c in clients:
        reset(c)
    alive('after many clients')


@check
def large_and_slow():
    """Large incomplete bodies: the server closes some connections to limit its memory, but not more than necessary."""
    slow = [Client() for _ in range(300)]
    data = request('PUT', '/large', 'x' * 1048576)
    for c in slow:
        c.send(data[:-10])
    alive('with large bodies')
    left = sum(finishes(c, data[-10:]) for c in slow)
    same('%d of 300 are left' % left, 100 < left < 300, True)
    same('afterwards', status('DELETE', '/large'), 204)


@check
def full():
    """The store has a limit, and deleted resources free all of their space."""
    c, written_paths, seen = Client(), [], 201
    while seen == 201 and len(written_paths) < 100:
        written_paths.append(fresh())
        seen = c.ask('PUT', written_paths[-1], 'x' * 1000000).status
    same('a full store', (seen, len(written_paths) > 50), (507, True))
    same('the stored resources', [len(c.ask('GET', p).body) for p in written_paths[:3]], [1000000] * 3)
    same('emptied', {c.ask('DELETE', p).status for p in written_paths[:-1]}, {204})
    alive('after a full store')


def check_memory(pid, megabytes):
    peak = int(re.search(r'VmHWM:\s+(\d+)', open('/proc/%d/status' % pid).read()).group(1)) // 1024
    same('megabytes of memory: %d, at most %d' % (peak, megabytes), peak <= megabytes, True)


if sys.argv[2] == 'mutant':
    sys.exit(0 if check_mutant(int(sys.argv[3]), sys.argv[4]) else 1)
for one in checks:
    begin = time.time()
    try:
        one()
    except (Malformed, OSError, AttributeError) as error:
        faults += 1
        print('%s: %s: %s' % (one.__name__, type(error).__name__, error))
    print('%-20s %.2f s' % (one.__name__, time.time() - begin))
if len(sys.argv) > 4:
    check_memory(int(sys.argv[3]), int(sys.argv[4]))
sys.exit(1 if faults else 0)
