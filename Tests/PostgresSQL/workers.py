"""Workers: leases, who may judge, suspects, and settling by the application (G3, G5, G6, G7)."""

import json
import time

from checks import check, group
from worker import STEP, Worker, route


def live(db, seconds, *workers):
    """Some time in which these workers step, and others do not."""
    for _ in range(seconds // 10):
        db.shift("10 s")
        for worker in workers:
            worker.step()


@group
def suspects(db):
    db.set_clock()
    judge = Worker(db)
    live(db, 40, judge)
    lost = Worker(db)
    for number in range(3):
        db.enqueue(f"q{number}")
    row, *_ = lost.step()
    live(db, 20, judge)
    check("a worker whose lease runs is not taken off", judge.take_off(), 0)
    live(db, 20, judge)
    check("a worker whose lease is over is taken off", judge.take_off(), 1)
    suspects = "SELECT count(*) FROM sluice_state_rows WHERE is_suspect"
    check("its actions are suspects and lose no attempt (G7)", db.value(suspects + " AND attempts = 0"), 3)
    lost.end(row.claim)
    check("a worker that was taken off learns it (G6)", lost.database.later(lost.step).result(), "SL001")
    other_action = db.enqueue("o")
    trial, second = judge.step()
    check("half of the suspects run together, with nothing beside them (G7)", trial.is_alone and second.is_alone)
    other = Worker(db)
    check("no other worker runs a suspect at that time (G7)", other.actions(), [other_action])
    check("nothing else starts beside them", judge.step(), [])
    judge.end(trial.claim), judge.end(second.claim)
    (trial,) = judge.step()
    check("after their success the next suspect runs alone", trial.is_alone)
    live(db, 60, other)
    other.chores()
    check("a death that counts is told of", other.told, [("crashed", trial.action_id)])
    check(
        "the end of a worker while an action runs alone counts against it (G7)",
        [db.state(trial.action_id)[name] for name in ("crashes", "attempts")]
        + db.column("SELECT outcome FROM sluice_attempts WHERE action_id = %s", trial.action_id),
        [1, 1, "crashed"],
    )
    other.set_routes(route(crashLimit=1, crashed="skip"))
    other.drain()
    cause = db.value("SELECT cause FROM sluice_dead WHERE id = %s", trial.action_id)
    check("at the limit the policy of its route applies", cause, "crashed")


@group
def judging(db):
    db.set_clock()
    worker, judge = Worker(db), Worker(db)
    db.enqueue("a")
    worker.step()
    db.shift("1 hour")
    judge.step()
    check("after a jump of the clock nobody is taken off (G3)", judge.take_off(), 0)
    worker.step()
    live(db, 40, judge, worker)
    check("a worker that goes on is not taken off", judge.take_off(), 0)
    db.shift("-1 hour")
    judge.step()
    since = "SELECT isfinite(continuous_since) FROM sluice_worker_rows WHERE epoch = %s"
    check("a worker notices a clock that was set back", db.value(since, judge.epoch), False)
    action = db.enqueue("r")
    judge.end(judge.step()[0].claim, "retry", "1 minute", error="e")
    judge.step()
    db.shift("-1 day")
    judge.step()
    judge.chores()
    db.shift("61 s")
    check("after that a retry waits no longer than was asked (G8)", judge.actions(), [action])


@group
def taking_off_and_stepping(db):
    db.set_clock()
    worker, judge = Worker(db), Worker(db)
    live(db, 40, judge)
    db.enqueue("a")
    judge.database.connection.autocommit = False
    check("a judge takes a worker off", judge.take_off(), 1)
    late = worker.database.later(worker.actions)
    check("a step waits for the judge", late.waits())
    judge.database.commit()
    check("and then learns that its worker was taken off (G6)", late.result(), "SL001")
    judge.database.connection.autocommit = True
    worker = Worker(db)
    live(db, 40, judge)
    worker.database.connection.autocommit = False
    worker.step()
    judge.take_off()
    worker.database.commit()
    epochs = db.column("SELECT epoch FROM sluice_worker_rows ORDER BY epoch")
    check("nobody takes a worker off while its step is under way (G3)", epochs, [judge.epoch, worker.epoch])


@group
def settling_by_the_application(db):
    worker = Worker(db)
    db.enqueue("a", key="k")
    second = db.enqueue("a")
    (row,) = worker.step()
    application = db.another(autocommit=False)
    succeed = "SELECT sluice_succeed(%s)"
    application.all(succeed, row.claim)
    application.rollback()
    check("a settling that is rolled back settles nothing (G5)", db.count("action"), 2)
    application.all(succeed, row.claim)
    application.commit()
    check("a second settling is stale (G6)", application.error(succeed, row.claim)[0], "SL004")
    check("the key says that the action has succeeded", db.value("SELECT has_succeeded FROM sluice_key_rows"))
    worker.end(row.claim, "retry", "1 s", error="e")
    check("the queue goes on after it", worker.actions(), [second])
    check("and the worker learns who settled (G5)", worker.whats(), ["byApplication"])


@group
def leaving_and_coming_back(db):
    worker = Worker(db)
    db.enqueue("a")
    second = db.enqueue("b")
    first, _ = worker.step()
    resync = "SELECT * FROM sluice_resync(%s, %s)"
    gone = worker.database.column(resync, worker.epoch, [first.claim, 77])
    check("a resync returns the claims that are gone", gone, [77])
    worker.running.pop(max(worker.running))
    again = worker.step()
    check("and gives the others back without an attempt", [(r.action_id, r.attempts) for r in again], [(second, 0)])
    worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
    lanes = db.value("SELECT count(*) FROM sluice_lane_rows WHERE worker IS NOT NULL")
    check("a worker that leaves gives back all lanes", (db.count("worker"), lanes), (0, 0))


@group
def epochs(db):
    first = Worker(db)
    first.database.all("SELECT sluice_leave(%s)", first.epoch)
    check("no worker has the epoch of another, also after it has left (G6)", Worker(db).epoch > first.epoch)


RESYNC = "SELECT * FROM sluice_resync(%s, %s, %s)"


@group
def late_calls(db):
    """Calls that reach the server after their worker has given them up (G3, G11)."""
    worker = Worker(db)
    action = db.enqueue("a")
    first = (worker.epoch << 32) + 1
    step = (worker.epoch, worker.lease, *[[]] * 10, 1, first, False, 0, "5 s", 1)
    network = db.another()
    worker.database.all(RESYNC, worker.epoch, [], first + 100)
    check("a step that comes after a resync is refused", network.error(STEP, *step), ("SL004", "lateCall"))
    worker._number = 100
    (row,) = worker.step()
    check("and the worker runs what it would have claimed (G11)", row.action_id, action)
    late = network.error(RESYNC, worker.epoch, [], first + 50)
    check("a resync that comes after another one is refused", late, ("SL004", "lateCall"))
    check("and does not give back what runs (G3)", Worker(db).step(), [])
    worker.drain()
    db.enqueue("a")
    network = db.another(autocommit=False)
    network.all(STEP, *step[:-5], first + 200, False, 0, "5 s", 1)
    resync = worker.database.later(lambda: worker.database.column(RESYNC, worker.epoch, [], first + 300))
    check("a resync waits for a step that is under way", resync.waits())
    network.commit()
    check("and gives back what it has claimed (G11)", (resync.result(), db.count("claim")), ([], 0))


LOCK_LANE = (
    "SELECT FROM sluice_lane_rows WHERE queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = %s) FOR UPDATE"
)


@group
def transactions_that_stay_open(db):
    """One queue may wait for them, and nothing else (G9)."""
    application = db.another(autocommit=False)
    worker = Worker(db)
    db.enqueue("a"), db.enqueue("b")
    worker.step()
    first = (worker.epoch << 32) + 1
    application.all(LOCK_LANE, "a")
    check("a resync gives back what is not locked, and asks to be called again", column(worker, first + 100), [None])
    worker._number, worker.running = 100, {}
    check("and the worker goes on", [row.queue for row in worker.step()], ["b"])
    application.rollback()
    mine = list(worker.running)
    check("the next resync gives back the rest", column(worker, first + 200, mine), [])
    worker._number = 200
    check("which then runs (G11)", [row.queue for row in worker.step()], ["a"])

    db.reset()
    worker = Worker(db)
    db.enqueue("g", gate="new")
    application.all("SELECT sluice_close_gate('new')")
    other = db.enqueue("o")
    check("a gate that is made in an open transaction holds up nothing else", worker.actions(), [other])
    application.rollback()
    db.all("SELECT sluice_open_gate('new')")
    worker.succeed_all()
    # It looks again after 20 ms.
    rows, deadline = [], time.monotonic() + 10
    while not rows and time.monotonic() < deadline:
        rows = worker.step()
    check("and its action starts when it is open (G11)", [row.queue for row in rows], ["g"])

    db.reset()
    db.set_clock()
    judge = Worker(db)
    live(db, 40, judge)
    for name in ("a", "b"):
        lost = Worker(db)
        db.enqueue(name)
        lost.step()
    live(db, 40, judge)
    application.all(LOCK_LANE, "a")
    judge.chores(), judge.chores()
    (trial,) = judge.step()
    check("of two dead workers the one without a locked queue is taken off, and its suspect runs", trial.queue, "b")
    application.rollback()

    db.reset()
    Worker(db, route(pattern="x"))
    db.enqueue("y/1")
    worker = Worker(db, route(pattern="x"), route(2, pattern="y/*", kind="other"))
    worker.step()
    check("a queue waits for a route", db.lane("y/1")["blocked"] in ("unknown kind", "no route"))
    application.all(LOCK_LANE, "y/1")
    worker.set_routes(route(pattern="y/*"))
    check("new routes do not wait for a locked queue that waits for one", worker.step(), [])
    application.rollback()
    check("which runs when the transaction has ended (G11)", [row.queue for row in worker.step()], ["y/1"])

    db.reset()
    worker = Worker(db)
    acted = db.enqueue("n")
    application.all("SELECT sluice_set_tag(%s, 't')", acted)
    other = db.enqueue("m")
    check("a lane that an open transaction makes keeps no other from being made", worker.actions(), [other])
    application.rollback()
    check("and it is made when that has ended (G11)", worker.actions(), [acted])

    db.reset()
    worker = Worker(db)
    db.enqueue("r")
    worker.end(worker.step()[0].claim, "retry", "1 minute", error="e")
    worker.step()
    application.all(LOCK_LANE, "r")
    db.shift("-1 day")
    due = db.value("SELECT sluice_enqueue('s', 'k', '{}', not_before => sluice_now() + interval '1 s')")
    db.shift("2 s")
    worker.step()
    while worker.chores():
        pass
    check("after a jump of the clock a locked queue keeps no other waiting", worker.actions(), [due])
    application.rollback()


def column(worker, number, claims=()):
    return worker.database.column(RESYNC, worker.epoch, list(claims), number)


# What an act answers if the application's settling is committed, and if the action still runs.
DURING_SETTLING = {
    "a cancel": ("SELECT sluice_cancel(%s)", "tooLate", "signalled"),
    "a move": ("SELECT sluice_move(%s, 'z')", "missing", "deferred"),
    "an edit": ("SELECT sluice_edit(%s, NULL, '1', NULL)", "missing", "deferred"),
    "a tag": ("SELECT sluice_set_tag(%s, 't')", "missing", "done"),
    "a move to the front": ("SELECT sluice_move_to_front(%s)", "missing", "running"),
}


@group
def acts_during_a_settling(db):
    application, operator = db.another(autocommit=False), db.another()
    for end in ("commit", "rollback"):
        for has_state in (False, True):
            for name, (sql, settled, running) in DURING_SETTLING.items():
                db.reset()
                worker = Worker(db)
                action = db.enqueue("a")
                db.enqueue("b")
                claim = next(row.claim for row in worker.step() if row.action_id == action)
                if has_state:
                    db.run("INSERT INTO sluice_state_rows (action_id, attempts) VALUES (%s, 1)", action)
                application.all("SELECT sluice_succeed(%s)", claim)
                act = operator.later(lambda: operator.value(sql, action))
                case = f"({end}, {'with' if has_state else 'without'} a state)"
                check(f"{name} waits for the application's settling {case}", act.waits())
                lanes = db.error("SELECT 1 FROM sluice_lane_rows FOR NO KEY UPDATE NOWAIT")
                check(f"{name} has no lane while it waits {case}", lanes, None)
                getattr(application, end)()
                check(f"{name} answers by how it ended {case}", act.result(), settled if end == "commit" else running)
                worker.end(claim)
                worker.step()
                worker.drain()
                check(f"{name} leaves no state behind {case}", db.state(action), None)


@group
def many_cancelled_during_a_settling(db):
    worker = Worker(db)
    first = db.enqueue("a")
    db.enqueue("a")
    other = db.enqueue("b")
    claim = next(row.claim for row in worker.step() if row.action_id == first)
    application, operator = db.another(autocommit=False), db.another()
    application.all("SELECT sluice_succeed(%s)", claim)
    removed = db.row("SELECT removed, signalled FROM sluice_cancel_queues('*')")
    application.commit()
    check("cancelling many leaves what the application settles", removed, (1, [other]))
    db.reset()
    worker = Worker(db)
    first = db.enqueue("a")
    db.enqueue("z")
    claim = next(row.claim for row in worker.step() if row.action_id == first)
    application.all("SELECT sluice_succeed(%s)", claim)
    move = operator.later(lambda: operator.value("SELECT sluice_move(%s, 'z')", first))
    move.waits()
    error = application.error("SELECT sluice_enqueue('z', 'k', '1')")
    application.commit()
    check("settling and then enqueuing does not deadlock with a move", (error, move.result()), (None, "missing"))


@group
def registering(db):
    """A start ends the waits of released heads."""
    db.set_clock()
    worker = Worker(db)
    action = db.enqueue("a")
    worker.end(worker.step()[0].claim, "release", "1 hour")
    worker.step()
    check("a released action waits", worker.step(), [])
    check("and starts when a worker registers", Worker(db).actions(), [action])
    unknown = [json.dumps([route()]), worker.epoch + 1000]
    error = db.error("SELECT sluice_set_routes(%s, %s)", unknown[1], unknown[0])
    check("a worker that is gone has no routes (G6)", error[0], "SL001")


@group
def contradictions(db):
    worker = Worker(db)
    db.enqueue("a")
    (row,) = worker.step()
    found = "SELECT sluice_contradictions()"
    check("claims and lanes agree", db.column(found), [])
    db.run("UPDATE sluice_lane_rows SET worker = NULL")
    check(
        "a claim whose queue is free is found",
        db.column(found),
        [f"the queue {row.queue_id} of claim {row.claim} is not that of its worker"],
    )
    db.run("UPDATE sluice_lane_rows SET worker = %s", worker.epoch)
    db.run("DELETE FROM sluice_claim_rows")
    check(
        "and a queue that nobody gives on",
        db.column(found),
        [f"worker {worker.epoch} has the queue {row.queue_id} without a claim"],
    )
    check("a worker can run", (db.value("SELECT sluice_try()"), db.count("worker")), (None, 1))
    db.run("ALTER TABLE sluice_route_rows REPLICA IDENTITY NOTHING")
    db.run("CREATE PUBLICATION sluice_try FOR ALL TABLES")
    try:
        why = db.value("SELECT sluice_try()")
        check("or it is said why not", "replica identity" in why and "55000" in why)
    finally:
        db.run("DROP PUBLICATION sluice_try")


@group
def chores(db):
    """What is only kept for a time is deleted after it."""
    db.set_clock()
    worker = Worker(db)
    db.many(["a"], token="00000000-0000-0000-0000-000000000001", keys=["k"], key_keep=["2 hours"])
    worker.drain()
    worker.chores()
    check("tokens and keys are kept for their time (G14)", (db.count("token"), db.count("key")), (1, 1))
    db.shift("61 minutes")
    worker.chores()
    check("tokens are deleted after an hour (G12)", (db.count("token"), db.count("key")), (0, 1))
    db.shift("61 minutes")
    worker.chores()
    check("keys are deleted after their own time (G12)", db.count("key"), 0)
