"""A connection to a schema of the engine, and what groups of checks do with it."""

import select
import threading
import time

import psycopg2
import psycopg2.extras

from server import quoted

TABLES = ("pool queue action state lane claim arrival worker route token key attempt dead gate hold rate task").split()
# Columns of sluice_enqueue_many, in order.
MANY = {
    "token": "uuid",
    "nonce": "bigint",
    "calls": "integer[]",
    "queues": "text[]",
    "kinds": "text[]",
    "versions": "integer[]",
    "payloads": "text[]",
    "sort_types": "text[]",
    "sort_keys": "bytea[]",
    "fixes_sort": "boolean[]",
    "not_before": "timestamptz[]",
    "expires_at": "timestamptz[]",
    "tags": "text[]",
    "gates": "text[]",
    "keys": "text[]",
    "key_policies": "text[]",
    "key_keep": "interval[]",
    "traces": "text[]",
    "depths": "integer[]",
}
MANY_CALL = ", ".join(f"%s::{kind}" for kind in MANY.values())


class Database:
    def __init__(self, server, schema, **options):
        self.server = server
        self.schema = schema
        self.connection = server.connect(schema, **options)
        self._others = []

    def another(self, **options):
        """A further connection to the same schema; it is closed with this one."""
        other = Database(self.server, self.schema, **options)
        self._others.append(other)
        return other

    def close(self):
        for other in self._others:
            other.close()
        self.connection.close()

    # Statements

    def all(self, sql, *values, rows=None):
        with self.connection.cursor(cursor_factory=rows) as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else []

    def row(self, sql, *values):
        found = self.all(sql, *values)
        return found[0] if found else None

    def value(self, sql, *values):
        found = self.row(sql, *values)
        return found[0] if found else None

    def column(self, sql, *values):
        return [row[0] for row in self.all(sql, *values)]

    def facts(self, sql, *values):
        """The first row by the names of its columns."""
        found = self.all(sql, *values, rows=psycopg2.extras.RealDictCursor)
        return dict(found[0]) if found else None

    def run(self, sql, *values):
        """Returns how many rows were changed."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.rowcount

    def error(self, sql, *values):
        """The SQLSTATE and the detail of an error; None if there is none."""
        return self._error(lambda: self.all(sql, *values))

    def _error(self, act):
        try:
            act()
        except psycopg2.Error as error:
            if not self.connection.autocommit:
                self.connection.rollback()
            return error.pgcode, error.diag.message_detail
        return None

    def commit(self):
        self.connection.commit()

    def rollback(self):
        self.connection.rollback()

    # Other connections

    def later(self, act):
        """Begins `act`, which uses this connection alone, in a thread."""
        return Later(self, act)

    def rings(self):
        """How often the doorbell rang since it was listened to or asked last."""
        bell = getattr(self, "_bell", None)
        if bell is None:
            bell = self._bell = self.another()
            bell.run(f"LISTEN {quoted(self.channel)}")
        # Notifications come in the order of the commits: this is the last.
        self.value("SELECT pg_notify(%s, 'last')", self.channel)
        count = 0
        while True:
            select.select([bell.connection], [], [], 10)
            bell.connection.poll()
            while bell.connection.notifies:
                if bell.connection.notifies.pop(0).payload == "last":
                    return count
                count += 1

    @property
    def channel(self):
        # As the server cuts names.
        return ("sluice_" + self.schema).encode()[:63].decode(errors="ignore")

    # The clock

    def set_clock(self, stops=False):
        """Has the engine use a clock that `shift` moves; from now on it stands still if it stops."""
        schema = quoted(self.schema)
        self.run("CREATE TABLE test_clock (shift interval, at timestamptz)")
        self.run("INSERT INTO test_clock VALUES ('0 s', CASE WHEN %s THEN now() END)", stops)
        self.run(
            "CREATE OR REPLACE FUNCTION sluice_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS "
            f"'SELECT coalesce(at, clock_timestamp()) + shift FROM {schema}.test_clock'"
        )

    def shift(self, by):
        self.run("UPDATE test_clock SET shift = shift + %s::interval", by)

    # What an application does

    def reset(self):
        self.run(";".join(f"DELETE FROM sluice_{table}_rows" for table in TABLES))

    def enqueue(self, queue, kind="k", payload="{}", **options):
        names = "".join(f", {name} => %s" for name in options)
        return self.value(f"SELECT sluice_enqueue(%s, %s, %s{names})", queue, kind, payload, *options.values())

    def many(self, queues, **values):
        """Enqueues an action in each queue; returns place, id, whether it is new, and the refusal."""
        count = len(queues)
        values = {"nonce": 1, "kinds": ["k"] * count, "payloads": ["{}"] * count, "queues": queues} | values
        return self.all(
            f"SELECT place, id, is_new, refusal FROM sluice_enqueue_many({MANY_CALL}) ORDER BY place",
            *[values.get(name) for name in MANY],
        )

    def many_error(self, queues, **values):
        return self._error(lambda: self.many(queues, **values))

    # What steps leave behind, made without a worker

    def take_in(self):
        """Takes in arrivals as a step does."""
        self.run(
            "INSERT INTO sluice_lane_rows (queue_id, pool, ready_at) SELECT DISTINCT r.queue_id, q.pool, now() "
            "FROM sluice_arrival_rows r JOIN sluice_queue_rows q USING (queue_id) ON CONFLICT (queue_id) DO NOTHING"
        )
        self.run("DELETE FROM sluice_arrival_rows")

    def worker(self, name="host/1"):
        return self.value(
            "INSERT INTO sluice_worker_rows (name, nonce, lease_until, continuous_since) "
            "VALUES (%s, 1, now() + interval '1 hour', now()) RETURNING epoch",
            name,
        )

    def claim(self, action, worker):
        self.take_in()
        self.run(
            "UPDATE sluice_lane_rows SET worker = %s, term = term + 1, ready_at = NULL "
            "WHERE queue_id = (SELECT queue_id FROM sluice_action_rows WHERE id = %s)",
            worker,
            action,
        )
        return self.value(
            "INSERT INTO sluice_claim_rows (claim, action_id, queue_id, worker, term, started_at, opening) "
            "SELECT (%s::bigint << 32) + 1 + (SELECT count(*) FROM sluice_claim_rows), a.id, a.queue_id, %s, l.term, "
            "now(), 0 FROM sluice_action_rows a JOIN sluice_lane_rows l USING (queue_id) WHERE a.id = %s "
            "RETURNING claim",
            worker,
            worker,
            action,
        )

    def park(self, action, why="failed", error="boom", through=None):
        self.take_in()
        self.run(
            "UPDATE sluice_lane_rows SET worker = NULL, ready_at = NULL, blocked_by = %s, blocked_action_id = %s, "
            "blocked_at = now(), blocked_error = %s, fail_through_id = %s "
            "WHERE queue_id = (SELECT queue_id FROM sluice_action_rows WHERE id = %s)",
            why,
            action,
            error,
            through,
            action,
        )
        if why not in ("gate", "hold", "unknown kind", "no route", "failing"):
            self.run(
                "INSERT INTO sluice_state_rows (action_id, attempts, last_error) VALUES (%s, 1, %s) "
                "ON CONFLICT (action_id) DO UPDATE SET attempts = 1",
                action,
                error,
            )

    def retry(self, action, delay="1 hour", gate=None):
        self.take_in()
        self.run(
            "INSERT INTO sluice_state_rows (action_id, attempts, next_attempt_at, retry_delay, last_error, "
            "waits_for_gate) VALUES (%s, 1, now() + %s::interval, %s::interval, 'again', %s)",
            action,
            delay,
            delay,
            gate,
        )
        self.run(
            "UPDATE sluice_lane_rows SET worker = NULL, ready_at = now() + %s::interval "
            "WHERE queue_id = (SELECT queue_id FROM sluice_action_rows WHERE id = %s)",
            delay,
            action,
        )

    def bury(self, action, cause="failed", error="x"):
        self.all("SELECT sluice_bury(ARRAY[%s]::bigint[], %s, %s)", action, cause, error)

    def drop(self, action, succeeded=True):
        self.all("SELECT sluice_drop(ARRAY[%s]::bigint[], %s)", action, succeeded)

    def rest(self, queue):
        """Leaves the lane as a step does that found nothing."""
        self.run(
            "UPDATE sluice_lane_rows SET ready_at = NULL, worker = NULL "
            "WHERE queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = %s)",
            queue,
        )

    # What is there

    def lane(self, queue):
        return self.facts(
            "SELECT coalesce(l.ready_at <= clock_timestamp(), false) AS ready, l.worker, l.rewind, "
            "l.blocked_by AS blocked, l.blocked_action_id AS by, l.is_suspect AS suspect, l.blocked_error AS error "
            "FROM sluice_lane_rows l JOIN sluice_queue_rows q USING (queue_id) WHERE q.name = %s",
            queue,
        )

    def action(self, action):
        return self.facts(
            "SELECT q.name AS queue, a.sort_key AS key, a.kind, a.payload, a.version, a.tag, a.not_before, "
            "a.expires_at FROM sluice_action_rows a JOIN sluice_queue_rows q USING (queue_id) WHERE a.id = %s",
            action,
        )

    def state(self, action):
        return self.facts("SELECT * FROM sluice_state_rows WHERE action_id = %s", action)

    def order(self, queue):
        return self.column(
            "SELECT a.id FROM sluice_action_rows a JOIN sluice_queue_rows q USING (queue_id) "
            "WHERE q.name = %s AND a.not_before IS NULL ORDER BY a.sort_key, a.id",
            queue,
        )

    def count(self, table):
        return self.value(f"SELECT count(*) FROM sluice_{table}_rows")


class Later:
    """Something that a connection does in a thread of its own."""

    def __init__(self, database, act):
        self._pid = database.connection.info.backend_pid
        self._watcher = database.another()
        self._result = None
        self._thread = threading.Thread(target=self._run, args=(act,))
        self._thread.start()

    def _run(self, act):
        try:
            self._result = act()
        except psycopg2.Error as error:
            self._result = error.pgcode

    def waits(self):
        """Whether it waits for a lock, asked until it does or has ended."""
        end = time.monotonic() + 15
        while self._thread.is_alive() and time.monotonic() < end:
            if self._watcher.value("SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted", self._pid):
                return True
        return False

    def result(self):
        """What it returned, or the SQLSTATE of its error, after it has ended."""
        self._thread.join()
        return self._result


def threads(*acts):
    """Runs all at the same time."""
    running = [threading.Thread(target=act) for act in acts]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def until(condition, seconds=15):
    """Whether a condition holds within some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
