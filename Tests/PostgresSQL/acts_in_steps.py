"""Acts of operators, and what the step then does (G2, G4, G11)."""

from checks import check, group
from worker import Worker, route
from workers import live


def because(db):
    return db.row("SELECT state, because FROM sluice_queues")


@group
def cancels(db):
    worker = Worker(db)
    action, second = db.enqueue("a"), db.enqueue("a")
    (row,) = worker.step()
    check("cancelling a running action signals it", db.value("SELECT sluice_cancel(%s)", action), "signalled")
    worker.step()
    check("its worker learns it with each step", worker.whats(), ["cancel"])
    worker.end(row.claim, "retry", "1 s", error="e")
    (row,) = worker.step()
    check("an outcome that is no success removes it", (worker.whats(), row.action_id), (["removed"], second))
    check("and its state", db.count("state"), 0)
    db.value("SELECT sluice_cancel(%s)", second)
    worker.end(row.claim)
    worker.step()
    check("a success wins over a cancel", worker.whats(), ["settled"])
    action, second = db.enqueue("a"), db.enqueue("a")
    (row,) = worker.step()
    db.run("DELETE FROM sluice_actions WHERE id = %s", action)
    worker.step()
    check("a worker learns that its action was deleted", worker.whats(), ["cancel"])
    worker.end(row.claim)
    check("the queue goes on after it", worker.actions(), [second])
    check("and no state is left", (worker.whats(), db.state(action)), (["removed"], None))


@group
def acts_on_claims_that_are_lost(db):
    """What operators do to a running action holds also if its claim ends without an outcome (G11)."""

    def act(worker):
        deleted, cancelled, moved = (db.enqueue(queue) for queue in "abc")
        worker.step()
        db.run("DELETE FROM sluice_actions WHERE id = %s", deleted)
        db.value("SELECT sluice_cancel(%s)", cancelled)
        db.value("SELECT sluice_move(%s, 'd')", moved)
        return moved

    def left():
        return db.all("SELECT id, queue FROM sluice_actions ORDER BY id")

    db.set_clock()
    judge, worker = Worker(db), Worker(db)
    moved = act(worker)
    live(db, 40, judge)
    check("a worker is taken off that ran what operators have changed", judge.take_off(), 1)
    check("what they deleted and cancelled is gone, what they moved is there", left(), [(moved, "d")])
    check("only that one has a state", db.column("SELECT action_id FROM sluice_state_rows"), [moved])
    # The first step takes it in.
    started = judge.step() + judge.step()
    check("and it runs alone", [(row.action_id, row.is_alone) for row in started], [(moved, True)])
    judge.succeed_all()
    judge.step()
    moved = act(judge)
    judge.running.clear()
    judge.database.all("SELECT * FROM sluice_resync(%s, %s)", judge.epoch, [])
    check("the same holds for claims that a resync gives back", left(), [(moved, "d")])
    check("and the next step starts what is left", judge.drain(), [moved])
    check("no state is left", db.count("state"), 0)


@group
def keys_that_move(db):
    """An open enqueue with the same key holds up no step, no resync and no taking off (G9, G14)."""

    def moving():
        worker, action = Worker(db), db.enqueue("a", key="x")
        worker.step()
        db.value("SELECT sluice_move(%s, 'b')", action)
        application = db.another(autocommit=False)
        return worker, action, application, application.enqueue("b", key="x")

    def ends(how, act, application, action, other):
        check(f"{how} moves the action while the key is taken there", act, "done")
        application.commit()
        keys = db.all("SELECT action_id, until FROM sluice_key_rows")
        check(f"after {how} the other one has the key", keys, [(other, None)])
        check("and both run", Worker(db).drain(), [action, other])

    def step(worker):
        worker.end(next(iter(worker.running)), "stop")
        worker.step(free=0)
        return "done" if worker.whats() == ["settled"] else worker.whats()

    def resync(worker):
        worker.database.all("SELECT * FROM sluice_resync(%s, %s)", worker.epoch, [])
        worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
        return "done"

    for act in (step, resync):
        worker, action, application, other = moving()
        ends(f"a {act.__name__}", worker.database.later(lambda: act(worker)).result(), application, action, other)
        db.reset()
    db.set_clock()
    judge = Worker(db)
    live(db, 40, judge)
    worker, action, application, other = moving()
    live(db, 40, judge)
    check("and a worker is taken off", judge.take_off(), 1)
    application.commit()


@group
def suspects_that_go(db):
    """A queue whose suspect was on trial, and is gone when the claim is given back, waits for no idle worker (G11)."""
    for act in ("SELECT sluice_cancel(%s)", "SELECT sluice_move(%s, 'z')", "DELETE FROM sluice_actions WHERE id = %s"):
        busy, lost = Worker(db, route(1, "busy")), Worker(db)
        suspect = db.enqueue("a")
        lost.step()
        lost.database.all("SELECT sluice_leave(%s)", lost.epoch)
        worker = Worker(db)
        check("a suspect is on trial", [row.is_alone for row in worker.step()], [True])
        db.enqueue("busy")
        busy.step()
        busy.set_routes(route())
        following = db.enqueue("a")
        (db.run if act.startswith("DELETE") else db.value)(act, suspect)
        worker.database.all("SELECT * FROM sluice_resync(%s, %s)", worker.epoch, [])
        worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
        check(f"after {act} the next one starts at once", following in busy.actions() + busy.actions())
        db.reset()
    lost = Worker(db)
    suspect = db.enqueue("a")
    lost.step()
    lost.database.all("SELECT sluice_leave(%s)", lost.epoch)
    worker = Worker(db)
    worker.step()
    worker.database.all("SELECT * FROM sluice_resync(%s, %s)", worker.epoch, [])
    worker.running.clear()
    again = worker.step() + worker.step()
    check("a trial that is given back begins anew (G7)", [(r.action_id, r.is_alone) for r in again], [(suspect, True)])


@group
def retries_and_failures(db):
    worker = Worker(db)
    first, second = db.enqueue("a"), db.enqueue("a")
    worker.end(worker.step()[0].claim, "retry", "1 hour", error="e")
    check("a retry waits", worker.step(), [])
    db.all("SELECT * FROM sluice_retry_now('*')")
    (row,) = worker.step()
    check("retry now starts it", row.action_id, first)
    worker.fail(row.claim, "block")
    worker.step()
    check("a failure says why", because(db), ("parked", f"parked by action {first} after failure (failed): bad"))
    db.all("SELECT * FROM sluice_retry_now('a')")
    worker.fail(worker.step()[0].claim, "block")
    worker.step()
    skipped = db.row("SELECT * FROM sluice_skip_head('a')")
    check(
        "skipping the parked action lets the queue go on",
        (skipped, worker.drain()),
        (("skipped", first, "k", "bad"), [second]),
    )
    action = db.enqueue("a")
    worker.fail(worker.step()[0].claim, "block", cause="undecodable")
    worker.step()
    db.value("SELECT sluice_edit(%s, NULL, '2', NULL)", action)
    check("an edit starts an action that could not be read", worker.drain(), [action])
    db.value("SELECT sluice_hold('*', 'ops')")
    action = db.enqueue("a")
    worker.step()
    check("a hold says who holds", because(db), ("held", "held by ops"))
    db.all("SELECT * FROM sluice_retry_now('*')")
    check("retry now does not end a hold", worker.step(), [])
    only_x = db.enqueue("x", "x")
    db.all("SELECT sluice_end_holds('*')")
    worker.set_routes(route(1, "*", "x"))
    check("a kind without a route waits", worker.drain(), [only_x])
    db.value("SELECT sluice_edit(%s, 'x', '1', NULL)", action)
    check("until an edit changes the kind", worker.drain(), [action])


@group
def moves(db):
    worker = Worker(db)
    moved, *ids = db.enqueue("a"), db.enqueue("b"), db.enqueue("b"), db.enqueue("b")
    db.value("SELECT sluice_hold('a', 'x')")
    started = worker.actions()
    db.all("SELECT sluice_move(%s, 'b')", moved)
    check(
        "an action that moves to a queue beyond its place is next",
        started + worker.drain(),
        [ids[0], moved, *ids[1:]],
    )
    db.reset()
    worker = Worker(db)
    moved, *ids = db.enqueue("a"), db.enqueue("b"), db.enqueue("b")
    db.value("SELECT sluice_hold('a', 'x')")
    worker.end(worker.step()[0].claim)
    worker.step(free=0)
    db.enqueue("z")
    db.run(
        "INSERT INTO sluice_arrival_rows (queue_id)"
        " SELECT queue_id FROM sluice_queue_rows, generate_series(1, 1500) WHERE name = 'z'"
    )
    db.all("SELECT sluice_move(%s, 'b')", moved)
    check("it is next although many arrivals are before its own (G11)", moved in worker.actions())
    db.reset()
    worker = Worker(db)
    moved = db.enqueue("a")
    db.value("SELECT sluice_hold('a', 'x')")
    db.enqueue("b")
    worker.drain()
    later = db.enqueue("b")
    db.all("SELECT sluice_move(%s, 'b')", moved)
    check("it is next if the queue was empty", worker.drain(), [moved, later])
    first, second = db.enqueue("c"), db.enqueue("d")
    rows = {row.queue: row.claim for row in worker.step()}
    later = db.enqueue("c", key="k")
    check("moving a running action is deferred", db.value("SELECT sluice_move(%s, 'd')", first), "deferred")
    worker.end(rows["c"], "stop")
    check("until its attempt ends: its queue goes on", worker.actions(), [later])
    last = db.enqueue("d")
    worker.end(rows["d"])
    check("and it goes first in the other", worker.drain(), [first, last])
    check("everything has run", (second < last, db.count("action")), (True, 0))


@group
def earlier_places(db):
    worker = Worker(db)
    buried = db.enqueue("a")
    db.bury(buried)
    db.enqueue("a")
    worker.drain()
    later = db.enqueue("a")
    db.value("SELECT sluice_requeue(%s)", buried)
    check("a requeued dead letter is next (G2)", worker.drain(), [buried, later])
    scheduled = db.enqueue("a", not_before="2999-01-01")
    db.enqueue("a")
    worker.drain()
    later = db.enqueue("a")
    db.value("SELECT sluice_reschedule(%s, NULL)", scheduled)
    check("a scheduled action that is made due is next (G2)", worker.drain(), [scheduled, later])
    ids = [db.enqueue("a") for _ in range(6)]
    started = worker.actions()
    for index in (4, 3):
        db.value("SELECT sluice_move_to_front(%s)", ids[index])
    want = [ids[index] for index in (0, 3, 4, 1, 2, 5)]
    check("actions that move to the front go first, and none is lost", started + worker.drain(), want)
    ids = [db.enqueue("a") for _ in range(4)]
    db.value("SELECT sluice_move_to_front(%s)", ids[3])
    (row,) = worker.step()
    worker.end(row.claim, "retry", "0 s")
    worker.step(free=0)
    check("a retry of one is still at the front (G4)", worker.drain(), [ids[3], *ids[:3]])
    ids = [db.enqueue("a") for _ in range(40)]
    db.value("SELECT sluice_move_to_front(%s)", ids[30])
    db.enqueue("b")
    ran = [action for action in worker.drain() if action in ids]
    check("and others follow through several turns", ran, [ids[30], *ids[:30], *ids[31:]])


@group
def failing_queues(db):
    worker = Worker(db)
    db.many(["a"] * 1500)
    moved = db.enqueue("b")
    db.value("SELECT sluice_hold('b', 'x')")
    buried = db.enqueue("a")
    db.bury(buried)
    worker.fail(worker.step()[0].claim, "failQueue")
    worker.step(free=0)
    check("a queue of more than a thousand fails in several steps", db.lane("a")["blocked"], "failing")
    db.value("SELECT sluice_move(%s, 'a')", moved)
    db.value("SELECT sluice_requeue(%s)", buried)
    late = db.enqueue("a")
    check("what enters it while it fails is spared", worker.drain() + worker.drain(), [moved, buried, late])


@group
def closings(db):
    db.set_clock()
    worker = Worker(db)
    db.all("SELECT sluice_close_gate('g', '1 minute')")
    action = db.enqueue("a", gate="g")
    check("an action waits for a closed gate", (worker.step(), because(db)[0]), ([], "gate"))
    db.shift("61 s")
    worker.chores()
    # The starts are spread over a tenth of that time.
    db.shift("7 s")
    check("and starts when the closing ends by itself (G11)", worker.drain(), [action])
