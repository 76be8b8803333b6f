"""What is left to do for a worker, and when something is due next (G15)."""

from checks import check, group
from fresh import add_route, fresh

COUNTS = ("due", "elsewhere", "parked", "undecodable", "unknown_kind", "held", "gate")


def left(db, pattern="*", worker=None):
    return db.facts("SELECT *, next_at <= now_at AS at_once FROM sluice_work_left(%s, %s)", pattern, worker)


def only(found, **wanted):
    """Whether nothing else is left."""
    return {name: found[name] for name in COUNTS} == dict.fromkeys(COUNTS, 0) | wanted


@group
def work(db):

    worker = fresh(db)
    check("without actions nothing is left", (only(left(db)), left(db)["next_at"]), (True, None))
    action = db.enqueue("a")
    check(
        "a ready action is due at once",
        (only(left(db), due=1), left(db)["at_once"], only(left(db, worker=worker), due=1)),
        (True, True, True),
    )
    db.claim(action, worker)
    check(
        "and so is one that runs here",
        (only(left(db, "a", worker), due=1), left(db, "a", worker)["at_once"]),
        (True, True),
    )
    second_worker = db.worker("host-b/1")
    check("a worker without a route has nothing left", only(left(db, "*", second_worker)))
    add_route(db, "*", second_worker)
    check(
        "an action that runs elsewhere is counted as such",
        (only(left(db, "*", second_worker), elsewhere=1), left(db, "*", second_worker)["next_at"]),
        (True, None),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    db.retry(action)
    check(
        "a retry is due at its time",
        (only(left(db), due=1), left(db)["at_once"], left(db)["next_at"] is not None),
        (True, False, True),
    )
    db.run("UPDATE sluice_action_rows SET expires_at = now() + interval '1 min'")
    check(
        "or when its action expires", db.value("SELECT next_at < now() + interval '2 min' FROM sluice_work_left('*')")
    )
    db.run("UPDATE sluice_route_rows SET expired='block'")
    check(
        "unless the policy for that is to block",
        db.value("SELECT next_at > now() + interval '2 min' FROM sluice_work_left('*')"),
    )
    worker = fresh(db)
    action = db.enqueue("a", not_before="2999-01-01")
    check("a scheduled action is due at its time", (only(left(db), due=1), left(db)["next_at"].year), (True, 2999))
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action)
    check("a parked queue counts", only(left(db), parked=1))
    worker = fresh(db)
    action = db.enqueue("a")
    db.park(action, "undecodable")
    check("a queue whose head cannot be read counts", only(left(db), undecodable=1))
    worker = fresh(db, kind="other")
    action = db.enqueue("a")
    check(
        "a queue with an unknown kind counts",
        (only(left(db), unknown_kind=1), only(left(db, "*", worker), unknown_kind=1)),
        (True, True),
    )
    worker = fresh(db)
    action = db.enqueue("a")
    hold = db.value("SELECT sluice_hold('*','ops')")
    check("a held queue counts", only(left(db), held=1))
    db.value("SELECT sluice_end_hold(%s)", hold)
    db.value("SELECT sluice_hold('*','ops','','1 hour')")
    check("a hold that ends is due at its end", (only(left(db), due=1), left(db)["at_once"]), (True, False))
    worker = fresh(db)
    action = db.enqueue("a", gate="g")
    check("a queue that waits for a gate counts", only(left(db), gate=1))
    db.all("SELECT sluice_close_gate('g','1 hour')")
    check("a gate that opens by itself is due then", (only(left(db), due=1), left(db)["at_once"]), (True, False))
    worker = fresh(db)
    action = db.enqueue("a", gate="g", expires_at="2999-01-01")
    check(
        "a queue that waits for a gate is due when its head expires",
        (only(left(db), due=1), left(db)["next_at"].year),
        (True, 2999),
    )
    fresh(db, has_worker=False)
    db.enqueue("a")
    check("while nobody runs all queues count", only(left(db), due=1))
