"""Acts of operators on one action, in each of its states (G4, G13)."""

import psycopg2

from actions import make, table
from checks import check, group


@group
def cancels(db):

    def after(state, action):
        lane = db.lane("a")
        if state != "running":
            check(f"a cancelled {state} action is gone", (db.action(action), db.state(action)), (None, None))
            check(f"its queue goes on (cancelled while {state})", (lane["ready"], lane["blocked"]), (True, None))
        if state == "running":
            check(
                "a running action is marked",
                (db.state(action)["is_cancelled"], db.action(action) is not None, lane["worker"] is not None),
                (True, True, True),
            )

    table(
        db,
        "cancel",
        "SELECT sluice_cancel(%s)",
        {"running": "signalled", "dead": "tooLate", "gone": "tooLate", "else": "removed"},
        after,
    )


@group
def moves(db):

    def after(state, action):
        if state == "running":
            check(
                "a running action moves later",
                (db.action(action)["queue"], db.state(action)["moves_to"]),
                ("a", db.value("SELECT queue_id FROM sluice_queue_rows WHERE name='b'")),
            )
            check(
                "a move back undoes that",
                (db.value("SELECT sluice_move(%s,'a')", action), db.state(action)["moves_to"]),
                ("done", None),
            )
            return
        check(f"a {state} action has moved", db.action(action)["queue"], "b")
        check(
            f"the queue it left goes on (moved while {state})",
            (db.lane("a")["ready"], db.lane("a")["blocked"]),
            (True, None),
        )
        check(
            f"the queue it enters is looked through from its start (moved while {state})",
            (db.lane("b")["ready"], db.lane("b")["rewind"]),
            (True, True),
        )
        if state == "retrying":
            check("an action that moves keeps its wait", db.state(action)["next_attempt_at"] is not None)
        if state == "scheduled":
            check("an action that moves stays scheduled", db.action(action)["not_before"] is not None)

    table(
        db,
        "move",
        "SELECT sluice_move(%s,'b')",
        {"running": "deferred", "dead": "missing", "gone": "missing", "else": "done"},
        after,
    )
    action = make(db, "waiting")
    db.enqueue("b", sort_key="5", sort_type="integer")
    check(
        "a move to a queue of another type of key is refused",
        db.error("SELECT sluice_move(%s,'b')", action),
        ("SL006", "sortKeyMismatch"),
    )
    check(
        "a move against the options of the queue is refused",
        db.error("SELECT sluice_move(%s,'c', sort_type => 'date')", action),
        ("SL006", "sortKeyMismatch"),
    )
    action = make(db, "waiting")
    db.enqueue("b")
    db.enqueue("b", not_before="2999-01-01")
    check(
        "a move to a full queue is refused", db.error("SELECT sluice_move(%s,'b',2)", action), ("SL006", "queueFull")
    )
    check("a move to a queue that is not full is done", db.value("SELECT sluice_move(%s,'b',3)", action), "done")
    check(
        "a move to a pattern is refused",
        db.error("SELECT sluice_move(%s,'b/*')", action),
        ("SL003", "invalidQueueName"),
    )
    action = make(db, "waiting", key="x")
    db.enqueue("b", key="x")
    db.value("SELECT sluice_move(%s,'b')", action)
    check(
        "the key moves, and the other action loses it",
        db.all("SELECT q.name, k.action_id FROM sluice_key_rows k JOIN sluice_queue_rows q USING (queue_id)"),
        [("b", action)],
    )
    db.reset()
    action = db.enqueue("a", sort_key="5", sort_type="integer")
    other = db.enqueue("b")
    db.value("SELECT sluice_cancel(%s)", other)
    check(
        "an empty queue takes the type of the key",
        (
            db.value("SELECT sluice_move(%s,'b')", action),
            db.value("SELECT sort_type FROM sluice_queue_rows WHERE name='b'"),
        ),
        ("done", "integer"),
    )
    db.reset()
    worker = db.worker()
    action = db.enqueue("a", sort_key="5", sort_type="integer")
    db.claim(action, worker)
    db.value("SELECT sluice_move(%s,'b')", action)
    third = db.enqueue("c")
    check(
        "a queue to which an action moves keeps its type",
        db.error("SELECT sluice_move(%s,'b')", third),
        ("SL006", "sortKeyMismatch"),
    )


@group
def moves_to_the_front(db):

    def after(state, action):
        if state == "scheduled":
            check(
                "a scheduled action that moves to the front is due at once",
                (db.action(action)["not_before"], db.lane("a")["rewind"], db.lane("a")["ready"]),
                (None, True, True),
            )
        if state == "retrying":
            check("an action that moves to the front keeps its wait", db.state(action)["next_attempt_at"] is not None)
        if state == "parked":
            check("a move to the front does not unpark", db.lane("a")["blocked"], "failed")

    table(
        db,
        "move to front",
        "SELECT sluice_move_to_front(%s)",
        {"running": "running", "dead": "missing", "gone": "missing", "else": "done"},
        after,
    )
    for sort_type, keys in [
        ("arrival", [None] * 4),
        ("integer", ["5", "5", "6", "-7"]),
        ("date", ["2020-01-01", "2020-01-02", "2020-01-02", "2020-01-03"]),
        ("real", ["-1.5", "0", "0", "3"]),
        ("text", ["b", "b", "c", "d"]),
        (
            "composite:integer,text",
            ["0000000000000000005\tb", "0000000000000000005\tb", "0000000000000000006\t", "0000000000000000007\tz"],
        ),
    ]:
        db.reset()
        [db.enqueue("a", sort_type=sort_type, **{} if third is None else {"sort_key": third}) for third in keys]
        db.take_in()
        ok = True
        for _ in range(12):
            last = db.order("a")[-1]
            answer = db.error("SELECT sluice_move_to_front(%s)", last)
            if answer:
                ok = sort_type == "text" and answer == ("SL006", "noSmallerSortKey")
                break
            ok = ok and db.order("a")[0] == last
        check(f"the last goes to the front, again and again, in the order {sort_type}", ok)
    db.reset()
    worker = db.worker()
    ids = [db.enqueue("a") for _ in range(3)]
    db.claim(ids[0], worker)
    db.value("SELECT sluice_move_to_front(%s)", ids[2])
    check(
        "an action moves to the front behind the one that runs",
        (db.order("a")[0], db.lane("a")["rewind"], db.lane("a")["worker"]),
        (ids[2], True, worker),
    )
    db.reset()
    db.enqueue("a", sort_type="integer", sort_key="-9223372036854775808")
    second = db.enqueue("a", sort_type="integer", sort_key="1")
    check(
        "an action does not move before the smallest key of all",
        db.error("SELECT sluice_move_to_front(%s)", second),
        ("SL006", "noSmallerSortKey"),
    )


@group
def smaller_composite_keys(db):
    for sort_type, key, want in [
        (
            "composite:integer,integer",
            "0000000000000000001\t-0000000000000000000",
            "0000000000000000000\t-0000000000000000000",
        ),
        ("composite:integer,text", "-0000000000000000000\t", None),
        ("composite:text,integer", "a\t0000000000000000000", "a\t-9223372036854775807"),
        ("composite:text,text", "a\t\n)", "a\t"),
        ("composite:text,real", "a\t8000000000000000", "a\t7ffffffffffffffe"),
        ("composite:text,date", "a\t2020-01-01T00:00:00.000000Z", "a\t2019-12-31T23:59:59.999999Z"),
        ("composite:text,real", "b\t000fffffffffffff", "\t000fffffffffffff"),
    ]:
        answer = db.value("SELECT convert_from(sluice_smaller_key(%s, convert_to(%s,'UTF8')),'UTF8')", sort_type, key)
        check(f"before the key {key!r} is the key {want!r}", answer, want)


@group
def edits(db):

    def after(state, action):
        check(
            f"the payload of a {state} action is new",
            (db.action(action)["payload"], db.action(action)["kind"], db.action(action)["version"]),
            ('{"n":1}', "k2", 3),
        )
        if state == "running":
            check("the edit is noted with the claim", db.state(action)["edited_claim"] is not None)
        if state == "undecodable":
            check(
                "an edit unparks what did not decode", (db.lane("a")["ready"], db.lane("a")["blocked"]), (True, None)
            )
        if state == "parked":
            check(
                "an edit does not unpark what failed",
                (db.lane("a")["blocked"], db.lane("a")["ready"]),
                ("failed", False),
            )

    table(
        db,
        "edit",
        "SELECT sluice_edit(%s,'k2','{\"n\":1}',3)",
        {"running": "deferred", "dead": "missing", "gone": "missing", "else": "done"},
        after,
    )
    action = make(db, "running")
    check(
        "an edit of a running action can be refused",
        (db.value("SELECT sluice_edit(%s,NULL,'1',NULL,'refuse')", action), db.action(action)["payload"]),
        ("running", "{}"),
    )
    action = make(db, "waiting")
    check(
        "an edit of another payload than the given one changes nothing",
        (
            db.value("SELECT sluice_edit(%s,NULL,'1',NULL,'next','2')", action),
            db.action(action)["payload"],
            db.value("SELECT sluice_edit(%s,NULL,'1',NULL,'next','{}')", action),
        ),
        ("conflict", "{}", "done"),
    )
    action = make(db, "waiting")
    check(
        "an edit keeps kind and version",
        (
            db.value("SELECT sluice_edit(%s,NULL,'1',NULL)", action),
            db.action(action)["kind"],
            db.action(action)["version"],
        ),
        ("done", "k", 1),
    )
    check(
        "a payload that is no JSON is refused",
        db.error("SELECT sluice_edit(%s,NULL,'{secret',NULL)", action),
        ("SL003", "payloadNotJSON"),
    )
    try:
        db.all("SELECT sluice_edit(%s,NULL,'{secret',NULL)", action)
        message = "secret"
    except psycopg2.Error as error:
        message = str(error)
    check("and its error does not show it (G13)", "secret" in message, False)


@group
def schedules_expiries_and_tags(db):

    def after(state, action):
        if state == "running":
            return
        check(f"a {state} action is scheduled", db.action(action)["not_before"].year, 2500)
        db.value("SELECT sluice_reschedule(%s,NULL)", action)
        check(f"and is due again ({state})", (db.action(action)["not_before"], db.lane("a")["rewind"]), (None, True))
        if state == "parked":
            check("a schedule does not unpark", db.lane("a")["blocked"], "failed")

    table(
        db,
        "reschedule",
        "SELECT sluice_reschedule(%s,'2500-01-01')",
        {"running": "running", "dead": "missing", "gone": "missing", "else": "done"},
        after,
    )
    action = make(db, "scheduled")
    db.value("SELECT sluice_reschedule(%s,'2000-01-01')", action)
    check("a time that is past makes an action due", db.action(action)["not_before"], None)
    table(
        db,
        "set expiry",
        "SELECT sluice_set_expiry(%s,'2500-01-01')",
        {"running": "deferred", "dead": "missing", "gone": "missing", "else": "done"},
        lambda state, action: check(f"the expiry is set ({state})", db.action(action)["expires_at"].year, 2500),
    )
    table(
        db,
        "set tag",
        "SELECT sluice_set_tag(%s,'t')",
        {"dead": "missing", "gone": "missing", "else": "done"},
        lambda state, action: check(f"the tag is set ({state})", db.action(action)["tag"], "t"),
    )
