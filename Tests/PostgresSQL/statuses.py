"""What the views say about queues and actions: why a queue does not move, in which state an action is (G15)."""

import re

from checks import check, group
from fresh import add_route, fresh
from worker import Worker

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"


def status_of(db, queue="a"):
    """Why a queue does not move, with times as the word TIME."""
    found = db.facts(
        "SELECT state, because, head_id AS head, attempt, blocked_until AS until, last_error AS error, process, depth"
        " FROM sluice_queues WHERE queue = %s",
        queue,
    )
    if found:
        found["because"] = re.sub(TIME, "TIME", found["because"])
    return found


@group
def refusals(db):
    db.reset()
    db.set_clock()
    worker = Worker(db)
    db.enqueue("a", kind="k")
    db.enqueue("a", kind="k")
    worker.step(free=0)
    note = "SELECT sluice_note_refusal(%s, 'host/1', 1, 'no key')"
    db.run(note, worker.epoch)
    check("a worker whose steps fail is why nothing starts (G15)", status_of(db)["because"], "refused since TIME: no key")
    worker.step(free=0)
    check("a step that succeeds forgets it", status_of(db)["because"], "owned by host/1")
    db.run(note, worker.epoch)
    other = Worker(db, name="host/2")
    check("another one, whose steps succeed, is named in its place", status_of(db)["because"], "owned by host/2")
    db.run("SELECT sluice_leave(%s)", other.epoch)
    db.run("UPDATE sluice_worker_rows SET lease_until = now() - interval '1 s' WHERE epoch = %s", worker.epoch)
    status = status_of(db)
    check(
        "one whose lease is over, since no step renews it, still says why",
        (status["state"], status["because"]),
        ("stopped", "refused since TIME: no key"),
    )
    db.run("SELECT sluice_leave(%s)", worker.epoch)
    check("so does the end of a worker", status_of(db)["because"], "broker stopped")
    db.run(note, 0)
    check("one that cannot register is noted too", status_of(db)["because"], "refused since TIME: no key")
    before = db.count("worker")
    db.run(note, 0)
    check("once, however often it is started (G12)", db.count("worker"), before)
    worker = Worker(db)
    check("and counts for nothing beside one that can", status_of(db)["because"], "owned by host/1")
    for _ in range(4):
        db.shift("10 s")
        worker.step(free=0)
    check("which takes it off", (worker.take_off(), db.count("worker")), (1, 1))


def facts_of(db, queue="a"):
    return db.facts("SELECT * FROM sluice_status(%s)", queue)


@group
def claims_and_failures(db):
    worker = fresh(db)
    check("an unknown queue has no row", (status_of(db), facts_of(db)), (None, None))
    action = db.enqueue("a")
    db.claim(action, worker)
    status = status_of(db)
    check(
        "a queue whose action runs says since when, the attempt and the process (G15)",
        (status["state"], status["because"], status["process"], status["attempt"], status["head"]),
        ("running", "running since TIME, attempt 1", "host-a/17", 1, action),
    )
    db.run("UPDATE sluice_worker_rows SET lease_until = now() - interval '1 s'")
    status = status_of(db)
    check(
        "a claim of a worker whose lease is over does not run",
        (status["state"], status["because"], status["process"]),
        ("stopped", "broker stopped", None),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.claim(action, worker)
    db.drop(action)
    status = status_of(db)
    check(
        "an action that the application has settled still runs",
        (status["state"], status["head"], status["because"], status["depth"]),
        ("running", None, "running since TIME", 0),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action, "exhausted", "boom")
    status = status_of(db)
    check(
        "a parked queue says by which action and error",
        (status["state"], status["because"], status["error"]),
        ("parked", f"parked by action {action} after failure (exhausted): boom", "boom"),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.enqueue("a")
    db.park(action, "failing", "boom", action)
    status = status_of(db)
    check(
        "a failing queue says by which action",
        status["because"],
        f"parked by action {action} after failure (failing): boom",
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action, "undecodable", "bad")
    status = status_of(db)
    check(
        "a queue whose head cannot be read says so",
        (status["state"], status["because"], status["error"]),
        ("undecodable", "undecodable", "bad"),
    )
    worker = fresh(db, kind="other")
    action = db.enqueue("a")
    status = status_of(db)
    check(
        "a queue whose head has a kind without a route says so",
        (status["state"], status["because"]),
        ("unknown kind", "unknown kind"),
    )
    db.reset()
    worker = db.worker()
    add_route(db, "b/*", worker)
    action = db.enqueue("a")
    status = status_of(db)
    check("a queue without a route says so", (status["state"], status["because"]), ("no route", "no route"))
    fresh(db, has_worker=False)
    action = db.enqueue("a")
    db.park(action, "unknown kind", None)
    status = status_of(db)
    check("while nobody runs it says what the last step found", status["state"], "unknown kind")
    db.run("UPDATE sluice_lane_rows SET blocked_action_id=blocked_action_id+1")
    check("but only of the same head", status_of(db)["state"], "stopped")


@group
def holds_and_gates(db):
    fresh(db)
    action = db.enqueue("a")
    hold = db.value("SELECT sluice_hold('*','ops','move','1 hour')")
    second_hold = db.value("SELECT sluice_hold('a','you')")
    status = status_of(db)
    check(
        "a held queue says by whom and why",
        (status["state"], status["because"], status["until"] is not None),
        ("held", "held by ops: move", True),
    )
    facts = facts_of(db)
    check(
        "all holds are among the facts",
        (facts["hold_ids"], facts["hold_holders"], facts["hold_untils"][1], facts["hold_reasons"]),
        ([hold, second_hold], ["ops", "you"], None, ["move", ""]),
    )
    db.value("SELECT sluice_end_hold(%s)", hold)
    check("a hold may have no reason", status_of(db)["because"], "held by you")
    db.value("SELECT sluice_end_hold(%s)", second_hold)
    db.value("SELECT sluice_hold('b/*','x')")
    check("a hold of another pattern does not count", status_of(db)["state"], "ready")
    fresh(db, gates=["r", "o"])
    db.all("SELECT sluice_open_gate('o')")
    action = db.enqueue("a", gate="g")
    db.all("SELECT sluice_close_gate('g','1 hour')")
    status = status_of(db)
    check(
        "a queue that waits for a gate says until when",
        (status["state"], status["because"], status["until"] is not None),
        ("gate", "waiting for gate g until TIME", True),
    )
    facts = facts_of(db)
    check("all closed gates are among the facts", (facts["gates"], facts["gate_untils"][1]), (["g", "r"], None))
    db.retry(action, "1 hour", "q")
    check("also the gate that the last attempt waits for", facts_of(db)["gates"], ["g", "q", "r"])
    db.run("UPDATE sluice_gate_rows SET opens_at = now() - interval '1 s' WHERE name='g'")
    check("a gate whose time has come counts as open", facts_of(db)["gates"], ["q", "r"])


@group
def times_and_workers(db):
    worker = fresh(db)
    action = db.enqueue("a")
    db.retry(action)
    status = status_of(db)
    check(
        "a queue that waits for a retry says until when",
        (status["state"], status["because"], status["error"], status["attempt"]),
        ("retry", "waiting for retry until TIME", "again", 1),
    )
    worker = fresh(db)
    action = db.enqueue("a", not_before="2500-01-02T03:04:05.678901Z")
    status = status_of(db)
    check(
        "a queue whose only action is scheduled says for when",
        (status["because"], status["until"].year),
        ("scheduled for TIME", 2500),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    status = status_of(db)
    check(
        "a ready queue names a process that can run it",
        (status["state"], status["because"]),
        ("ready", "owned by host-a/17"),
    )
    second = db.enqueue("b")
    db.claim(second, worker)
    status = status_of(db)
    check(
        "a ready queue whose process is busy waits for a permit",
        (status["state"], status["because"]),
        ("ready", "waiting for a permit"),
    )
    worker = fresh(db, rate="calls")
    action = db.enqueue("a")
    db.run("INSERT INTO sluice_rate_rows VALUES ('calls', now() + interval '5 s')")
    status = status_of(db)
    check(
        "a queue that waits for a rate limit says until when",
        (status["state"], status["because"], status["until"] is not None),
        ("ready", "waiting for the rate limit calls until TIME", True),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    second = db.enqueue("b")
    db.run("INSERT INTO sluice_state_rows(action_id,awaits_trial) VALUES (%s,true)", action)
    db.claim(second, worker)
    db.run("UPDATE sluice_claim_rows SET trial_size = 1")
    db.run("UPDATE sluice_trial_rows SET worker = %s, part_until = now()", worker)
    status = status_of(db)
    check(
        "a suspect waits while another runs alone (G7)",
        status["because"],
        f"waits while action {second} of b runs alone after a crash",
    )
    fresh(db, has_worker=False)
    action = db.enqueue("a")
    status = status_of(db)
    check("a queue says if nobody runs (G15)", (status["state"], status["because"]), ("stopped", "broker stopped"))
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action)
    db.value("SELECT sluice_hold('*','ops')")
    check(
        "a parked queue that is held says that it is parked",
        (status_of(db)["state"], facts_of(db)["hold_ids"] is not None),
        ("parked", True),
    )


@group
def lists_of_queues(db):
    worker = fresh(db)
    ids = {n: db.enqueue(n) for n in ("q/3", "q/1", "q/2", "p", "q/10")}
    db.park(ids["q/2"])
    db.claim(ids["q/3"], worker)
    db.enqueue("empty")
    db.all("SELECT sluice_cancel_queues('empty')")

    def names(*arguments):
        return db.column("SELECT name FROM sluice_statuses(%s, %s, %s, %s)", *arguments)

    check(
        "queues that have an action are listed by name",
        names("*", None, 100, None),
        ["p", "q/1", "q/10", "q/2", "q/3"],
    )
    check("a pattern limits the list", names("q/*", None, 100, None), ["q/1", "q/10", "q/2", "q/3"])
    check(
        "the list goes on after a name",
        (names("q/*", None, 2, None), names("q/*", None, 2, "q/10")),
        (["q/1", "q/10"], ["q/2", "q/3"]),
    )
    check(
        "states limit the list",
        (
            names("*", ["parked"], 10, None),
            names("*", ["running", "parked"], 10, None),
            names("*", ["ready"], 10, None),
            names("*", ["running"], 0, None),
        ),
        (["q/2"], ["q/2", "q/3"], ["p", "q/1", "q/10"], []),
    )
    check("a name is a pattern", names("q/1", None, 10, None), ["q/1"])


def state_of(db, action):
    return db.facts("SELECT * FROM sluice_action_states(ARRAY[%s]::bigint[])", action)


@group
def states_of_actions(db):
    worker = fresh(db)
    action = db.enqueue("a", tag="t")
    second = db.enqueue("a", tag="t")
    third = db.enqueue("a", not_before="2999-01-01")
    found = state_of(db, second)
    check(
        "an action that waits says how many are before it",
        ((found["phase"], found["ahead"]), found["sort_type"]),
        (("waiting", 1), "arrival"),
    )
    check(
        "a scheduled action says for when",
        (state_of(db, third)["phase"], state_of(db, third)["at"].year),
        ("scheduled", 2999),
    )
    db.claim(action, worker)
    check(
        "an action that runs says since when and its attempt",
        (state_of(db, action)["phase"], state_of(db, action)["attempts"], state_of(db, action)["at"] is not None),
        ("running", 1, True),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.retry(action)
    found = state_of(db, action)
    check(
        "an action that waits for a retry says its last error",
        (found["phase"], found["last_error"], found["attempts"]),
        ("retrying", "again", 1),
    )
    worker = fresh(db)
    action = db.enqueue("a", gate="g", expires_at="2999-01-01", key="once")
    db.run("UPDATE sluice_action_rows SET trace = '{}' WHERE id = %s", action)
    db.park(action, "failed", "boom")
    found = state_of(db, action)
    check(
        "an action says its key and its trace",
        (found["own_key"], found["trace"]),
        ("once", "{}"),
    )
    check(
        "an action that parked its queue says why",
        ((found["phase"], found["cause"], found["last_error"], found["gate"]), found["expires_at"].year),
        (("parked", "failed", "boom", "g"), 2999),
    )
    db.run("UPDATE sluice_lane_rows SET blocked_by='hold', blocked_error='1'")
    check(
        "a hold is not an error of its action",
        (state_of(db, action)["last_error"], state_of(db, action)["phase"]),
        ("boom", "waiting"),
    )
    worker = fresh(db)
    action = db.enqueue("a", tag="t")
    db.bury(action, "expired", "late")
    found = state_of(db, action)
    check(
        "a dead letter says its cause",
        ((found["phase"], found["cause"], found["last_error"]), found["at"] is not None),
        (("dead", "expired", "late"), True),
    )
    second = db.enqueue("b", tag="t")
    check(
        "actions are found by tag, and dead letters too",
        (
            db.column("SELECT action FROM sluice_action_states(tag => 't')"),
            db.column("SELECT action FROM sluice_action_states(tag => 't', lim => 1)"),
        ),
        ([action, second], [action]),
    )
    check(
        "actions are found by queue and by pattern",
        (
            db.column("SELECT action FROM sluice_action_states(queue => 'a')"),
            db.column("SELECT action FROM sluice_action_states(pattern => '*')"),
        ),
        ([action], [action, second]),
    )
    third = db.enqueue("c", key="k")
    db.drop(third)
    check(
        "by its key an action that ended is known to have succeeded",
        (state_of(db, third)["phase"], state_of(db, third)["has_succeeded"], state_of(db, 12345678)["has_succeeded"]),
        ("ended", True, False),
    )


@group
def lists_of_actions(db):
    fresh(db)
    fourth = db.enqueue("b")
    third = db.enqueue("a", not_before="2999-01-01")
    action = db.enqueue("a")
    second = db.enqueue("a")
    check(
        "summaries are in the order of the queues",
        (db.column("SELECT id FROM sluice_summaries('*',10)"), db.column("SELECT id FROM sluice_summaries('*',2)")),
        ([action, second, third, fourth], [action, second]),
    )
    check("actions are counted", db.value("SELECT sluice_action_count()"), 4)
    for y in (action, second, fourth):
        db.all("SELECT sluice_bury(ARRAY[%s]::bigint[],%s,'x')", y, "failed" if y != second else "expired")
    rows = db.all("SELECT action, died_at FROM sluice_dead_letters('*')")
    check("dead letters are listed, the newest first", [row[0] for row in rows], [fourth, second, action])
    check(
        "and go on after one",
        db.column("SELECT action FROM sluice_dead_letters('*',NULL,%s,%s)", rows[0][1], rows[0][0]),
        [second, action],
    )
    check(
        "and can be limited to a cause and a pattern",
        (
            db.column("SELECT action FROM sluice_dead_letters('a','failed')"),
            len(db.all("SELECT 1 FROM sluice_dead_letters('*',lim => 2)")),
        ),
        ([action], 2),
    )
    db.run(
        "INSERT INTO sluice_attempt_rows VALUES"
        " (%s,1,2,'failed','e2',now(),now()),(%s,9,1,'retry','e1',now(),now()-interval '1 h')",
        action,
        action,
    )
    check(
        "failed attempts are listed, the oldest first",
        [row[1] for row in db.all("SELECT * FROM sluice_failed_attempts(%s)", action)],
        [1, 2],
    )
