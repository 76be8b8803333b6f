"""Enqueues that wait for each other, and the order of their ids (G2, G9, G14)."""

import random
import time

import psycopg2

from checks import check, group
from database import threads

SECONDS = 2


@group
def held_queues(db):
    for queue in "qr":
        db.enqueue(queue)
    holder, other = db.another(autocommit=False), db.another()
    locked = ("55P03", f"databaseLocked {holder.connection.info.backend_pid}")
    db.run("CREATE TABLE seen (lock_timeout text)")
    db.run(
        f"CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS "
        f"""'BEGIN INSERT INTO "{db.schema}".seen VALUES (current_setting(''lock_timeout'')); RETURN NEW; END'"""
    )
    db.run("CREATE TRIGGER look AFTER INSERT ON sluice_queue_rows FOR EACH ROW EXECUTE FUNCTION look()")
    db.enqueue("first")
    check("an enqueue waits for a lock for ten seconds at most", db.column("SELECT * FROM seen"), ["10s"])
    other.run("SET lock_timeout = '100ms'")
    holder.many(["q"])
    error = other.error("SELECT sluice_enqueue('q', 'k', '{}')")
    check("after the caller's own shorter time it fails with the holder's process", error, locked)
    check("also one of several queues", other.many_error(["r", "q", "s"]), locked)
    holder.rollback()
    holder.many(["new"])
    check("also one that another transaction creates", other.many_error(["new"]), locked)
    holder.rollback()
    holder.run("SAVEPOINT s")
    holder.many(["q", "r"])
    holder.run("RELEASE s")
    check("also one that was locked within a savepoint", other.many_error(["q"]), locked)
    holder.rollback()
    holder.run("SET lock_timeout = '7s'")
    holder.many(["q", "zz"])
    check("the caller's time is as before after the call", holder.value("SHOW lock_timeout"), "7s")
    check("and so are the settings of plans", holder.value("SHOW enable_seqscan"), "on")
    holder.rollback()
    db.take_in()
    other.run("SET lock_timeout = '2s'")
    holder.all("SELECT 1 FROM sluice_lane_rows FOR UPDATE")
    check("an enqueue locks no lane (G9)", other.many_error(["q", "r"], keys=["x", "y"]), None)
    holder.rollback()
    holder.many(["q"])
    check("also while it stays open (G9)", other.error("SELECT 1 FROM sluice_lane_rows FOR UPDATE"), None)
    holder.rollback()


class Reader:
    """Watches which ids become visible after greater ones of their queue."""

    def __init__(self, db, end):
        self.db, self.end = db.another(), end
        self.late = 0

    def run(self):
        highest, seen = {}, {}
        while time.monotonic() < self.end:
            rows = self.db.all("SELECT queue_id, array_agg(id) FROM sluice_action_rows GROUP BY 1")
            for queue, ids in rows:
                top = highest.get(queue, 0)
                self.late += sum(action < top and action not in seen[queue] for action in ids)
                highest[queue], seen[queue] = max(top, *ids), set(ids)


@group
def ids_of_a_queue(db):
    """Transactions of several levels and lengths, some with savepoints that are undone."""
    end = time.monotonic() + SECONDS
    reader = Reader(db, end)
    errors, stored = [], []

    def write(number):
        choice = random.Random(number)
        isolation = [None, None, "repeatable read", "serializable"][number % 4]
        application = db.another(isolation=isolation, autocommit=False)
        while time.monotonic() < end:
            try:
                if choice.random() < 0.3:
                    application.all("SELECT count(*) FROM sluice_queue_rows")
                if choice.random() < 0.3:
                    application.run("SAVEPOINT s")
                    application.many([f"o{choice.randrange(4)}"])
                    application.run("ROLLBACK TO s")
                queues = [f"o{n}" for n in choice.sample(range(4), 2)]
                application.many(queues)
                # A transaction that stays open for a while.
                time.sleep(choice.choice([0, 0, 0.002]))
                application.commit()
                stored.append(2)
            except psycopg2.Error as error:
                application.rollback()
                # Transactions that lock several queues in any order may deadlock, and strict ones may fail.
                if error.pgcode not in ("40001", "40P01"):
                    errors.append(str(error))

    threads(reader.run, *[lambda number=number: write(number) for number in range(8)])
    check("enqueues of many writers were stored", sum(stored) > 40)
    check("the ids of a queue become visible in rising order (G2)", reader.late, 0)
    check("nothing but deadlocks and failures to serialize is an error", errors, [])


@group
def many_writers(db):
    end = time.monotonic() + SECONDS
    errors, stored = [], []

    def write(number):
        choice = random.Random(number)
        application = db.another()
        while time.monotonic() < end:
            # More and more queues are new.
            names = 400 - int((end - time.monotonic()) * 50)
            try:
                application.many(
                    [f"s{choice.randrange(names)}" for _ in range(30)],
                    keys=[choice.choice([None] * 9 + ["a", "b"]) for _ in range(30)],
                    key_policies=[choice.choice(["keep", "replace"]) for _ in range(30)],
                )
                stored.append(30)
            except psycopg2.Error as error:
                errors.append(str(error))

    threads(*[lambda number=number: write(number) for number in range(8)])
    check("calls with many queues were stored", sum(stored) > 300)
    check("calls with many queues do not deadlock", errors, [])
    check("no queue exists twice", db.value("SELECT count(*) - count(DISTINCT name) FROM sluice_queue_rows"), 0)
    lost = (
        "SELECT count(*) FROM sluice_key_rows k WHERE NOT EXISTS"
        " (SELECT FROM sluice_action_rows a WHERE a.id = k.action_id AND a.queue_id = k.queue_id)"
    )
    check("each key has its action", db.value(lost), 0)


def race(db, queues, **options):
    """Eight writers enqueue in the same queues; returns their rows."""
    rows = []

    def write(number):
        application = db.another()
        for queue in range(queues):
            values = {name: [value[number % len(value)]] for name, value in options.items()}
            rows.extend(application.many([f"race{queue}"], **values))

    threads(*[lambda number=number: write(number) for number in range(8)])
    return rows


@group
def races(db):
    rows = race(db, 20, keys=["x"])
    check("of eight writers with one key, one stores in each of 20 queues", sum(row[2] for row in rows), 20)
    db.reset()
    rows = race(db, 20, depths=[3])
    check("eight writers fill 20 queues with three actions each (G12)", sum(row[2] for row in rows), 60)
    db.reset()
    rows = race(db, 20, sort_types=["integer", "text"], sort_keys=[b"\x80" + bytes(7), b"x"])
    both = (
        "SELECT count(*) FROM sluice_action_rows a JOIN sluice_queue_rows q USING (queue_id)"
        " WHERE (q.sort_type = 'text') <> (a.sort_key = 'x')"
    )
    check("of writers with two types of key, those that come later are refused", any(row[3] for row in rows))
    check("and no queue has keys of both types (G2)", db.value(both), 0)


@group
def strict_isolation(db):
    for level in ("repeatable read", "serializable"):
        db.reset()
        db.enqueue("i", sort_key="1", sort_type="integer")
        db.run("DELETE FROM sluice_action_rows")
        application = db.another(isolation=level, autocommit=False)

        def begin():
            application.rollback()
            application.all("SELECT count(*) FROM sluice_queue_rows")

        begin()
        before = db.enqueue("i", sort_key="1", sort_type="integer")
        after = application.enqueue("i", sort_key="2", sort_type="integer")
        application.commit()
        check(f"under {level} an append is stored after one that it cannot see (G2)", after > before)
        db.run("DELETE FROM sluice_action_rows")
        begin()
        db.enqueue("i", sort_key="1", sort_type="integer")
        error = application.error("SELECT sluice_enqueue('i', 'k', '{}', 'x', 'text')")
        check(f"under {level} a queue that only seems empty keeps its type", error, ("SL005", "sortKeyMismatch"))
        begin()
        db.enqueue("i", key="x", sort_key="1", sort_type="integer")
        error = application.error("SELECT sluice_enqueue('i', 'k', '{}', '1', 'integer', key => 'x')")
        check(f"under {level} a key that another has taken since is a failure to serialize", error[0], "40001")
        begin()
        db.enqueue("new")
        error = application.error("SELECT sluice_enqueue('new', 'k', '{}')")
        check(f"under {level} a queue that another has made since is a failure to serialize", error[0], "40001")
