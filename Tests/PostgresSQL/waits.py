"""What a call waits for ends, and what its caller has set stays (G9, G14)."""

from checks import check, group
from workers import LOCK_LANE

# Calls on the action and on the dead letter of a queue; {a} and {d} are their numbers, {h} is that of a hold.
CALLS = [
    "SELECT sluice_cancel({a})",
    "SELECT sluice_cancel_tag('t')",
    "SELECT sluice_cancel_queues('q')",
    "SELECT sluice_move({a}, 'elsewhere')",
    "SELECT sluice_move_to_front({a})",
    "SELECT sluice_edit({a}, NULL, '1', NULL)",
    "SELECT sluice_reschedule({a}, now() + interval '1 hour')",
    "SELECT sluice_set_expiry({a}, now() + interval '1 hour')",
    "SELECT sluice_set_tag({a}, 'u')",
    "SELECT sluice_skip_head('q')",
    "SELECT sluice_requeue({d})",
    "SELECT sluice_requeue_at_end({d})",
    "SELECT sluice_requeue_all('q')",
    "SELECT sluice_purge({d})",
    "SELECT sluice_purge_all('q')",
    "SELECT sluice_open_gate('g')",
    "SELECT sluice_close_gate('g')",
    "SELECT sluice_end_hold({h})",
    "SELECT sluice_end_holds('q/*')",
    "SELECT sluice_enqueue('q', 'k', '{{}}', key => 'a')",
    "DELETE FROM sluice_actions WHERE id = {a}",
    "UPDATE sluice_actions SET tag = 'u' WHERE id = {a}",
    "DELETE FROM sluice_dead WHERE id = {d}",
    "DELETE FROM sluice_holds WHERE id = {h}",
    "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'k', '{{}}')",
]
# Those that find nothing locked: they make what is new.
FREE = [
    "SELECT sluice_enqueue('new', 'k', '{{}}', key => 'b')",
    "SELECT sluice_open_gate('new')",
    "SELECT sluice_hold('q', 'me')",
    "SELECT sluice_retry_now('q')",
    "SELECT sluice_token('00000000-0000-0000-0000-000000000001')",
]


def prepare(db):
    db.reset()
    dead = db.enqueue("q")
    db.park(dead, "failed", "bad")
    db.run("SELECT sluice_skip_head('q')")
    action = db.enqueue("q", tag="t")
    db.run("SELECT sluice_open_gate('g')")
    return {"a": action, "d": dead, "h": db.value("SELECT sluice_hold('q/*', 'me')")}


@group
def callers_setting(db):
    """An application calls these functions in transactions of its own."""
    for call in CALLS + FREE:
        numbers = prepare(db)
        application = db.another(autocommit=False)
        application.run("SET LOCAL lock_timeout = '60s'")
        application.all(call.format(**numbers)) if call.startswith("SELECT") else application.run(call.format(**numbers))
        check(f"lock_timeout is its caller's after {call}", application.value("SHOW lock_timeout"), "1min")
        application.rollback()


@group
def ends(db):
    """Who gives up a call after a minute must not find it done later: no call waits for longer than ten seconds."""
    numbers = prepare(db)
    holder = db.another(autocommit=False)
    holder.all(LOCK_LANE, "q")
    for table in ("queue", "gate", "hold", "dead", "action"):
        holder.all(f"SELECT 1 FROM sluice_{table}_rows FOR UPDATE")
    waiting = []
    for call in CALLS:
        other = db.another()
        # Who stands in line for a row waits for its turn first, and then for the row.
        other.run("SET statement_timeout = '60s'")
        text = call.format(**numbers)
        waiting.append((call, other.later(lambda other=other, text=text: other.run(text))))
    for call, act in waiting:
        check(f"it ends with 55P03: {call}", act.result(), "55P03")
    holder.rollback()
    check("and nothing was done", (db.count("action"), db.count("dead"), db.count("hold")), (1, 1, 1))


@group
def acts_on_the_rest(db):
    """An act on many queues is done for those that are free (G9); the call after it waits for the others."""
    acts = {
        "retry_now": ("SELECT changed, again FROM sluice_retry_now('q/*', %s)", 9),
        "cancel_queues": ("SELECT removed, next FROM sluice_cancel_queues('q/*', %s)", 9),
        "cancel_tag": ("SELECT removed, next FROM sluice_cancel_tag('t', coalesce(%s, 0::bigint))", 9),
        "requeue_all": ("SELECT requeued, next FROM sluice_requeue_all('q/*', NULL, coalesce(%s, 0::bigint))", 9),
    }
    for name, (call, expected) in acts.items():
        db.reset()
        for number in range(10):
            action = db.enqueue(f"q/{number}", tag="t")
            if name in ("retry_now", "requeue_all"):
                db.park(action, "failed", "bad")
            if name == "requeue_all":
                db.run("SELECT sluice_skip_head(%s)", f"q/{number}")
        db.take_in()
        holder, operator = db.another(autocommit=False), db.another()
        holder.all("SELECT 1 FROM sluice_queue_rows WHERE name = 'q/4' FOR UPDATE")
        holder.all(LOCK_LANE, "q/4")
        done, rest = operator.all(call, None)[0]
        check(f"{name} is done for the queues that are free", (done, rest is None), (expected, False))
        operator.run("SET lock_timeout = '200ms'")
        error = operator.error(call, rest)
        check(f"{name} waits for the last one in the next call", error and error[0], "55P03")
        holder.rollback()
        check(f"{name} ends with it", operator.all(call, rest)[0], (1, None))
