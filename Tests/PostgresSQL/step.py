"""The step: what starts, in which order, and what an outcome does (G2 order, G4 the head blocks, G6 fenced)."""

from checks import check, group
from worker import STEP, Worker, route


@group
def one_after_the_other(db):
    db.set_clock()
    worker = Worker(db)
    ids = [db.enqueue("a") for _ in range(3)]
    (first,) = worker.step()
    check("only the head of a queue is claimed (G3)", first.action_id, ids[0])
    check("a queue whose action runs starts nothing (G3)", worker.step(), [])
    worker.end(first.claim)
    (second,) = worker.step()
    check("after a success the next action starts", (second.action_id, second.follows), (ids[1], first.claim))
    worker.end(second.claim, "retry", "1 hour", error="no")
    check("an action that waits for its retry blocks its queue (G4)", worker.step(), [])
    check("the step says when the retry is due", worker.due_at is not None)
    check(
        "a retry is recorded with its error",
        [
            db.row("SELECT attempts, last_error FROM sluice_state_rows"),
            db.column("SELECT outcome FROM sluice_attempts"),
        ],
        [(1, "no"), ["retry"]],
    )
    db.shift("1 hour")
    (again,) = worker.step()
    check("a retry starts at its time", (again.action_id, again.attempts, again.last_error), (ids[1], 1, "no"))
    worker.end(again.claim, "release", "1 s")
    worker.step()
    check("a release spends no attempt", db.value("SELECT attempts FROM sluice_state_rows"), 1)
    db.shift("1 s")
    worker.end(worker.step()[0].claim, "stop")
    (again,) = worker.step()
    check("after a stop the action starts at once", again.action_id, ids[1])
    worker.end(first.claim)
    worker.step()
    check("a second outcome is stale (G6)", worker.whats(), ["stale"])
    other = Worker(db)
    other.end(again.claim)
    other.step()
    check("a receipt of another worker is stale (G6)", (other.whats(), db.count("claim")), (["stale"], 1))
    check("the last action runs", worker.drain(), [ids[2]])
    tables = ("action", "state", "attempt", "arrival", "claim")
    check("nothing is left of actions that succeeded", [db.count(table) for table in tables], [0] * 5)


@group
def failures(db):
    db.set_clock()
    worker = Worker(db)
    ids = [db.enqueue("a") for _ in range(3)]
    worker.fail(worker.step()[0].claim, "skip")
    (second,) = worker.step()
    check("after a skip the next action starts", second.action_id, ids[1])
    check(
        "a skipped action is a dead letter",
        db.row("SELECT cause, error, attempts FROM sluice_dead"),
        ("failed", "bad", 1),
    )
    worker.fail(second.claim, "block", cause="exhausted", error="x" * 3000)
    check("a block parks the queue", (worker.step(), db.lane("a")["blocked"]), ([], "exhausted"))
    check("an error is cut to 2,000 bytes", len(db.lane("a")["error"]), 2000)
    db.enqueue("a")
    check("an arrival does not unpark a queue (G4)", worker.step(), [])


@group
def parked_queues(db):
    """Only who unparks a queue has its head run again (G4): two guards keep it, and each alone is enough."""
    db.set_clock()
    worker = Worker(db)
    head, other = (db.enqueue("s", sort_key=key, sort_type="integer") for key in ("10", "20"))
    db.enqueue("t", sort_key="10", sort_type="integer")
    for row in worker.step():
        worker.fail(row.claim, "block") if row.queue == "s" else worker.end(row.claim, "release", "1 hour")
    worker.step()
    early = db.enqueue("s", sort_key="5", sort_type="integer")
    check("an arrival that sorts before the failed head does not run", worker.step() + worker.step(), [])
    db.value("SELECT sluice_set_expiry(%s, sluice_now() + interval '1 day')", other)
    check("nor after an act on another action", worker.step(), [])
    db.value("SELECT sluice_move_to_front(%s)", early)
    check("nor after a move to the front", worker.step(), [])
    db.all("SELECT sluice_hold('*', 'me')"), db.all("SELECT sluice_end_holds('*')")
    check("nor after a hold", worker.step(), [])
    soon = "SELECT sluice_enqueue('s', 'k', '{}', '1', 'integer', not_before => sluice_now() + interval '1 s')"
    db.value(soon)
    db.shift("2 s")
    worker.chores()
    check("nor when a schedule is due", worker.step(), [])
    db.shift("-1 day")
    for _ in range(3):
        worker.step(), worker.chores()
    check("nor after a jump of the clock", {row.queue for row in worker.running.values()} - {"t"}, set())
    worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
    worker = Worker(db)
    check("nor when a worker starts", {row.queue for _ in range(3) for row in worker.step()}, {"t"})
    db.all("SELECT sluice_retry_now('s')")
    check("retry now runs the first", worker.actions()[:1] != [], True)
    check("and no attempt was lost", db.state(head)["attempts"], 1)


@group
def failing_queues(db):
    worker = Worker(db)
    db.many(["a"] * 2500)
    db.enqueue("b")
    head = next(row for row in worker.step() if row.queue == "a")
    worker.fail(head.claim, "failQueue")
    told = []

    def step():
        worker.step()
        told.extend(row.action_id for row in worker.last if row.what == "behind" and row.queue == "a")

    step()
    behind = "SELECT count(*) FROM sluice_dead WHERE cause = 'behind'"
    check("a failing queue becomes dead letters in batches", 0 < db.value(behind) < 2499)
    for _ in range(4):
        step()
    check("and all of it does", (db.value(behind), db.count("dead")), (2499, 2500))
    letters = db.column("SELECT id FROM sluice_dead WHERE cause = 'behind' ORDER BY id")
    check("each is told of once", sorted(told) == letters)
    after = db.enqueue("a")
    check("an action that arrives later runs", after in worker.actions())
    db.reset()
    worker = Worker(db)
    for key in ("10", "20", "30"):
        db.enqueue("s", sort_key=key, sort_type="integer")
    (head,) = worker.step()
    early = db.enqueue("s", sort_key="5", sort_type="integer")
    worker.fail(head.claim, "failQueue")
    check("a failing queue spares what sorts before the failed action", worker.actions(), [early])
    check("and nothing else", db.count("dead"), 3)


@group
def sorted_queues(db):
    db.set_clock()
    worker = Worker(db)
    ids = [db.enqueue("s", sort_key=key, sort_type="integer") for key in ("20", "10", "30")]
    (head,) = worker.step()
    check("the smallest key is first (G2)", head.action_id, ids[1])
    early = db.enqueue("s", sort_key="5", sort_type="integer")
    worker.end(head.claim, "retry", "1 hour", error="no")
    check("an action that sorts earlier goes before a head that waits", worker.actions(), [early])
    worker.succeed_all()
    check("the head keeps its wait", worker.actions(), [])
    earlier = db.enqueue("s", sort_key="-7", sort_type="integer")
    check("an arrival that sorts earlier wakes a queue that waits for a retry", worker.actions(), [earlier])
    worker.succeed_all()
    check("and then the head waits again", worker.actions(), [])
    db.enqueue("t", sort_key="b", sort_type="text")
    empty = db.enqueue("t", sort_key="", sort_type="text")
    check("an empty text is a key", worker.actions(), [empty])


@group
def schedules(db):
    db.set_clock()
    worker = Worker(db)
    late = db.enqueue("a", not_before=db.value("SELECT sluice_now() + interval '1 minute'"))
    ids = [db.enqueue("a") for _ in range(2)]
    check("a scheduled action blocks nothing", worker.actions(), ids[:1])
    db.shift("2 minutes")
    worker.chores()
    check("a due action goes before newer ones (G2)", worker.drain(), [late, ids[1]])


@group
def expiry(db):
    db.set_clock()
    worker = Worker(db, route(1, "*", expired="skip"), route(2, "b", expired="block"))
    soon = db.value("SELECT sluice_now() + interval '1 minute'")
    head = db.enqueue("a", expires_at=soon)
    second = db.enqueue("a")
    db.enqueue("b", expires_at=soon)
    db.enqueue("c")
    behind = db.enqueue("c", expires_at=soon)
    db.shift("2 minutes")
    check("an expired head is skipped", second in worker.actions() + worker.actions())
    cause = "SELECT cause FROM sluice_dead WHERE id = %s"
    check("and is a dead letter", db.value(cause, head), "expired")
    check("or it parks its queue, by the policy of its route", db.lane("b")["blocked"], "expired")
    worker.chores()
    check("chores find expired actions behind the head", db.value(cause, behind), "expired")
    check("and leave the one that has parked its queue", worker.chores(), 0)


@group
def routes(db):
    db.set_clock()
    worker = Worker(db, route(1, "a/*", "k"), route(2, "*", "m"), route(3, "a/b"))
    ids = [db.enqueue("a/1"), db.enqueue("a/1x", "m"), db.enqueue("a/b", "q")]
    unknown = db.enqueue("z")
    check(
        "a less specific route serves kinds that a more specific pattern lacks",
        {row.action_id: row.route for row in worker.step()},
        {ids[0]: 1, ids[1]: 2, ids[2]: 3},
    )
    check("a kind without a route blocks its queue (G10)", db.lane("z")["blocked"], "unknown kind")
    worker.set_routes(route())
    check("a route for the kind wakes it", worker.actions(), [unknown])
    db.reset()
    first = db.enqueue("a/1")
    check("a queue without a route waits (G10)", Worker(db, route(1, "b")).actions(), [])
    second = Worker(db, route(1, "a/*"))
    check("and runs when a worker has one", second.actions(), [first])
    db.enqueue("a/2")
    second.step()
    any_queue = Worker(db)
    action = db.enqueue("a/3")
    check("a worker with * serves queues of more specific patterns", any_queue.actions(), [action])
    Worker(db, route(1, "a/9"))
    action = db.enqueue("a/9")
    check("also of patterns that came after it", any_queue.actions(), [action])
    one, two = Worker(db, route(1, "p", "k1")), Worker(db, route(1, "p", "k2"))
    action = db.enqueue("p", "k2")
    check("a worker that lacks a kind leaves the lane to others", (one.step(), db.lane("p")["blocked"]), ([], None))
    db.shift("1 s")
    check("and the one that has it runs it", two.actions(), [action])


@group
def permits(db):
    worker = Worker(db, route(1, "*", "k"), route(2, "*", "m"))
    worker.limits = {1: 1}
    ids = [db.enqueue(f"q{n}") for n in range(5)]
    free = db.enqueue("m", "m")
    rows = worker.step()
    check("a route starts no more than its limit", sum(row.route == 1 for row in rows), 1)
    check("and others go on (G9)", [row.action_id for row in rows if row.route == 2], [free])
    seen = []
    for _ in ids:
        for row in list(worker.running.values()):
            if row.route == 1:
                worker.end(row.claim)
                seen.append(row.action_id)
        worker.step()
    check("a free permit starts the next queue at once", sorted(seen), ids)


@group
def rates(db):
    db.set_clock()
    worker = Worker(db, route(rate="r", rateInterval="10 s", rateTolerance="10 s"))
    for number in range(4):
        db.enqueue(f"q{number}")
    check("a rate limit allows its burst", len(worker.step()), 2)
    check("the step says when the next may start", worker.due_at is not None)
    check("no more starts before", worker.step(), [])
    for _ in range(2):
        db.shift("10 s")
        check("one more starts after its interval", len(worker.step()), 1)


@group
def rates_after_a_jump(db):
    """The clock is set back while queues wait for a rate limit (G8)."""
    db.set_clock()
    worker = Worker(db, route(rate="r", rateInterval="10 s", rateTolerance="0 s"))
    for number in range(4):
        db.enqueue(f"q{number}")
    check("a rate limit allows its burst", len(worker.step()), 1)
    db.shift("-1 day")
    check("after a jump of the clock no more start at once", worker.step(), [])
    started = 0
    for _ in range(5):
        db.shift("10 s")
        started += len(worker.step())
    check("and one after each interval, not after the whole jump", started, 3)
    db.enqueue("q4")
    db.run("UPDATE sluice_rate_rows SET next_at = next_at + interval '1 day'")
    worker.step()
    db.shift("11 s")
    check("also a queue that comes after it", len(worker.step()), 1)


@group
def published(db):
    """A publication of all tables, as those make that copy changes elsewhere or upgrade a server."""
    bare = """SELECT c.relname FROM pg_class AS c
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND c.relkind = 'r' AND c.relreplident <> 'f'
        AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary)"""
    check("each table says which row has changed", db.column(bare), [])
    worker = Worker(db)
    db.enqueue("a")
    db.run("CREATE PUBLICATION sluice_check FOR ALL TABLES")
    try:
        worker.set_routes(route())
        check("beside a publication of all tables actions run", len(worker.drain()), 1)
        worker.chores()
    finally:
        db.run("DROP PUBLICATION sluice_check")


@group
def long_answers(db):
    """An answer is bounded by its size, so that it comes in time on a slow connection."""
    worker = Worker(db)
    for number in range(6):
        db.enqueue(f"q{number}", payload='"' + "x" * 1_000 + '"')
    worker.most_bytes = 2_500
    check("a step claims as much as its answer may hold", len(worker.step()), 2)
    check("and says that there is more", worker.due_at, worker.last[-1].enqueued_at)
    worker.most_bytes = 10
    check("but one action in any case", len(worker.step()), 1)
    check("and all run in the end (G11)", (len(worker.drain()), db.count("action")), (3, 0))


@group
def turns(db):
    db.set_clock(stops=True)
    worker = Worker(db, capacity=1)
    for _ in range(40):
        db.enqueue("a")
    worker.step()
    other = db.enqueue("b")
    ran = 1
    while ran < 40:
        worker.succeed_all()
        (row,) = worker.step()
        if row.action_id == other:
            break
        ran += 1
    check("a turn ends after 16 actions if other queues are ready (G9)", ran, 16)
    check("and goes on if none is", len(worker.drain()), 24)
    db.enqueue("c")
    for _ in range(3):
        db.enqueue("a")
    (row,) = worker.step()
    db.shift("60 ms")
    worker.end(row.claim)
    db.enqueue("d")
    check("a turn is not longer than 50 ms", worker.step()[0].queue != row.queue)


@group
def edits_and_deletions(db):
    worker = Worker(db)
    action = db.enqueue("a")
    (row,) = worker.step()
    db.value("""SELECT sluice_edit(%s, NULL, '1', NULL)""", action)
    worker.fail(row.claim, "block", cause="undecodable")
    (row,) = worker.step()
    check("an action that was edited while it could not be read is tried again", row.action_id, action)
    db.value("SELECT sluice_edit(%s, NULL, '2', NULL)", action)
    worker.end(row.claim)
    worker.step()
    check("a success that has not seen an edit says so", worker.whats(), ["editLost", "settled"])
    action = db.enqueue("u")
    worker.fail(worker.step()[0].claim, "block", cause="undecodable")
    worker.step()
    check(
        "an action that cannot be read parks its queue and spends no attempt (G10)",
        (db.lane("u")["blocked"], db.state(action)["attempts"]),
        ("undecodable", 0),
    )
    worker.set_routes(route())
    (row,) = worker.step()
    check("a new route tries it again", row.action_id, action)
    db.run("DELETE FROM sluice_action_rows")
    worker.end(row.claim)
    worker.step()
    check("the success of a deleted action reports that it was removed", worker.whats(), ["removed"])


@group
def locked_lanes(db):
    worker, other = Worker(db), Worker(db)
    application = db.another(autocommit=False)
    ids = [db.enqueue("a") for _ in range(2)]
    worker.step()
    open_ids = [application.enqueue("a"), application.enqueue("z")]
    check("an open enqueue does not hold up the step of its queue", worker.drain(), [ids[1]])
    application.commit()
    check("its actions run when it is committed (G11)", sorted(worker.actions()), open_ids)
    application.all("SELECT 1 FROM sluice_lane_rows FOR UPDATE")
    db.enqueue("a")
    new = db.enqueue("n")
    check("a locked lane holds up no other (G9)", other.actions(), [new])
    worker.end(next(row.claim for row in worker.running.values() if row.queue == "a"))
    mine = db.enqueue("m")
    check("a receipt waits for its lane's lock, and nothing else does (G9)", worker.actions(), [mine])
    check("and its action has not ended", db.count("claim"), 4)
    application.rollback()
    check("and then the queue goes on", len(worker.actions()), 1)
    db.reset()
    worker, other = Worker(db), Worker(db)
    db.enqueue("a")
    worker.drain()
    application.all("SELECT 1 FROM sluice_lane_rows FOR UPDATE")
    action = db.enqueue("a")
    check("an arrival whose lane is locked stays", (other.step(), db.count("arrival")), ([], 1))
    application.rollback()
    check("and starts its action later (G11)", other.actions(), [action])
    other.drain()
    db.enqueue("a")
    db.take_in()
    db.run("UPDATE sluice_lane_rows SET ready_at = now()")
    application.all("SELECT 1 FROM sluice_lane_rows FOR UPDATE")
    check("a ready lane that another has locked is left to it (G3)", other.actions(), [])
    application.rollback()


@group
def an_arrival_at_the_end_of_a_queue(db):
    worker, other = Worker(db), Worker(db)
    db.enqueue("a")
    worker.step()
    worker.succeed_all()
    worker.database.connection.autocommit = False
    worker.step()
    action = db.enqueue("a")
    check("an arrival waits for the step that has its lane", other.step(), [])
    worker.database.commit()
    check("and starts its action after it (G11)", other.actions(), [action])


@group
def two_open_enqueues(db):
    worker = Worker(db)
    db.enqueue("a")
    worker.drain()
    one, two = db.another(autocommit=False), db.another()
    first = one.enqueue("a")
    enqueue = two.later(lambda: two.enqueue("a"))
    check("the second enqueue of a queue waits for the first", enqueue.waits())
    check("nothing runs until then", worker.drain(), [])
    one.commit()
    second = enqueue.result()
    check("the action with the smaller id runs first, and both run (G2)", worker.drain(), [first, second])


@group
def isolation_of_steps(db):
    worker = Worker(db)
    arguments = (worker.epoch, "30 s", *[[]] * 10, 1, 1, False, 0, "5 s", 1)
    strict = db.another(isolation="REPEATABLE READ")
    check("a step under another isolation level is refused", strict.error(STEP, *arguments), ("SL005", None))
