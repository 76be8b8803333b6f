"""An action in each state, for the acts of operators."""

from checks import check


def make(db, state, **options):
    """The only action of the queue a that is in this state; another one that waits is after it."""
    db.reset()
    if state == "gone":
        return 999999
    worker = db.worker()
    if state == "scheduled":
        options["not_before"] = "2999-01-01"
    action = db.enqueue("a", **options)
    db.take_in()
    if state != "scheduled":
        db.enqueue("a")
        db.take_in()
    db.rest("a")
    if state == "running":
        db.claim(action, worker)
    if state == "retrying":
        db.retry(action)
    if state == "parked":
        db.park(action)
    if state == "undecodable":
        db.park(action, "undecodable")
    if state == "dead":
        db.bury(action)
    return action


STATES = ["waiting", "scheduled", "running", "retrying", "parked", "undecodable", "dead", "gone"]


def table(db, name, sql, expected, after=None):
    """What an act answers for each state, and what is true after it."""
    for state in STATES:
        action = make(db, state)
        answer = db.value(sql, action)
        want = expected[state] if state in expected else expected["else"]
        check(f"{name} of an action that is {state} answers {want}", answer, want)
        if after and state not in ("dead", "gone"):
            after(state, action)
