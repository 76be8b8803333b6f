"""Transactions that stay open hold up the queues that they have locked, and nothing else: batches count what they could
lock (G9, G11)."""

import time

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
    soon = (
        "SELECT sluice_enqueue(%s, 'k', '{}', not_before => sluice_now() + interval '10 ms')"
        " FROM generate_series(1, %s)"
    )
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
    late = (
        "SELECT sluice_enqueue(%s, 'k', '{}', expires_at => sluice_now() + interval '10 ms')"
        " FROM generate_series(1, %s)"
    )
    db.all(late, "a", MANY)
    db.all(late, "block/1", MANY)
    db.all(late, "b", 1)
    db.shift("1 s")
    application = hold(db, "a")
    worker.chores()
    dead = "SELECT DISTINCT queue FROM sluice_dead"
    check("expired actions that cannot be ended now keep no others (G9)", db.column(dead), ["b"])
    application.rollback()
    told = []
    for _ in range(10):
        worker.chores()
        told += worker.told
    letters = db.column("SELECT id FROM sluice_dead WHERE queue = 'a' ORDER BY id")
    check("each is told of", sorted(told), [("failed", id) for id in letters])
    check(
        "and are ended when their queue is free", db.value("SELECT count(*) FROM sluice_dead WHERE queue = 'a'"), MANY
    )


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


def fill(db, worker, count, pattern="q", **options):
    """Queues whose heads a step has looked at."""
    db.many([f"{pattern}/{number}" for number in range(count)], **options)
    for _ in range(count // 1_000 + 3):
        worker.step()


SLEEPING = "SELECT count(*) FROM sluice_lane_rows WHERE blocked_by IS NOT NULL AND ready_at IS NULL"
READY = "SELECT count(*) FROM sluice_lane_rows WHERE ready_at IS NOT NULL AND blocked_by IS NULL"


def do_chores(worker):
    count = 0
    while worker.chores():
        count += 1
    return count


@group
def gates_and_holds_of_many(db):
    """What wakes thousands of queues does so in batches."""
    for name, sleep, wake in (
        ("a gate", {"gates": ["g"] * 2_500}, "SELECT sluice_open_gate('g')"),
        ("a hold", {}, "SELECT sluice_end_holds('*')"),
    ):
        db.reset()
        worker = Worker(db, capacity=1_000)
        if not sleep:
            db.all("SELECT sluice_hold('*', 'me')")
        fill(db, worker, 2_500, **sleep)
        check(f"all queues wait for {name}", db.value(SLEEPING), 2_500)
        application = hold(db, "q/7")
        operator = db.another(autocommit=False)
        operator.all(wake)
        locked = "SELECT count(*) FROM (SELECT FROM sluice_lane_rows FOR UPDATE SKIP LOCKED) AS l"
        check(f"the end of {name} has no more than a thousand queues at a time", db.value(locked), 2_500 - 1_001)
        operator.commit()
        check(
            "and the workers wake the rest in some calls", (do_chores(worker) in (2, 3), db.value(SLEEPING)), (True, 1)
        )
        check("a locked queue is in nobody's way", (db.count("task"), db.count("arrival")), (0, 1))
        application.rollback()
        worker.step(free=0)
        check(
            "and wakes when it is free (G11)",
            db.value("SELECT count(*) FROM sluice_lane_rows WHERE ready_at IS NULL"),
            0,
        )


@group
def a_gate_that_closes_again(db):
    worker = Worker(db, capacity=1_000)
    fill(db, worker, 2_500, gates=["g"] * 2_500)
    db.all("SELECT sluice_open_gate('g')"), db.all("SELECT sluice_close_gate('g')")
    do_chores(worker)
    check("a gate that is closed again wakes no more", (db.value(SLEEPING), db.count("task")), (1_500, 0))
    db.all("SELECT sluice_open_gate('g')")
    do_chores(worker)
    check("and all when it opens (G11)", db.value(READY), 2_500)


@group
def routes_of_many(db):
    Worker(db, route(pattern="x"))
    worker = Worker(db, route(pattern="*", kind="other"), capacity=1_000)
    fill(db, worker, 2_500)
    check("all queues wait for a route", db.value(SLEEPING), 2_500)
    db.run("UPDATE sluice_lane_rows SET blocked_by = 'undecodable' WHERE queue_id % 2 = 0")
    application = hold(db, "q/7", "q/8")
    worker.set_routes(route(pattern="*"))
    check("new routes wake a thousand at once", db.value(READY), 1_000)
    do_chores(worker)
    check("and the others in batches, but for those that are locked", db.value(READY), 2_498)
    application.rollback()
    do_chores(worker), worker.step(free=0)
    ready = "SELECT count(*) FROM sluice_lane_rows WHERE ready_at IS NOT NULL"
    check("which wake when they are free (G11)", (db.value(ready), db.count("task")), (2_500, 0))


@group
def patterns_of_many(db):
    """Queues get a more specific pool while they wait, and run by its routes from the start."""
    old = Worker(db, route(pattern="x"), capacity=0)
    wide = Worker(db, route(1), capacity=1_000)
    db.many([f"q/{number}" for number in range(2_500)])
    for _ in range(4):
        wide.step(free=0)
    application = hold(db, "q/2")
    worker = Worker(db, route(1), route(2, pattern="q/*"), capacity=1_000)
    pools = "SELECT count(*) FROM sluice_lane_rows l JOIN sluice_pool_rows p USING (pool) WHERE p.pattern = 'q/*'"
    check("a thousand queues move to a new pool at once", 900 < db.value(pools) <= 1_000)
    routes = {row.route for _ in range(4) for row in worker.step()}
    check("and no other runs by a route that is less specific (G2)", routes, {2})
    do_chores(old)
    check("the rest moves in batches, but for one that is locked", db.value(pools), 2_499)
    check("which keeps the task", db.count("task"), 1)
    application.rollback()
    do_chores(old)
    check("and moves when it is free", (db.value(pools), db.count("task")), (2_500, 0))


@group
def registering_beside_steps(db):
    """A worker that makes pools waits for no lane, and no step waits for it (G9)."""
    worker = Worker(db, route(pattern="a/*", kind="other"))
    Worker(db, route(pattern="x"))
    db.enqueue("a/1"), worker.step(free=0)
    registering = db.another(autocommit=False)
    registering.all("LOCK TABLE sluice_pool_rows IN EXCLUSIVE MODE")
    late = worker.database.later(worker.step)
    check("a step that finds no route does not wait for who makes a pool", (late.waits(), late.result()), (False, []))
    registering.rollback()
    application = hold(db, "a/1")
    new = db.another().later(lambda: Worker(db, route(pattern="a/1")).epoch > 0)
    check("who makes a pool does not wait for a lane", new.result(), True)
    application.rollback()


@group
def registering_beside_acts(db):
    """An act that has made a lane and stays open keeps no worker from making pools; the lane gets to its own (G9)."""
    first, _ = db.enqueue("a/1"), db.enqueue("b/1")
    application = db.another(autocommit=False)
    application.all("SELECT sluice_set_tag(%s, 'tag')", first)
    made = []
    routes = [route(0, pattern="a/*"), route(1, pattern="b/*")]
    new = db.another().later(lambda: made.append(Worker(db, *routes)))
    check("who makes a pool does not wait for the act", (new.waits(), new.result()), (False, None))
    worker = made[0]
    check("the other queues run", names(worker.step()), ["b/1"])
    worker.drain()
    application.commit()
    do_chores(worker)
    check("the queue of the act runs when it has been committed", names(worker.step()), ["a/1"])
    check(
        "in its pool, and nothing is left to do",
        (db.value("SELECT p.pattern FROM sluice_lane_rows AS l JOIN sluice_pool_rows AS p USING (pool) "
                  "JOIN sluice_queue_rows AS q USING (queue_id) WHERE q.name = 'a/1'"), db.count("task")),
        ("a/*", 0),
    )


@group
def many_patterns(db):
    """Registering is linear in the patterns (G12)."""
    times = []
    for count in (1_000, 4_000):
        begin = time.monotonic()
        Worker(db, *[route(number, pattern=f"p{count}/{number}/*") for number in range(count)])
        times.append(time.monotonic() - begin)
    check("four times as many patterns take no more than eight times as long", times[1] < 8 * max(times[0], 0.2))


@group
def released_heads(db):
    db.set_clock()
    worker = Worker(db, capacity=3_000)
    db.many([f"q/{number}" for number in range(1_500)])
    worker.step(), worker.step(), worker.step()
    for claim in list(worker.running):
        worker.end(claim, "release", "1 hour")
    worker.step()
    application = hold(db, "q/7")
    other = Worker(db, capacity=3_000)
    do_chores(other)
    check("a start ends the waits of many released heads, but of a locked queue", len(other.step()), 1_499)
    check("whose turn comes later", db.count("task"), 1)
    application.rollback()
    do_chores(other)
    check("when it is free", (names(other.step()), db.count("task")), (["q/7"], 0))


@group
def a_clock_that_is_set_back(db):
    db.set_clock()
    judge, worker = Worker(db), Worker(db)
    db.enqueue("a"), db.enqueue("b")
    for row in worker.step():
        worker.end(row.claim, "retry", "1 minute", error="e")
    worker.step()
    application = hold(db, "a")
    db.shift("-1 day")
    worker.step(), judge.step()
    do_chores(worker), do_chores(judge)
    live(db, 40, worker, judge)
    check(
        "after a jump of the clock a locked queue keeps nobody from judging (G9)",
        db.value("SELECT bool_and(continuous_since <= sluice_now()) FROM sluice_worker_rows"),
    )
    db.shift("21 s")
    check("and no other queue from its retry (G8)", names(worker.step()), ["b"])
    application.rollback()
    do_chores(worker)
    db.shift("61 s")
    check("which the locked one has a minute after it is free", names(judge.step()), ["a"])


@group
def acts_on_many(db):
    """An act on many queues is done for those that are free, and has none while it waits for one (G9)."""
    worker = Worker(db)
    for number in range(20):
        db.enqueue(f"q/{number}")
    worker.step(free=0)
    application, operator = hold(db, "q/7"), db.another()
    operator.run("SET lock_timeout = '8s'")
    removed = operator.value("SELECT removed FROM sluice_cancel_queues('q/*')")
    check("an act passes over a queue that others have", removed, 19)
    for number in range(20):
        db.enqueue(f"q/{number}")
    act = operator.later(lambda: operator.value("SELECT removed FROM sluice_cancel_queues('q/7')"))
    act.waits()
    ran = set()
    for _ in range(60):
        ran |= {row.queue for row in worker.step()}
        worker.succeed_all()
        if len(ran) == 19:
            break
        time.sleep(0.05)
    check("while it waits the others run", len(ran), 19)
    application.rollback()
    check("and it ends when the queue is free", act.result(), 2)
    hold(db, "q/7")
    operator.run("SET lock_timeout = '500ms'")
    db.enqueue("q/7")
    before = db.count("action")
    error = operator.error("SELECT sluice_cancel_queues('q/7')")
    check("it waits no longer than its caller wants", error and error[0], "55P03")
    check("and leaves all as it was", db.count("action"), before)


@group
def an_act_on_two_queues(db):
    """A move that waits for the queue that it goes to does not hold up the one that it comes from (G9)."""
    worker = Worker(db)
    for queue in ("from", "from", "to"):
        db.enqueue(queue)
    worker.step(free=0)
    application, operator = hold(db, "to"), db.another()
    operator.run("SET lock_timeout = '8s'")
    second = db.value("SELECT max(id) FROM sluice_actions WHERE queue = 'from'")
    act = operator.later(lambda: operator.value("SELECT sluice_move(%s, 'to')", second))
    act.waits()
    ran = set()
    for _ in range(60):
        ran |= {row.queue for row in worker.step()}
        if ran:
            break
        time.sleep(0.05)
    check("the queue that it comes from runs", ran, {"from"})
    application.rollback()
    check("and the move is done when the other is free", act.result(), "done")


def fall_asleep(db, worker, reason):
    """How long it takes until all queues that wait sleep."""
    begin = time.monotonic()
    while db.value("SELECT count(*) FROM sluice_lane_rows WHERE blocked_by = %s", reason) < MANY:
        worker.step()
    return time.monotonic() - begin


def start_all(worker):
    started = set()
    end = time.monotonic() + 30
    while len(started) < MANY and time.monotonic() < end:
        started |= {row.queue for row in worker.step()}
        worker.succeed_all()
    return len(started)


@group
def a_gate_in_an_open_transaction(db):
    """Who has not committed the opening of a gate holds up the queues that wait for it, and no other (G9)."""
    worker = Worker(db)
    for number in range(MANY):
        db.enqueue(f"q/{number}", gate="closed")
    calm = fall_asleep(db, worker, "gate")
    for words in ("new", "known"):
        db.reset()
        worker = Worker(db)
        if words == "known":
            db.run("SELECT sluice_close_gate('g')")
        operator = db.another(autocommit=False)
        operator.run("SELECT sluice_open_gate('g')")
        for number in range(MANY):
            db.enqueue(f"q/{number}", gate="g")
        # Each of the heads waited for 10 ms, again and again: 11 seconds in all.
        check(f"no step waits for a {words} gate", fall_asleep(db, worker, "gate") < 2 + 3 * calm, True)
        operator.commit()
        check(f"when the {words} gate is open, all start (G11)", start_all(worker), MANY)


@group
def a_hold_in_an_open_transaction(db):
    worker = Worker(db)
    hold_number = db.value("SELECT sluice_hold('held/*', 'me')")
    operator = db.another(autocommit=False)
    operator.run("SELECT sluice_end_hold(%s)", hold_number)
    for number in range(MANY):
        db.enqueue(f"held/{number}")
    fall_asleep(db, worker, "hold")
    soon = "SELECT count(*) FROM sluice_lane_rows WHERE ready_at > now() + interval '1 s'"
    end, most = time.monotonic() + 30, 0
    while most < MANY // 2 and time.monotonic() < end:
        worker.step()
        most = max(most, db.value(soon))
    check("its queues are looked at ever less often (G9)", most >= MANY // 2, True)
    operator.commit()
    check("when it has ended, all start (G11)", start_all(worker), MANY)
