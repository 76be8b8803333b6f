"""Acts of operators on queues: heads, retries, cancelling many, dead letters."""

from actions import STATES, make
from checks import check, group


def fill(db, queues, tag=None):
    """Two actions that wait and one that is scheduled in each of many queues."""
    db.reset()
    db.run(
        "INSERT INTO sluice_queue_rows (name, sort_type, pool)"
        " SELECT 'q/' || n, 'arrival', 0 FROM generate_series(1, %s) AS n",
        queues,
    )
    db.run(
        "INSERT INTO sluice_action_rows (queue_id, enqueued_at, nonce, kind, payload, tag, not_before)"
        " SELECT queue_id, now(), 1, 'k', '{}', %s, CASE WHEN n = 3 THEN timestamptz '2999-01-01' END"
        " FROM sluice_queue_rows, generate_series(1, 3) AS n ORDER BY n = 3",
        tag,
    )
    db.run("INSERT INTO sluice_lane_rows (queue_id, pool) SELECT queue_id, 0 FROM sluice_queue_rows")


@group
def heads(db):
    for state in STATES:
        action = make(db, state)
        answer = db.row("SELECT * FROM sluice_skip_head('a','why')")
        if state in ("waiting", "retrying", "parked", "undecodable"):
            check(
                f"the {state} head is skipped",
                (
                    answer,
                    db.row("SELECT cause,error FROM sluice_dead_rows"),
                    db.lane("a")["ready"],
                    db.lane("a")["blocked"],
                ),
                (("skipped", action, "k", "why"), ("skipped", "why"), True, None),
            )
        if state == "running":
            check("a running head is not skipped", answer, ("running", action, None, None))
        if state in ("scheduled", "gone"):
            check(
                f"there is nothing to skip if the only action is {state}", answer, ("empty", None, None, None)
            )
        if state == "dead":
            check(
                "after a dead letter the next action is skipped", (answer[0], answer[1] != action), ("skipped", True)
            )
    db.reset()
    parked = db.enqueue("a", sort_type="integer", sort_key="5")
    db.park(parked)
    db.enqueue("a", sort_type="integer", sort_key="1")
    check(
        "an action that would not be skipped is left, and so is the one that would",
        db.row("SELECT * FROM sluice_skip_head('a','why',%s)", parked + 1),
        ("other", parked, None, None),
    )
    check(
        "the action that parked its queue is skipped, not the first",
        db.row("SELECT * FROM sluice_skip_head('a')"),
        ("skipped", parked, "k", "boom"),
    )


@group
def retries(db):
    for state in STATES:
        action = make(db, state)
        answer = db.row("SELECT * FROM sluice_retry_now('a')")
        check(
            f"retry now counts a {state} queue",
            answer,
            (1 if state in ("retrying", "parked", "undecodable") else 0, None),
        )
        if state in ("retrying", "parked", "undecodable"):
            check(
                f"a {state} queue is ready",
                (db.lane("a")["ready"], db.lane("a")["blocked"], db.state(action)["next_attempt_at"]),
                (True, None, None),
            )
    action = make(db, "parked")
    db.run("UPDATE sluice_lane_rows SET blocked_by='crashed'")
    db.run("UPDATE sluice_state_rows SET crashes=3, is_suspect=true, awaits_trial=true")
    db.all("SELECT * FROM sluice_retry_now('*')")
    check(
        "retry now forgets a count of crashes, and not the suspicion (G7)",
        (db.state(action)["crashes"], db.state(action)["is_suspect"], db.lane("a")["suspect"]),
        (0, True, True),
    )
    action = make(db, "retrying")
    check(
        "retry now leaves other queues alone",
        (db.row("SELECT * FROM sluice_retry_now('b/*')"), db.lane("a")["ready"]),
        ((0, None), False),
    )
    action = make(db, "retrying")
    db.run("UPDATE sluice_state_rows SET waits_for_gate='g'")
    db.all("SELECT * FROM sluice_retry_now('*')")
    check("retry now does not open a gate", db.state(action)["waits_for_gate"], "g")
    fill(db, 2500)
    db.run(
        "UPDATE sluice_lane_rows l SET blocked_by = 'failed', blocked_at = now(), blocked_error = 'x',"
        " blocked_action_id = (SELECT min(id) FROM sluice_action_rows a WHERE a.queue_id = l.queue_id)"
    )
    total = calls = 0
    again = None
    while True:
        n, again = db.row("SELECT * FROM sluice_retry_now('q/*',%s)", again)
        total += n
        calls += 1
        db.run(
            "UPDATE sluice_lane_rows SET blocked_by='failed', blocked_at=clock_timestamp(), blocked_action_id=1 WHERE"
            " blocked_by IS NULL"
        )
        if again is None or calls > 9:
            break
    check("retry now of many ends, although they fail again", (total, calls), (2500, 3))


def in_batches(db, sql, start, enqueue):
    """Cancels in batches, while more is enqueued; returns how many were removed and signalled, and the calls."""
    removed = signalled = calls = 0
    through = None
    while calls < 10:
        row = db.row(sql, start, through)
        removed, signalled = removed + row[0], signalled + len(row[1])
        through, start = row[2:4]
        calls += 1
        enqueue()
        if start is None:
            break
    return removed, signalled, calls


@group
def cancelling_many(db):
    acts = [
        ("SELECT * FROM sluice_cancel_queues('q/*', %s, %s)", None, lambda: db.enqueue("q/99")),
        ("SELECT * FROM sluice_cancel_tag('t', %s, %s)", 0, lambda: db.enqueue("q/1", tag="t")),
    ]
    for sql, start, enqueue in acts:
        fill(db, 800, "t")
        db.claim(db.value("SELECT min(id) FROM sluice_action_rows"), db.worker())
        removed, signalled, calls = in_batches(db, sql, start, enqueue)
        check(f"cancelling many removes in batches and signals what runs: {sql}", (removed, signalled), (2399, 1))
        check(f"and spares what is enqueued during it: {sql}", db.count("action"), 1 + calls)
    fill(db, 3)
    check(
        "an exact pattern cancels one queue",
        (db.row("SELECT removed,next FROM sluice_cancel_queues('q/2')"), db.count("action")),
        ((3, None), 6),
    )
    db.reset()
    [db.enqueue(n) for n in ("a", "a/1", "a/1/2", "ab", "a0")]
    check(
        "a prefix cancels the queues below it alone", db.row("SELECT removed FROM sluice_cancel_queues('a/*')"), (2,)
    )
    check(
        "an invalid pattern is refused",
        (db.error("SELECT sluice_cancel_queues('a*')"), db.error("SELECT sluice_cancel_queues('')")),
        (("SL003", "invalidPattern"), ("SL003", "invalidPattern")),
    )


@group
def dead_letters(db):
    for state in STATES:
        action = make(db, state, key="key")
        if state == "dead":
            db.run("INSERT INTO sluice_attempt_rows VALUES (%s,5,1,'failed','e',now(),now())", action)
        answer = db.value("SELECT sluice_requeue(%s)", action)
        check(f"an action that is {state} is requeued if it is a dead letter", answer, state == "dead")
        if state == "dead":
            check(
                "a requeued action is at its place again (G2)",
                (db.order("a")[0], db.lane("a")["rewind"], db.lane("a")["ready"]),
                (action, True, True),
            )
            check(
                "and has its history and its key, and no attempts",
                (
                    db.state(action)["attempts"],
                    db.count("attempt"),
                    db.value("SELECT until IS NULL FROM sluice_key_rows"),
                ),
                (0, 1, True),
            )
        action = make(db, state)
        answer = db.value("SELECT sluice_purge(%s)", action)
        check(
            f"an action that is {state} is purged if it is a dead letter",
            (answer, db.count("dead")),
            (state == "dead", 0),
        )
    db.reset()
    action = db.enqueue("a", sort_type="integer", sort_key="1")
    db.bury(action, "failed", "x")
    other = db.enqueue("a")
    check(
        "a requeue into a queue of another type is refused",
        db.error("SELECT sluice_requeue(%s)", action),
        ("SL006", "sortKeyMismatch"),
    )
    db.value("SELECT sluice_cancel(%s)", other)
    check(
        "and an empty queue takes the type back",
        (db.value("SELECT sluice_requeue(%s)", action), db.value("SELECT sort_type FROM sluice_queue_rows")),
        (True, "integer"),
    )
    fill(db, 800)
    db.all("SELECT sluice_bury(ARRAY(SELECT id FROM sluice_action_rows),'failed','x')")
    db.run("UPDATE sluice_dead_rows SET cause='expired' WHERE id % 2 = 0")
    db.run(
        "UPDATE sluice_dead_rows SET sort_type='text' WHERE id=(SELECT max(id) FROM sluice_dead_rows WHERE"
        " cause='failed')"
    )
    requeued = kept = calls = after = 0
    through = None
    while True:
        answer = db.row("SELECT * FROM sluice_requeue_all('q/*','failed',%s,%s)", after, through)
        requeued += answer[0]
        kept += answer[1]
        through = answer[3]
        after = answer[4]
        calls += 1
        if after is None or calls > 9:
            break
    check(
        "requeueing all of a cause, in batches; another type stays",
        (requeued + kept, kept <= 1, db.count("dead")),
        (1200, True, 1200 + kept),
    )


@group
def failing_queues(db):
    ids = [db.enqueue("a") for _ in range(5)]
    db.enqueue("b")
    db.bury(ids[0], "failed", "x")
    db.take_in()
    last = db.value("SELECT max(id) FROM sluice_action_rows")
    db.run(
        "UPDATE sluice_lane_rows SET"
        " blocked_by='failing',blocked_action_id=%s,blocked_at=now(),blocked_error='x',fail_through_id=%s WHERE"
        " queue_id=(SELECT queue_id FROM sluice_queue_rows WHERE name='a')",
        ids[0],
        last,
    )
    moved = db.value("SELECT id FROM sluice_action_rows a JOIN sluice_queue_rows q USING(queue_id) WHERE name='b'")
    db.value("SELECT sluice_move(%s,'a')", moved)
    check(
        "an action that moves into a failing queue is spared",
        (db.state(moved)["spared_through"], db.lane("a")["blocked"]),
        (last, "failing"),
    )
    letter = db.value("SELECT id FROM sluice_dead_rows")
    db.value("SELECT sluice_requeue(%s)", letter)
    check("and so is a dead letter that is requeued into it", db.state(letter)["spared_through"], last)


@group
def during_a_step(db):
    step, operator = db.another(autocommit=False), db.another()
    action = make(db, "waiting")
    step.all("SELECT 1 FROM sluice_lane_rows FOR NO KEY UPDATE")
    cancel = operator.later(lambda: operator.value("SELECT sluice_cancel(%s)", action))
    check("a cancel waits for a step that has the lane", cancel.waits())
    step.run("UPDATE sluice_lane_rows SET worker = (SELECT epoch FROM sluice_worker_rows), term = term + 1")
    step.run(
        "INSERT INTO sluice_claim_rows (claim, action_id, queue_id, worker, term, started_at, opening)"
        " SELECT 7, a.id, a.queue_id, w.epoch, 1, now(), 0 FROM sluice_action_rows a, sluice_worker_rows w"
        " WHERE a.id = %s",
        action,
    )
    step.commit()
    check("and signals the action if the step has claimed it (G3)", cancel.result(), "signalled")
    action = make(db, "waiting")
    step.all("SELECT 1 FROM sluice_lane_rows FOR NO KEY UPDATE")
    move = operator.later(lambda: operator.value("SELECT sluice_move(%s, 'z')", action))
    move.waits()
    step.run("DELETE FROM sluice_action_rows WHERE id = %s", action)
    step.commit()
    check("a move of an action that ends before it is missing", move.result(), "missing")
    strict = db.another(isolation="REPEATABLE READ")
    refused = strict.error("SELECT sluice_cancel(%s)", make(db, "waiting"))
    check("an act under another isolation level is refused", refused, ("SL005", None))


@group
def lanes(db):
    action = db.enqueue("a")
    check(
        "an act makes the lane of a queue that no step has seen",
        (db.value("SELECT sluice_cancel(%s)", action), db.lane("a")["ready"]),
        ("removed", True),
    )
    action = db.enqueue("a")
    db.enqueue("a")
    db.take_in()
    db.run("UPDATE sluice_lane_rows SET is_suspect=true")
    db.run("INSERT INTO sluice_state_rows(action_id,awaits_trial) VALUES (%s,true)", action)
    db.value("SELECT sluice_cancel(%s)", action)
    check("without its suspect a lane is not suspect (G7)", db.lane("a")["suspect"], False)
    action = db.enqueue("b")
    db.run("INSERT INTO sluice_state_rows(action_id,awaits_trial) VALUES (%s,true)", action)
    db.value("SELECT sluice_move(%s,'c')", action)
    check("the lane that a suspect moves to is suspect (G7)", db.lane("c")["suspect"])


@group
def at_the_end(db):
    db.reset()
    letter, second = db.enqueue("a", key="x", tag="t"), db.enqueue("a")
    db.retry(letter)
    db.run("INSERT INTO sluice_attempt_rows VALUES (%s, 1, 1, 'retry', 'boom', now(), now())", letter)
    nonce = db.value("SELECT nonce FROM sluice_action_rows WHERE id = %s", letter)
    db.bury(letter)
    new = db.value("SELECT sluice_requeue_at_end(%s)", letter)
    check("a dead letter that goes to the end has a new number", (new > second, db.count("dead")), (True, 0))
    check("and is behind all others, with its history and its key", db.order("a"), [second, new])
    check(
        "its history and key have the number too",
        (
            db.value("SELECT count(*) FROM sluice_failed_attempts(%s) WHERE error = 'boom'", new),
            db.value("SELECT sluice_action_key(%s)", new),
            db.action(new)["tag"],
        ),
        (1, "x", "t"),
    )
    check(
        "its idempotency key is another",
        db.value("SELECT nonce <> %s FROM sluice_action_rows WHERE id = %s", nonce, new),
        True,
    )
    check("its queue is looked through from its start", (db.lane("a")["ready"], db.lane("a")["rewind"]), (True, True))
    check("without a dead letter there is no number", db.value("SELECT sluice_requeue_at_end(%s)", letter), None)
    db.reset()
    small, large = (db.enqueue("a", sort_type="integer", sort_key=key) for key in ("1", "9"))
    db.bury(small)
    new = db.value("SELECT sluice_requeue_at_end(%s)", small)
    check("it gets the largest sort key of its queue", (db.order("a"), db.action(new)["key"]), ([large, new], db.action(large)["key"]))
    db.bury(new)
    db.drop(large)
    db.enqueue("a", sort_type="text", sort_key="b")
    check("another type of sort key refuses it", db.error("SELECT sluice_requeue_at_end(%s)", new)[0], "SL006")
    check("and it stays a dead letter", db.count("dead"), 1)


@group
def purging_many(db):
    fill(db, 1100)
    db.run("SELECT sluice_bury(array_agg(id), 'failed', 'x') FROM sluice_action_rows WHERE not_before IS NULL")
    db.run("UPDATE sluice_dead_rows SET died_at = now() - id * interval '1 minute'")
    db.run("UPDATE sluice_dead_rows SET cause = 'expired' WHERE id % 2 = 0")
    newest = db.column("SELECT id FROM sluice_dead_rows ORDER BY died_at DESC LIMIT 100")
    purge = "SELECT * FROM sluice_purge_all('q/*', %s, %s, %s, %s, %s)"
    purged = calls = 0
    at = through = None
    while calls < 9:
        row = db.row(purge, None, None, 100, at, through)
        purged, at, through = purged + row[0], row[1], row[2]
        calls += 1
        if through is None:
            break
    check("purging many spares the newest", (purged, calls), (2100, 3))
    left = "SELECT id FROM sluice_dead_rows ORDER BY died_at DESC"
    check("and leaves them", db.column(left), newest)
    limit = db.value("SELECT died_at FROM sluice_dead_rows ORDER BY died_at DESC OFFSET 49 LIMIT 1")
    check("it purges what died before a time", db.row(purge, None, limit, 0, None, None)[0], 50)
    check("it purges by cause", db.row(purge, "expired", None, 0, None, None)[0], 25)
    check("other queues have none", db.row("SELECT * FROM sluice_purge_all('none')"), (0, None, None))
    check("no history of theirs is left", db.count("attempt"), 0)


@group
def exports(db):
    db.reset()
    for queue, payload in (("m/a", "1"), ("n", "2"), ("m/b", '"' + "x" * 50 + '"'), ("m/a", "4"), ("m/a", "5")):
        db.enqueue(queue, payload=payload, gate="g")
    db.enqueue("m/later", not_before="2999-01-01")
    page = "SELECT action, queue, payload FROM sluice_export(%s, %s, %s, %s)"
    ids = [row[0] for row in db.all(page, "m/*", 0, 10, 10000)]
    check("an export has the actions of a pattern, by number, also scheduled ones", ids, [1, 3, 4, 5, 6])
    check("it goes on after a number", [row[0] for row in db.all(page, "m/*", 3, 2, 10000)], [4, 5])
    check("a page ends after the bytes asked for", [row[0] for row in db.all(page, "*", 0, 10, 40)], [1, 2, 3])
    check("queues have names in their order", db.column("SELECT sluice_queue_names('m/b', 2)"), ["m/b", "m/later"])
    check("nothing has arrived since the last number", db.all("SELECT * FROM sluice_arrived(6)"), [(None, None, 6)])
    check(
        "what has arrived is counted by queue",
        sorted(db.all("SELECT * FROM sluice_arrived(3)")),
        [("m/a", 2, 6), ("m/later", 1, 6)],
    )
