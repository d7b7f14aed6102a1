#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# late_limit_server.py PORT DELAY [SLOW_FOR] - the limit server of examples/connections, correct, but it notices the end of
#     a connection only DELAY ms after it. With SLOW_FOR, only the first SLOW_FOR ms after its start.
import sys
import time

sys.path.insert(0, sys.argv[0].rsplit('/tests/', 1)[0] + '/examples/connections')
import servers  # noqa: E402

BEGAN = time.monotonic()
DELAY = int(sys.argv[2]) / 1000
SLOW_FOR = int(sys.argv[3]) / 1000 if len(sys.argv) > 3 else float('inf')


class Late(servers.Limit):
    def __init__(self):
        super().__init__(None)
        self.due = []

    def closed(self, c):
        self.end_late(c, super().closed)

    def broken(self, c):
        self.end_late(c, super().broken)

    def end_late(self, c, end):
        slow = time.monotonic() - BEGAN < SLOW_FOR
        self.selector.unregister(c.sock) if not c.over else None
        self.due.append((time.monotonic() + (DELAY if slow else 0), c, end))

    def run(self, port):
        select = self.selector.select

        def select_until_due():
            now = time.monotonic()
            events = select(max(0, min((at - now for at, _, _ in self.due), default=60)))
            while self.due and min(self.due, key=lambda d: d[0])[0] <= time.monotonic():
                first = min(self.due, key=lambda d: d[0])
                self.due.remove(first)
                _, c, end = first
                if not c.over:
                    self.selector.register(c.sock, 1, c)
                end(c)
                self.flush()
            return events

        self.selector.select = select_until_due
        super().run(port)


Late().run(int(sys.argv[1]))
