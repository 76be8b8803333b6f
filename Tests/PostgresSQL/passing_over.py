"""Transactions that stay open hold up the queues that they have locked, and nothing else: batches count what they could
lock (G9, G11)."""

from checks import check, group
from worker import Worker, route
from workers import LOCK_LANE, live

MANY = 1_100


def hold(db, *queues):
    """A transaction that has the lanes of these queues, as an operator's act has that is not committed."""
    application = db.another(autocommit=False)
    for queue in queues:
        application.all(LOCK_LANE, queue)
    return application


def names(rows):
    return sorted(row.queue for row in rows)


@group
def arrivals(db):
    worker = Worker(db)
    db.enqueue("a"), worker.drain()
    application = hold(db, "a")
    for _ in range(MANY):
        db.enqueue("a")
    db.enqueue("b"), db.enqueue("c")
    check("arrivals of a locked queue keep no other from starting (G9)", names(worker.step()), ["b", "c"])
    worker.drain()
    # As a busy worker does, which looks at the first blocks now and then alone.
    for _ in range(5):
        db.enqueue("d")
        check("nor do they in later steps", names(worker.step()), ["d"])
        worker.drain()
    application.rollback()
    worker._arrivals_from = 0
    check("and they are taken in when it is free (G11)", names(worker.step()), ["a"])
    db.reset()
    worker = Worker(db)
    application = db.another(autocommit=False)
    for number in range(40):
        application.all("SELECT sluice_set_tag(%s, 't')", db.enqueue(f"new/{number}"))
    db.enqueue("b")
    check(
        "of lanes that an open transaction makes, no thirty keep another from being made for long",
        until_step(worker),
        ["b"],
    )


def until_step(worker):
    """What the first of some steps starts that starts something."""
    for _ in range(30):
        rows = worker.step()
        if rows:
            return names(rows)
    return []


@group
def schedules(db):
    db.set_clock()
    worker = Worker(db)
    db.enqueue("a"), worker.drain()
    soon = "SELECT sluice_enqueue(%s, 'k', '{}', not_before => sluice_now() + interval '10 ms') FROM generate_series(1, %s)"
    db.all(soon, "a", MANY)
    db.all(soon, "b", 1)
    db.shift("1 s")
    application = hold(db, "a")
    worker.chores()
    check("due actions of a locked queue keep no other waiting (G9)", names(worker.step()), ["b"])
    application.rollback()
    while worker.chores():
        pass
    placed = db.value("SELECT count(*) FROM sluice_action_rows WHERE not_before IS NULL")
    check("and have their places when it is free (G11)", placed, MANY + 1)


@group
def expiries(db):
    db.set_clock()
    worker = Worker(db, route(expired="skip"), route(2, pattern="block/*", expired="block"))
    for queue in ("a", "block/1", "b"):
        db.enqueue(queue), worker.drain()
    for queue in ("block/1", "b"):
        db.enqueue(queue)
    worker.step()
    late = "SELECT sluice_enqueue(%s, 'k', '{}', expires_at => sluice_now() + interval '10 ms') FROM generate_series(1, %s)"
    db.all(late, "a", MANY)
    db.all(late, "block/1", MANY)
    db.all(late, "b", 1)
    db.shift("1 s")
    application = hold(db, "a")
    worker.chores()
    dead = "SELECT DISTINCT queue FROM sluice_dead"
    check("expired actions that cannot be ended now keep no others (G9)", db.column(dead), ["b"])
    application.rollback()
    for _ in range(10):
        worker.chores()
    check("and are ended when their queue is free", db.value("SELECT count(*) FROM sluice_dead WHERE queue = 'a'"), MANY)


@group
def pools(db):
    worker = Worker(db, route(pattern="a/*"), route(2, pattern="b/*"), capacity=4)
    for number in range(8):
        db.enqueue(f"a/{number}")
    db.enqueue("b/1")
    worker.step(free=0)
    application = hold(db, *[f"a/{number}" for number in range(8)])
    check("locked queues of a pool keep no other pool from starting (G9)", names(worker.step()), ["b/1"])
    application.rollback()


@group
def a_dead_worker(db):
    db.set_clock()
    judge = Worker(db)
    live(db, 40, judge)
    lost = Worker(db)
    for queue in "abc":
        db.enqueue(queue)
    rows = {row.queue: row for row in lost.step()}
    live(db, 40, judge)
    application = hold(db, "b")
    judge.chores()
    lanes = "SELECT q.name FROM sluice_lane_rows l JOIN sluice_queue_rows q USING (queue_id) WHERE l.worker = %s"
    check("of a dead worker all queues but the locked one are taken over (G9)", db.column(lanes, lost.epoch), ["b"])
    check("a second look finds nothing to do", judge.take_off(), 0)
    lost.end(rows["b"].claim)
    check("the worker is taken off for good (G6)", lost.database.later(lost.step).result(), "SL001")
    settling = db.error("SELECT sluice_succeed(%s)", rows["b"].claim)
    check("also for a settling by its application", settling and settling[0], "SL004")
    check("and it is no living worker", db.column("SELECT process FROM sluice_queues WHERE process IS NOT NULL"), [])
    other = Worker(db, name="host/2")
    check("a second dead worker is not kept", db.count("worker"), 3)
    application.rollback()
    check("its last queue is taken over when that is free (G11)", (judge.chores(), db.count("worker")), (1, 2))
    other.database.close()
    ran = judge.drain()
    check("and all of them run", len(ran), 3)


@group
def a_worker_that_leaves(db):
    worker = Worker(db)
    for queue in "ab":
        db.enqueue(queue)
    worker.step()
    application = hold(db, "a")
    worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
    other = Worker(db)
    check("a worker that leaves gives back all but the locked queue (G9)", names(until_started(other)), ["b"])
    other.drain()
    application.rollback()
    other.chores()
    check("and the next worker the rest, without waiting for a lease", names(until_started(other)), ["a"])


def until_started(worker):
    rows = []
    for _ in range(5):
        rows += worker.step()
    return rows


@group
def a_settling_by_the_application(db):
    db.set_clock()
    judge, lost = Worker(db), Worker(db)
    for queue in "ab":
        db.enqueue(queue)
    rows = {row.queue: row for row in lost.step()}
    application = db.another(autocommit=False)
    application.all("SELECT sluice_succeed(%s)", rows["a"].claim)
    live(db, 40, judge)
    check("a settling that stays open keeps one queue of a dead worker, and no other (G9)", judge.take_off(), 1)
    check("the other one starts", names(judge.step()), ["b"])
    application.commit()
    check("its own is taken over after it", judge.take_off(), 1)
    judge.drain()
    check("what was settled does not run again (G5)", (db.count("action"), db.count("dead")), (0, 0))
