"""Gates and holds: who waits for them, and what wakes (G4, G11)."""

import datetime

from checks import check, group
from worker import Worker, route


@group
def gates_and_steps(db):
    db.set_clock()
    worker = Worker(db, route(gates=["net"]))
    first, second = db.enqueue("a"), db.enqueue("b", gate="own")
    worker.step()
    check("closed gates keep heads", [db.lane(queue)["blocked"] for queue in "ab"], ["gate", "gate"])
    db.value("SELECT sluice_open_gate('net')")
    (row,) = worker.step()
    check("opening a gate wakes its queues (G11)", row.action_id, first)
    db.value("SELECT sluice_open_gate('own')")
    check("an action waits for its own gate too", worker.actions(), [second])

    def retry(gate, delay="1 hour", closes=False):
        worker.end(row.claim, "retry", delay, gate=gate, closes=closes, error="e")
        return worker.step()

    retry("g")
    check("a retry until a closed gate opens waits for the gate alone", db.lane("a")["blocked"], "gate")
    db.value("SELECT sluice_open_gate('g')")
    (row,) = worker.step()
    check("and starts when it opens", row.action_id, first)
    db.all("SELECT sluice_close_gate('g')")
    db.value("SELECT sluice_open_gate('g')")
    (row,) = retry("g")
    check("a gate that opened during the attempt counts", row.action_id, first)
    check("a gate that was open before it does not: the delay counts", retry("g"), [])
    db.shift("1 hour")
    (row,) = worker.step()
    retry("net", "1 minute", closes=True)
    is_open = "SELECT is_open FROM sluice_gate_rows WHERE name = 'net'"
    check("a retry can close its gate", db.value(is_open), False)
    db.shift("61 s")
    worker.chores()
    check("for a time", db.value(is_open))
    db.shift("61 s")
    (row,) = worker.step()
    check("and then its queues start", row.action_id, first)
    retry("nobody", "1 minute", closes=True)
    db.shift("61 s")
    check("closing a gate that nobody has set waits for the delay alone", worker.actions(), [first])


@group
def gates_and_locks(db):
    step, operator = db.another(autocommit=False), db.another()
    for queue in "ab":
        db.park(db.enqueue(queue, gate="g"), "gate", "g")
    db.run("INSERT INTO sluice_gate_rows (name, is_open) VALUES ('g', false)")
    lane = "(SELECT queue_id FROM sluice_queue_rows WHERE name = 'a')"
    step.all(f"SELECT 1 FROM sluice_lane_rows WHERE queue_id = {lane} FOR NO KEY UPDATE")
    opening = operator.later(lambda: operator.value("SELECT sluice_open_gate('g')"))
    check("opening a gate waits for no lane", (opening.waits(), opening.result()), (False, True))
    check("lanes that are free are ready", db.lane("b")["ready"])
    arrivals = "SELECT q.name, r.rewind FROM sluice_arrival_rows r JOIN sluice_queue_rows q USING (queue_id)"
    check("and one that is locked gets an arrival (G11)", db.all(arrivals), [("a", True)])
    step.rollback()
    db.reset()
    action = db.enqueue("a", gate="g")
    db.take_in()
    db.run("INSERT INTO sluice_gate_rows (name, is_open) VALUES ('g', false)")
    step.all("SELECT 1 FROM sluice_gate_rows WHERE name = 'g' FOR KEY SHARE")
    step.run(
        "UPDATE sluice_lane_rows SET blocked_by = 'gate', blocked_action_id = %s, blocked_at = now(),"
        " blocked_error = 'g', ready_at = NULL",
        action,
    )
    opening = operator.later(lambda: operator.value("SELECT sluice_open_gate('g')"))
    check("opening a gate waits for a step that puts a lane to sleep", opening.waits())
    step.commit()
    opening.result()
    check("and wakes that lane (G11)", (db.lane("a")["ready"], db.lane("a")["blocked"]), (True, None))


@group
def holds_and_steps(db):
    db.set_clock()
    worker = Worker(db)
    held, free = db.enqueue("x/a"), db.enqueue("y")
    hold = db.value("SELECT sluice_hold('x/*', 'me')")
    check("a hold keeps the heads of its queues, and no others", worker.actions(), [free])
    check("and their lanes wait for it", db.lane("x/a")["blocked"], "hold")
    db.value("SELECT sluice_end_hold(%s)", hold)
    (row,) = worker.step()
    check("ending a hold wakes its queues (G11)", row.action_id, held)
    worker.end(row.claim, "stop")
    db.value("SELECT sluice_hold('*', 'me', '', '1 minute'::interval)")
    check("a queue that a worker keeps is held too", worker.step(), [])
    db.shift("61 s")
    check("a hold ends by itself", worker.actions(), [held])


@group
def gates(db):
    action = db.enqueue("a", gate="g")
    db.park(action, "gate", "g")
    other = db.enqueue("b")
    db.park(other, "gate", "h")
    check(
        "opening a gate wakes the lanes that wait for it, and no others",
        (
            db.value("SELECT sluice_open_gate('g')"),
            db.lane("a")["ready"],
            db.lane("a")["blocked"],
            db.lane("b")["blocked"],
        ),
        (True, True, None, "gate"),
    )
    check("opening it again wakes nobody", db.value("SELECT sluice_open_gate('g')"), False)
    opening = db.value("SELECT opening FROM sluice_gate_rows WHERE name='g'")
    db.all("SELECT sluice_close_gate('g')")
    db.all("SELECT sluice_open_gate('g')")
    check(
        "each opening has a higher number",
        db.value("SELECT opening FROM sluice_gate_rows WHERE name='g'") > opening > 0,
    )
    db.run("DELETE FROM sluice_lane_rows")
    for number in range(50):
        db.park(db.enqueue(f"s/{number}"), "gate", "h")
    db.all("SELECT sluice_open_gate('h','1 hour')")
    check(
        "an opening may spread the starts of its queues",
        db.value("SELECT max(ready_at)-min(ready_at) > '20 min' FROM sluice_lane_rows"),
    )
    db.reset()
    db.all("SELECT sluice_close_gate('g','1 hour')")
    check(
        "a gate that nobody opened opens by itself",
        db.value("SELECT opens_at > now() + '59 min' AND changed_at IS NOT NULL FROM sluice_gate_rows"),
    )
    db.all("SELECT sluice_close_gate('g','1 min')")
    check(
        "of two closings the later end counts",
        db.value("SELECT opens_at > now() + '59 min' AND closed_for='1 hour' FROM sluice_gate_rows"),
    )
    db.all("SELECT sluice_close_gate('g')")
    db.all("SELECT sluice_close_gate('g','1 min')")
    check("a closing without an end outlasts others", db.value("SELECT opens_at IS NULL FROM sluice_gate_rows"))
    db.run("INSERT INTO sluice_gate_rows(name,is_open) VALUES ('w',false)")
    db.all("SELECT sluice_close_gate('w','1 min')")
    check(
        "a gate that is only waited for can be closed for a time",
        db.value("SELECT opens_at IS NOT NULL FROM sluice_gate_rows WHERE name='w'"),
    )
    check("a gate needs a name", db.error("SELECT sluice_open_gate('')"), ("SL003", "invalidGate"))


@group
def holds(db):
    hold = db.value("SELECT sluice_hold('a/*','ops','why','1 hour')")
    second = db.value("SELECT sluice_hold('a/*','you')")
    action = db.enqueue("a/1")
    db.park(action, "hold", str(hold))
    other = db.enqueue("b")
    db.park(other, "hold", "77")
    check(
        "ending a hold wakes its lanes, and no others",
        (db.value("SELECT sluice_end_hold(%s)", hold), db.lane("a/1")["ready"], db.lane("b")["blocked"]),
        (True, True, "hold"),
    )
    check("a hold ends once", db.value("SELECT sluice_end_hold(%s)", hold), False)
    db.park(action, "hold", str(second))
    check(
        "holds end by pattern and holder",
        (
            db.value("SELECT sluice_end_holds('a/*','ops')"),
            db.value("SELECT sluice_end_holds('a/*')"),
            db.lane("a/1")["ready"],
        ),
        (0, 1, True),
    )
    check(
        "a hold with an invalid pattern is refused",
        db.error("SELECT sluice_hold('a*b','x')"),
        ("SL003", "invalidPattern"),
    )
    check(
        "a hold with too long a reason is refused",
        db.error("SELECT sluice_hold('*','x',repeat('x',1001))"),
        ("SL003", "invalidOptions"),
    )
    check(
        "a hold that ends after the year 9999 is refused",
        db.error("INSERT INTO sluice_holds (scope, until) VALUES ('*', '10000-01-01 00:00+00')"),
        ("SL003", "invalidOptions"),
    )
    db.all("SELECT sluice_hold('*', 'x', '', interval '170000 years'), sluice_close_gate('g', interval '170000 years')")
    check(
        "a hold or a closing for longer than 100 years is one for 36,600 days",
        db.all("SELECT h.until - h.since, g.opens_at - g.changed_at FROM sluice_hold_rows h, sluice_gate_rows g"),
        [(datetime.timedelta(days=36600),) * 2],
    )


REGISTER = """SELECT sluice_register('other', 1, '30 s', '[{"route": 1, "pattern": "*"}]')"""


@group
def lanes_put_to_sleep(db):
    """While a step puts a lane to sleep, whoever ends the reason waits for the step, and then wakes the lane."""
    other = db.another()
    cases = [
        ("a closed gate", route(), "SELECT sluice_open_gate('g')"),
        ("a hold", route(), "SELECT sluice_end_holds('*')"),
        ("an unknown kind", route(1, "*", "x"), REGISTER),
    ]
    for reason, only_route, end in cases:
        db.reset()
        worker = Worker(db, only_route)
        if reason == "a hold":
            db.value("SELECT sluice_hold('*', 'me')")
        db.enqueue("a", gate="g" if reason == "a closed gate" else None)
        if reason == "a closed gate":
            db.run("INSERT INTO sluice_gate_rows (name, is_open) VALUES ('g', false)")
        worker.database.connection.autocommit = False
        worker.step()
        ending = other.later(lambda: other.value(end))
        check(f"what ends {reason} waits for a step that puts a lane to sleep for it", ending.waits())
        worker.database.commit()
        ending.result()
        check(f"and wakes that lane ({reason}, G11)", db.lane("a")["ready"])


@group
def releases_by_an_open_gate(db):
    db.set_clock()
    worker = Worker(db, route())
    db.enqueue("a")
    db.value("SELECT sluice_open_gate('login')")
    waits = []
    (row,) = worker.step()
    for _ in range(8):
        worker.end(row.claim, "release", "1 s", gate="login")
        worker.step()
        waits.append(db.value("SELECT extract(epoch FROM retry_delay)::int FROM sluice_state_rows"))
        db.shift(f"{waits[-1]} s")
        (row,) = worker.step()
    check("a release by a gate that is open waits longer each time", waits, [1, 2, 4, 8, 16, 32, 60, 60])
    db.all("SELECT sluice_close_gate('login')")
    db.value("SELECT sluice_open_gate('login')")
    worker.end(row.claim, "release", "1 s", gate="login")
    check("one whose gate has opened since starts at once", len(worker.step()), 1)
