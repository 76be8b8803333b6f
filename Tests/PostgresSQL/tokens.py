"""Tokens: an enqueue whose commit is unknown is stored once or never (G14)."""

import json
import os
import random
import socket
import time
import uuid

import psycopg2

from checks import check, group
from database import threads

RESOLVE = "SELECT sluice_token(%s)"
WRITERS = 4


@group
def tokens(db):
    token = str(uuid.uuid4())
    rows = db.many(["q", "q", "d", "d"], token=token, depths=[None, None, 1, 1])
    ids = [row[1] for row in rows]
    check("a token resolves to its ids, NULL where one was refused", (db.value(RESOLVE, token), ids[3]), (ids, None))
    token = str(uuid.uuid4())
    check(
        "an unknown token is NULL, also the second time", [db.value(RESOLVE, token) for _ in range(2)], [None, None]
    )
    check("and its enqueue can no longer be stored", db.many_error(["late"], token=token), ("SL004", "staleReceipt"))
    check("not even its queue is", db.value("SELECT count(*) FROM sluice_queue_rows WHERE name = 'late'"), 0)


@group
def under_way(db):
    resolver, application = db.another(), db.another(autocommit=False)
    for end in ("commit", "rollback"):
        token = str(uuid.uuid4())
        ((_, action, _, _),) = application.many(["q"], token=token)
        resolving = resolver.later(lambda: resolver.value(RESOLVE, token))
        check(f"the resolver waits for a transaction under way ({end})", resolving.waits())
        getattr(application, end)()
        check(f"and returns how it ended ({end})", resolving.result(), [action] if end == "commit" else None)
    token = str(uuid.uuid4())
    application.all("SELECT 1")
    db.value(RESOLVE, token)
    late = application.many_error(["q"], token=token)
    check("a transaction that enqueues after the resolver is refused", late, ("SL004", "staleReceipt"))


def shut(connection):
    """Cuts a connection from this side."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg2.Error):
        # It has ended already.
        pass


class Writer:
    """Enqueues items in two queues each, by a connection that others cut."""

    def __init__(self, db, number, end):
        self.db, self.number, self.end = db, number, end
        self.current = None
        self.items = []
        self.cuts = 0

    def run(self):
        while time.monotonic() < self.end:
            self.items.append(f"{self.number}-{len(self.items)}")
            while not self._store(self.items[-1]):
                self.cuts += 1
        if self.current:
            self.current.close()

    def _store(self, item):
        token = str(uuid.uuid4())
        queues = [f"x{len(self.items) % 5}", f"y{self.number}"]
        try:
            if self.current is None:
                self.current = self.db.another()
            self.current.many(queues, payloads=[json.dumps(item)] * 2, calls=[1, 1], token=token)
            return True
        except psycopg2.Error:
            self.current = None
            resolver = self.db.another()
            return resolver.value(RESOLVE, token) is not None


@group
def connections_cut(db):
    end = time.monotonic() + 3
    writers = [Writer(db, number, end) for number in range(WRITERS)]
    killer = db.another()

    def cut():
        choice = random.Random(3)
        while time.monotonic() < end:
            # The times are random, between two statements and within one.
            time.sleep(choice.random() * 0.02)
            current = choice.choice(writers).current
            if current and choice.random() < 0.3:
                killer.all("SELECT pg_terminate_backend(%s)", current.connection.info.backend_pid)
            elif current:
                shut(current.connection)

    threads(*[writer.run for writer in writers], cut)
    counts = dict(db.all("SELECT payload::json #>> '{}', count(*) FROM sluice_action_rows GROUP BY 1"))
    wrong = {item: counts.get(item, 0) for writer in writers for item in writer.items if counts.get(item, 0) != 2}
    check("connections were cut while they enqueued", sum(writer.cuts for writer in writers) > 10)
    check("each call is stored exactly once, by its token (G14)", wrong, {})
