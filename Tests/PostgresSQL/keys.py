"""Deduplication keys, by policy and by what has become of the first action."""

from checks import check, group


def after(db, policy, state):
    """What an enqueue with the key of an action in a state does: whose id it returns, whether the action is new, its
    refusal, the kinds of the actions, and the key's action, whether it waits, and its time."""
    db.reset()
    first = db.enqueue("k", "old", key="x", key_kept="1 h", tag="t")
    if state in ("running", "cancelled"):
        db.run(
            "INSERT INTO sluice_claim_rows (claim, action_id, queue_id, worker, term, started_at, opening)"
            " SELECT 1, id, queue_id, 1, 1, now(), 0 FROM sluice_action_rows"
        )
    if state == "cancelled":
        db.run("INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (%s, true)", first)
    if state in ("succeeded", "over"):
        db.drop(first)
    if state == "removed":
        db.drop(first, succeeded=False)
    if state == "dead":
        db.bury(first)
    if state == "over":
        db.run("UPDATE sluice_key_rows SET until = now() - interval '1 s'")
    (row,) = db.many(["k"], kinds=["new"], keys=["x"], key_policies=[policy], key_keep=["2 h"])
    names = {first: "first", None: None}
    return (
        names.get(row[1], "new"),
        *row[2:],
        db.column("SELECT kind FROM sluice_action_rows ORDER BY id"),
        [
            (names.get(key, "new"), waits, keep)
            for key, waits, keep in db.all("SELECT action_id, until IS NULL, keep::text FROM sluice_key_rows")
        ],
    )


@group
def policies(db):
    for state in ("waiting", "running", "cancelled", "succeeded", "removed", "dead", "over"):
        waits = state in ("waiting", "running", "cancelled")
        old = ["old"] if waits else []
        taken = ("first", waits, "01:00:00")
        stored = ("new", True, None, old + ["new"], [("new", True, "02:00:00")])
        replaced = ("first", True, None, ["new"], [("first", True, "02:00:00")])
        kept = stored if state == "over" else ("first", False, None, old, [taken])
        refused = stored if state == "over" else ("first", False, "duplicateKey", old, [taken])
        check(f"the policy keep, when the first action is {state}", after(db, "keep", state), kept)
        check(f"no policy is keep, when the first action is {state}", after(db, None, state), kept)
        check(f"the policy refuse, when the first action is {state}", after(db, "refuse", state), refused)
        want = replaced if state == "waiting" else stored
        check(f"the policy replace, when the first action is {state}", after(db, "replace", state), want)


@group
def replacing(db):
    first = db.value(
        "SELECT sluice_enqueue('k','old','{\"a\":1}',key=>'x',tag=>'t',gate=>'g',expires_at=>'2100-01-01')"
    )
    before = db.all("SELECT nonce,enqueued_at FROM sluice_action_rows")
    db.run(
        "INSERT INTO sluice_state_rows (action_id,attempts,next_attempt_at,retry_delay,last_error) VALUES"
        " (%s,3,'2100-01-01','1 h','e')",
        first,
    )
    for by, lifted in [
        ("undecodable", True),
        ("unknown kind", True),
        ("no route", True),
        ("gate", True),
        ("failed", False),
        ("exhausted", False),
        ("hold", False),
    ]:
        db.run("DELETE FROM sluice_lane_rows")
        db.run(
            "INSERT INTO sluice_lane_rows (queue_id,pool,blocked_by,blocked_action_id,blocked_at) SELECT"
            " queue_id,0,%s,%s,now() FROM sluice_queue_rows",
            by,
            first,
        )
        db.many(
            ["k"], kinds=["new"], keys=["x"], key_policies=["replace"], versions=[2], payloads=["[2]"], tags=["u"]
        )
        check(
            "a replace " + ("lifts" if lifted else "keeps") + f" the block {by!r}",
            db.value("SELECT blocked_by FROM sluice_lane_rows"),
            None if lifted else by,
        )
    check(
        "a replaced action keeps id, nonce, time, attempts and wait",
        [
            db.all("SELECT id,kind,version,payload,tag,gate,expires_at FROM sluice_action_rows"),
            db.all("SELECT nonce,enqueued_at FROM sluice_action_rows") == before,
            db.all("SELECT attempts,next_attempt_at IS NOT NULL,last_error FROM sluice_state_rows"),
        ],
        [[(first, "new", 2, "[2]", "u", None, None)], True, [(3, True, "e")]],
    )


@group
def keys_within_a_call(db):
    rows = db.many(
        ["k", "k", "k", "l"],
        keys=["x", "x", "x", "x"],
        key_policies=["keep", "keep", "replace", "keep"],
        kinds=["a", "b", "c", "d"],
    )
    check(
        "keys within one call of many: the first wins, a replace replaces it, another queue has its own",
        [(row[1] == rows[0][1], row[2]) for row in rows] + db.all("SELECT kind FROM sluice_action_rows ORDER BY id"),
        [(True, True), (True, False), (True, True), (False, True), ("c",), ("d",)],
    )
    rows = db.many(["k", "m"], keys=["x", "y"], key_policies=["refuse", "keep"], calls=[1, 1])
    check(
        "a duplicate key refuses its whole call and names the action that has it",
        [(row[1], row[2], row[3]) for row in rows],
        [
            (
                db.value(
                    "SELECT action_id FROM sluice_key_rows k JOIN sluice_queue_rows q USING (queue_id) WHERE"
                    " q.name='k'"
                ),
                False,
                "duplicateKey",
            ),
            (None, False, None),
        ],
    )
    check("the key of an undone action is free", db.all("SELECT key FROM sluice_key_rows WHERE key='y'"), [])
    db.all(
        "SELECT sluice_drop(array[%s],true)",
        db.value(
            "SELECT action_id FROM sluice_key_rows k JOIN sluice_queue_rows q USING (queue_id) WHERE q.name='l'"
        ),
    )
    db.run("UPDATE sluice_key_rows SET keep='1 h', until=now()+interval '10 days' WHERE until IS NOT NULL")
    db.many(["l"], keys=["x"])
    check(
        "after the clock was set back a key is kept for its time from now",
        db.value("SELECT until < now()+interval '61 min' FROM sluice_key_rows WHERE until IS NOT NULL"),
    )


@group
def replacing_during_a_step(db):
    first = db.enqueue("k", key="x")
    db.take_in()
    worker = db.worker()
    step, application = db.another(autocommit=False), db.another()
    step.all("SELECT 1 FROM sluice_lane_rows FOR NO KEY UPDATE")
    replace = application.later(lambda: application.many(["k"], keys=["x"], key_policies=["replace"], payloads=["2"]))
    check("a replace waits for a step that has the lane", replace.waits())
    step.claim(first, worker)
    step.commit()
    ((_, second, is_new, _),) = replace.result()
    check("an action that the step has started is not replaced (G3)", (second > first, is_new), (True, True))
    check("and keeps its payload", db.action(first)["payload"], "{}")
