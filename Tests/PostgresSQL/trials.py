"""What ran when its worker was lost is tried with nothing beside it, half of the most suspect at a time, for some
seconds in all (G7, G9)."""

from checks import check, group
from worker import Worker, route
from workers import LOCK_LANE, live

IDLE = route(pattern="idle")


def lose(db, judge):
    """Takes off whoever has not stepped."""
    live(db, 40, judge)
    while judge.take_off():
        pass


def attempts(db):
    return db.column("SELECT action_id FROM sluice_state_rows WHERE attempts > 0")


def suspects(db, more="true"):
    return db.column(f"SELECT action_id FROM sluice_state_rows WHERE is_suspect AND {more} ORDER BY 1")


@group
def halves(db):
    """Of some actions one kills each worker that runs it."""
    db.set_clock()
    for number in range(8):
        db.reset()
        judge = Worker(db, IDLE)
        actions = [db.enqueue(f"q{number}") for number in range(8)]
        poison = actions[number]
        Worker(db).step()
        lose(db, judge)
        deaths, sizes, beside = 1, [], []
        while not attempts(db) and deaths < 12:
            worker = Worker(db)
            rows = worker.step()
            while rows and poison not in [row.action_id for row in rows]:
                sizes.append(len(rows))
                db.enqueue("other")
                beside += worker.step()
                worker.succeed_all()
                rows = worker.step()
            if not rows:
                break
            sizes.append(len(rows))
            lose(db, judge)
            deaths += 1
        check(f"the {number}th of eight suspects is found in few deaths (G7)", deaths <= 4)
        check(f"and it alone loses an attempt ({number})", attempts(db), [poison])
        check(f"the first half is four ({number})", sizes[0], 4)
        check(f"nothing starts beside those that are tried ({number})", beside, [])


@group
def the_most_suspect(db):
    db.set_clock()
    judge = Worker(db, IDLE)
    actions = [db.enqueue(f"q{number}") for number in range(4)]
    Worker(db).step()
    lose(db, judge)
    db.run("UPDATE sluice_state_rows SET suspicion = 2 WHERE action_id = ANY (%s)", actions[2:])
    db.run("UPDATE sluice_state_rows SET crashes = 1 WHERE action_id = %s", actions[3])
    db.run("UPDATE sluice_lane_rows SET ready_at = ready_at - queue_id * interval '-1 ms'")
    check("half of the most suspect are tried, those that were blamed first (G7)", Worker(db).actions(), actions[3:])


@group
def many_together(db):
    """Sixty-four."""
    db.set_clock()
    judge = Worker(db, IDLE)
    actions = [db.enqueue(f"q{number}") for number in range(64)]
    poison = actions[41]
    Worker(db, capacity=64).step()
    lose(db, judge)
    deaths = 1
    while not attempts(db) and deaths < 12:
        worker = Worker(db, capacity=64)
        while True:
            rows = worker.step()
            if not rows or poison in [row.action_id for row in rows]:
                break
            worker.succeed_all()
        lose(db, judge)
        deaths += 1
    check("one of 64 is found within ten deaths (G7)", (deaths <= 10, attempts(db)), (True, [poison]))


@group
def beside_a_suspect(db):
    worker = Worker(db)
    suspect = db.enqueue("s")
    worker.step()
    worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
    worker = Worker(db)
    (trial,) = worker.step()
    other = db.enqueue("o")
    check("a suspect runs alone: new actions wait (G7)", (trial.action_id, worker.step()), (suspect, []))
    check(
        "and say for what (G15)",
        db.value("SELECT because FROM sluice_queues WHERE queue = 'o'"),
        f"waits while action {suspect} of s runs alone after a crash",
    )
    worker.end(trial.claim)
    check("and start after it", worker.actions(), [other])


@group
def one_worker_tries(db):
    db.set_clock()
    judge = Worker(db, IDLE)
    for number in range(2):
        db.enqueue(f"q{number}")
    Worker(db).step()
    lose(db, judge)
    tries, other = Worker(db), Worker(db)
    (trial,) = tries.step()
    action = db.enqueue("o")
    check("beside the worker that tries, others run all but suspects (G7, G9)", other.actions(), [action])
    other.succeed_all()
    check("also when they are idle", other.step(), [])
    tries.end(trial.claim)
    check("the next suspect follows the first", [row.is_alone for row in tries.step()], [True])
    lose(db, judge)
    check("a trial ends with its worker", [row.is_alone for row in Worker(db).step()], [True])


@group
def long_suspects(db):
    db.set_clock()
    judge = Worker(db, IDLE)
    actions = [db.enqueue(f"q{number}") for number in range(4)]
    Worker(db).step()
    lose(db, judge)
    worker = Worker(db)
    tried = worker.actions()
    other = db.enqueue("o")
    check("two of four are tried", (len(tried), worker.actions()), (2, []))
    db.shift("1100 ms")
    started = worker.actions() + worker.actions()
    untried = [action for action in actions if action not in tried]
    check(
        "when they have run for a fifth of the time, all others start (G9)", sorted(started), sorted([*untried, other])
    )
    check("those that were not tried stay suspects", suspects(db), untried)
    lose(db, judge)
    check("and are more suspect after the next death", suspects(db, "suspicion = 1"), untried)
    check("which costs nobody an attempt (G7)", attempts(db), [])
    worker = Worker(db)
    (first,) = worker.actions()
    check("the most suspect are tried first", first in untried)
    lose(db, judge)
    check("the death of one alone counts", attempts(db), [first])
    worker = Worker(db)
    check("and it is tried next, for longer", worker.actions(), [first])
    db.shift("2 s")
    check("than a fifth of the time", worker.step(), [])
    db.shift("4 s")
    check("but for no longer than all of it (G9)", other in worker.actions() + worker.actions())
    check("what outlives its trial is no suspect", first not in suspects(db))
    lose(db, judge)
    check("and a later death is not its fault", attempts(db), [first])
    check("nor counted as one", db.state(first)["crashes"], 0)


@group
def draining(db):
    db.set_clock()
    judge = Worker(db, IDLE)
    db.enqueue("s")
    Worker(db).step()
    worker = Worker(db, route(), route(2, pattern="only/*"))
    worker.database.run("UPDATE sluice_lane_rows SET ready_at = 'infinity'")
    db.enqueue("x")
    (busy,) = worker.step()
    live(db, 40, judge, worker)
    judge.take_off()
    db.run("UPDATE sluice_claim_rows SET started_at = sluice_now()")
    check("a busy worker does not drain at once", worker.step(), [])
    db.shift("1100 ms")
    db.enqueue("only/o")
    check("after a second it does (G7)", (worker.step(), worker.step()), ([], []))
    worker.end(busy.claim)
    (trial,) = worker.step()
    check("and tries the suspect when nothing else runs", (trial.queue, trial.is_alone), ("s", True))
    worker.end(trial.claim)
    check("then all others start", [row.queue for row in worker.step()], ["only/o"])
    worker.drain()
    db.enqueue("s")
    lost = Worker(db)
    lost.step()
    db.enqueue("x")
    (busy,) = worker.step()
    lost.database.all("SELECT sluice_leave(%s)", lost.epoch)
    db.shift("1100 ms")
    db.enqueue("only/o")
    check("a handler that goes on", worker.step(), [])
    db.shift("5100 ms")
    started = worker.step() + worker.step()
    check(
        "holds others up for no longer than all trials take (G9)", sorted(row.queue for row in started), ["only/o", "s"]
    )


@group
def locked_suspects(db):
    db.set_clock()
    worker, lost = Worker(db), Worker(db)
    db.enqueue("s")
    lost.step()
    db.enqueue("x")
    worker.step()
    lost.database.all("SELECT sluice_leave(%s)", lost.epoch)
    application = db.another(autocommit=False)
    application.all(LOCK_LANE, "s")
    db.shift("1100 ms")
    db.enqueue("o")
    check("no worker drains for a suspect whose queue is locked (G9)", [row.queue for row in worker.step()], ["o"])
    worker.succeed_all()
    worker.step()
    db.enqueue("p")
    check("nor does an idle one wait for it", [row.queue for row in worker.step()], ["p"])
    application.rollback()
    worker.succeed_all()
    check("it is tried when it is free (G11)", [(row.queue, row.is_alone) for row in worker.step()], [("s", True)])


@group
def nobody_tries(db):
    db.set_clock()
    worker, lost = Worker(db), Worker(db)
    db.enqueue("x")
    worker.step()
    live(db, 20, worker, lost)
    suspect = db.enqueue("s")
    lost.step()
    lost.database.all("SELECT sluice_leave(%s)", lost.epoch)
    db.enqueue("o")
    db.shift("2 s")
    check("a worker that runs something long does not drain (G9)", [row.queue for row in worker.step()], ["o"])
    worker.chores()
    check("and the suspect waits", worker.step(), [])
    db.shift("5 s")
    worker.chores()
    rows = worker.step()
    check(
        "if no worker can try it, it starts beside others",
        [(r.action_id, r.is_alone) for r in rows],
        [(suspect, False)],
    )
    check("and stays a suspect", suspects(db), [suspect])
    db.reset()
    worker, lost = Worker(db), Worker(db)
    worker.trial_limit = "0"
    suspect = db.enqueue("s")
    lost.step()
    lost.database.all("SELECT sluice_leave(%s)", lost.epoch)
    rows = worker.step()
    check("without time for trials there are none", [(r.action_id, r.is_alone) for r in rows], [(suspect, False)])
