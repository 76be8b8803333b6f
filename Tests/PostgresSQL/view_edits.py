"""Statements on the views: INSERT enqueues, UPDATE edits, DELETE removes (G4, G10)."""

from checks import check, group
from fresh import fresh


def update(db, columns, action):
    return db.run(f"UPDATE sluice_actions SET {columns} WHERE id = %s", action)


@group
def inserts(db):
    fresh(db, has_worker=False)
    check(
        "an INSERT enqueues",
        db.run("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('a','k','{\"n\":1}')"),
        1,
    )
    action = db.value("SELECT id FROM sluice_actions")
    check(
        "and returns the id",
        db.value(
            "INSERT INTO sluice_actions (queue, kind, payload, tag, gate, version, expires_at, not_before) VALUES"
            " ('a','k','1','t','g',2,'2500-01-01','2400-01-01') RETURNING id"
        )
        > action,
    )
    rows = db.row(
        "SELECT queue,sort_key,kind,payload,attempts,version,tag,gate,expires_at,not_before FROM sluice_actions WHERE"
        " id>%s",
        action,
    )
    check(
        "with all columns that it sets",
        (rows[:8], rows[8].year, rows[9].year),
        (("a", None, "k", "1", 0, 2, "t", "g"), 2500, 2400),
    )
    check(
        "an id cannot be given",
        db.error("INSERT INTO sluice_actions (id,queue,kind,payload) VALUES (1,'a','k','1')")[0],
        "SL003",
    )
    check(
        "a payload must be JSON",
        (
            db.error("INSERT INTO sluice_actions (queue,kind,payload) VALUES ('a','k','{')"),
            db.error("INSERT INTO sluice_actions (queue,kind) VALUES ('a','k')"),
        ),
        (("SL003", "payloadNotJSON"), ("SL003", "payloadNotJSON")),
    )
    check(
        "a kind is needed",
        db.error("INSERT INTO sluice_actions (queue,payload) VALUES ('a','1')"),
        ("SL003", "invalidKind"),
    )
    check(
        "a name of a queue is needed",
        db.error("INSERT INTO sluice_actions (kind,payload) VALUES ('k','1')"),
        ("SL003", "invalidQueueName"),
    )
    check(
        "a key in a queue in the order of arrival is refused",
        db.error("INSERT INTO sluice_actions (queue,kind,payload,sort_key) VALUES ('a','k','1','5')"),
        ("SL006", "sortKeyMismatch"),
    )
    for key, sort_type in (("5", "integer"), ("-1.5", "real"), ("x", "text")):
        db.run(
            "INSERT INTO sluice_actions (queue,kind,payload,sort_key) VALUES (%s,'k','1',%s)", "s" + sort_type, key
        )
        check(
            f"the key {key} makes a queue of {sort_type}",
            db.row(
                "SELECT q.sort_type, v.sort_key FROM sluice_queue_rows q JOIN sluice_actions v ON v.queue=q.name"
                " WHERE q.name=%s",
                "s" + sort_type,
            ),
            (sort_type, key),
        )
    db.enqueue("sdate", sort_type="date", sort_key="2020-01-01T00:00:00Z")
    db.run("INSERT INTO sluice_actions (queue,kind,payload,sort_key) VALUES ('sdate','k','1','2019-01-01')")
    check(
        "keys are read by the type of their queue",
        db.column("SELECT sort_key FROM sluice_actions WHERE queue='sdate' ORDER BY sort_key"),
        ["2019-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"],
    )
    check(
        "a DELETE removes, and the queue goes on",
        (
            db.run("DELETE FROM sluice_actions WHERE queue='sdate'"),
            db.value("SELECT count(*) FROM sluice_actions WHERE queue='sdate'"),
            db.lane("sdate")["ready"],
        ),
        (2, 0, True),
    )


@group
def deletes(db):
    worker = fresh(db)
    action = db.enqueue("a")
    db.claim(action, worker)
    db.run("DELETE FROM sluice_actions WHERE id=%s", action)
    check(
        "a DELETE of a running action signals its worker",
        (db.action(action), db.state(action)["is_cancelled"], db.count("claim")),
        (None, True, 1),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action)
    db.run("DELETE FROM sluice_actions WHERE id=%s", action)
    check(
        "a DELETE of the action that parked its queue unparks it",
        (db.lane("a")["blocked"], db.lane("a")["ready"]),
        (None, True),
    )


@group
def updates(db):
    fresh(db, has_worker=False)
    action = db.enqueue("a", gate="g")
    db.retry(action, "1 hour", "w")
    update(db, "kind='k2', payload='2', version=4, tag='u', expires_at='2500-01-01'", action)
    rows = db.action(action)
    check(
        "an UPDATE edits",
        (
            (rows["kind"], rows["payload"], rows["version"], rows["tag"]),
            rows["expires_at"].year,
            db.state(action)["waits_for_gate"],
        ),
        (("k2", "2", 4, "u"), 2500, "w"),
    )
    update(db, "gate='h'", action)
    check(
        "an UPDATE of the gate replaces the one that the attempt named",
        (db.value("SELECT gate FROM sluice_action_rows"), db.state(action)["waits_for_gate"]),
        ("h", None),
    )
    update(db, "next_attempt_at=NULL", action)
    check(
        "an UPDATE of the next attempt starts it",
        (db.state(action)["next_attempt_at"], db.state(action)["retry_delay"], db.lane("a")["ready"]),
        (None, None, True),
    )
    update(db, "next_attempt_at=now() + interval '1 hour'", action)
    check("or sets its time", db.value("SELECT retry_delay > interval '59 min' FROM sluice_state_rows"))
    update(db, "not_before='2500-01-01'", action)
    check("an UPDATE schedules", db.action(action)["not_before"].year, 2500)
    update(db, "not_before=NULL", action)
    check("and makes an action due", (db.action(action)["not_before"], db.lane("a")["rewind"]), (None, True))
    update(db, "queue='b'", action)
    check("an UPDATE of the queue moves", db.action(action)["queue"], "b")
    check("attempts cannot be set", db.error("UPDATE sluice_actions SET attempts=5")[0], "SL003")
    check(
        "nor a payload that is no JSON",
        db.error("UPDATE sluice_actions SET payload='{'"),
        ("SL003", "payloadNotJSON"),
    )


@group
def updates_of_blocked_actions(db):
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action)
    update(db, "next_attempt_at=NULL", action)
    check(
        "a next attempt that is set to NULL unparks, although it is NULL",
        (db.lane("a")["ready"], db.lane("a")["blocked"]),
        (True, None),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action)
    update(db, "tag='x'", action)
    check("another UPDATE does not unpark", db.lane("a")["blocked"], "failed")
    worker = fresh(db)
    action = db.enqueue("a")
    db.claim(action, worker)
    update(db, "payload='9'", action)
    check(
        "an UPDATE of a running action is noted for its next attempt",
        (db.action(action)["payload"], db.state(action)["edited_claim"] is not None),
        ("9", True),
    )
    update(db, "queue='b'", action)
    check(
        "a running action moves after its attempt",
        (db.action(action)["queue"], db.state(action)["moves_to"] is not None),
        ("a", True),
    )
    check(
        "a running action is not scheduled", db.error("UPDATE sluice_actions SET not_before='2500-01-01'")[0], "SL003"
    )


@group
def updates_of_keys(db):
    fresh(db, has_worker=False)
    action = db.enqueue("a", sort_type="integer", sort_key="5")
    second = db.enqueue("a", sort_type="integer", sort_key="6")
    update(db, "sort_key='1'", second)
    check(
        "an UPDATE of the key changes the order (G2)",
        (db.order("a"), db.lane("a")["rewind"]),
        ([second, action], True),
    )
    check(
        "a key of another type is refused",
        (db.error("UPDATE sluice_actions SET sort_key='x'"), db.error("UPDATE sluice_actions SET sort_key=NULL")),
        (("SL003", "invalidOptions"), ("SL003", "invalidOptions")),
    )
    update(db, "queue='b', sort_key='abc'", second)
    check(
        "queue and key may change at once",
        (
            db.action(second)["queue"],
            db.value("SELECT sort_type FROM sluice_queue_rows WHERE name='b'"),
            db.value("SELECT sort_key FROM sluice_actions WHERE id=%s", second),
        ),
        ("b", "text", "abc"),
    )


@group
def dead_letters(db):
    fresh(db, has_worker=False)
    action = db.enqueue("a")
    db.bury(action)
    rows = db.row("SELECT id,queue,sort_key,kind,payload,cause,error,attempts,version,tag,gate FROM sluice_dead")
    check(
        "a dead letter has the columns of its action",
        rows,
        (action, "a", None, "k", "{}", "failed", "x", 0, 1, None, None),
    )
    check("a DELETE purges dead letters", (db.run("DELETE FROM sluice_dead"), db.count("dead")), (1, 0))


@group
def gates_and_holds(db):
    fresh(db, has_worker=False)
    action = db.enqueue("a", gate="g")
    db.park(action, "gate", "g")
    db.run("INSERT INTO sluice_gates (gate) VALUES ('g')")
    check(
        "an INSERT opens a gate",
        (db.row("SELECT gate,state,is_persistent,opens_at FROM sluice_gates"), db.lane("a")["ready"]),
        (("g", "open", True, None), True),
    )
    db.run("UPDATE sluice_gates SET state='closed'")
    check("an UPDATE closes it", db.value("SELECT state FROM sluice_gates"), "closed")
    db.run("UPDATE sluice_gates SET state='open'")
    check("and opens it", db.value("SELECT state FROM sluice_gates"), "open")
    db.run("INSERT INTO sluice_gates (gate,state) VALUES ('g','closed')")
    check("an INSERT may close a gate", db.value("SELECT state FROM sluice_gates"), "closed")
    db.run("DELETE FROM sluice_gates")
    check(
        "a DELETE closes a gate and forgets it",
        (db.value("SELECT count(*) FROM sluice_gates"), db.value("SELECT NOT is_open FROM sluice_gate_rows")),
        (0, True),
    )
    check(
        "other columns and states of gates are refused",
        (
            db.error("INSERT INTO sluice_gates (gate,since) VALUES ('x',now())")[0],
            db.error("INSERT INTO sluice_gates (gate,state) VALUES ('x','ajar')")[0],
        ),
        ("SL003", "SL003"),
    )
    db.run("INSERT INTO sluice_holds (scope,holder,reason) VALUES ('a/*','ops','why')")
    db.run("INSERT INTO sluice_holds (scope,until) VALUES ('*','2500-01-01')")
    check(
        "an INSERT holds",
        db.all("SELECT scope,holder,reason,until IS NULL FROM sluice_holds ORDER BY id"),
        [("a/*", "ops", "why", True), ("*", "psql", "", False)],
    )
    check("a hold cannot be edited", db.error("UPDATE sluice_holds SET reason='x'")[0], "SL003")
    check(
        "a hold needs a pattern",
        db.error("INSERT INTO sluice_holds (scope) VALUES ('a*')"),
        ("SL003", "invalidPattern"),
    )
    check(
        "a DELETE ends holds",
        (db.run("DELETE FROM sluice_holds WHERE scope='*'"), db.value("SELECT count(*) FROM sluice_holds")),
        (1, 1),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.claim(action, worker)
    check(
        "each worker has a row with what it runs",
        db.row("SELECT process, running, lease_until > now() FROM sluice_runners"),
        ("host-a/17", 1, True),
    )
