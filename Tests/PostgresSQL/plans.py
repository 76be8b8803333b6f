"""Plans: what a call reads does not grow with the queues that wait, whatever the statistics say (G9, G12)."""

import json

from checks import check, group
from worker import Worker

LANES = 100_000
EXPLAIN = """
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on;
SET auto_explain.log_timing = off;
SET auto_explain.log_format = json;
SET client_min_messages = log;
"""
NOT_EXPLAINED = "SET auto_explain.log_min_duration = -1; SET client_min_messages = notice"


class Notices(list):
    """psycopg2 keeps the last fifty only in a list of its own."""


class Plans:
    """The plans of all statements within a call."""

    def __init__(self, database, call):
        database.connection.notices = Notices()
        database.run(EXPLAIN)
        call()
        database.run(NOT_EXPLAINED)
        texts = [notice for notice in database.connection.notices if "plan:" in notice]
        self.plans = [json.loads(text[text.index("{") :], strict=False) for text in texts]

    def scans(self):
        """The statement, the node and its table for each scan of a table of the engine."""
        for plan in self.plans:
            nodes = [plan["Plan"]]
            for node in nodes:
                nodes += node.get("Plans", [])
                if node.get("Relation Name", "").startswith("sluice_"):
                    yield " ".join(plan["Query Text"].split()), node, node["Relation Name"]

    def rows(self):
        """How many rows were read."""
        names = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
        return sum(sum(node.get(name, 0) for name in names) * node["Actual Loops"] for _, node, _ in self.scans())

    def whole_tables(self, but=()):
        """Tables that were read from end to end."""
        return {table for _, node, table in self.scans() if node["Node Type"] == "Seq Scan"} - set(but)

    def indexes(self):
        """By statement and table the indexes that were used."""
        found = {}
        for statement, node, table in self.scans():
            if "Index Name" in node:
                found.setdefault((statement, table), set()).add(node["Index Name"])
        return {key: tuple(sorted(used)) for key, used in found.items()}


def fill(db, blocked_by=None):
    """Many queues that wait: for a gate, for a retry, or only for a worker."""
    db.run(
        "INSERT INTO sluice_queue_rows (name, sort_type, pool)"
        " SELECT 'z/' || n, 'arrival', coalesce((SELECT min(pool) FROM sluice_pool_rows), 0)"
        " FROM generate_series(1, %s) AS n ON CONFLICT DO NOTHING",
        LANES,
    )
    db.run(
        "INSERT INTO sluice_action_rows (queue_id, enqueued_at, nonce, kind, payload)"
        " SELECT queue_id, now(), 1, 'k', '{}' FROM sluice_queue_rows WHERE name LIKE 'z/%'"
    )
    db.run(
        "INSERT INTO sluice_lane_rows (queue_id, pool, ready_at, blocked_by, blocked_action_id, blocked_at,"
        " blocked_error) SELECT a.queue_id, q.pool,"
        " CASE %s WHEN 'gate' THEN NULL WHEN 'retry' THEN now() + interval '1 hour' ELSE now() END,"
        " CASE %s WHEN 'gate' THEN 'gate' END, a.id, now(), 'g'"
        " FROM sluice_action_rows a JOIN sluice_queue_rows q USING (queue_id) WHERE q.name LIKE 'z/%%'"
        " ON CONFLICT DO NOTHING",
        blocked_by,
        blocked_by,
    )


def step_plans(db):
    """A step that settles and claims, after others have made its plans."""
    worker = Worker(db)
    for _ in range(3):
        db.many([f"q{number}" for number in range(16)])
        worker.step()
        worker.succeed_all()
    plans = Plans(worker.database, worker.step)
    worker.drain()
    worker.database.all("SELECT sluice_leave(%s)", worker.epoch)
    return plans


@group
def steps(db):
    found = {"empty tables": step_plans(db)}
    db.run("ANALYZE")
    found["small tables"] = step_plans(db)
    fill(db, "gate")
    found[f"{LANES} lanes that wait, without statistics"] = step_plans(db)
    db.run("VACUUM ANALYZE")
    found[f"{LANES} lanes that wait for a gate"] = step_plans(db)
    db.run(
        "UPDATE sluice_lane_rows SET blocked_by = NULL, ready_at = now() + interval '1 hour' WHERE blocked_by = 'gate'"
    )
    db.run("VACUUM ANALYZE")
    found[f"{LANES} lanes that wait for a retry"] = step_plans(db)
    indexes = {}
    for size, plans in found.items():
        check(f"a step explains its statements ({size})", len(plans.plans) > 10)
        check(f"a step reads no table from end to end ({size})", plans.whole_tables(), set())
        check(f"a step of 16 actions reads fewer than a thousand rows ({size})", plans.rows() < 1000)
        for statement, used in plans.indexes().items():
            indexes.setdefault(statement, set()).add(used)
    several = {statement: used for statement, used in indexes.items() if len(used) > 1}
    check("each statement of a step uses the same indexes, whatever the statistics", several, {})
    settings = db.value("SELECT proconfig::text FROM pg_proc WHERE oid = 'sluice_step'::regproc")
    check("a step is not compiled at run time", "jit=off" in settings)


ENQUEUES = {
    "one action": dict(queues=["q1"]),
    "64 queues": dict(queues=[f"q{number}" for number in range(64)]),
    "many in one queue": dict(queues=["q1"] * 200),
    "keys and depths": dict(queues=["q1", "q2"], keys=["x"] * 2, key_policies=["keep"] * 2, depths=[10**6] * 2),
    "replaces": dict(queues=["q1", "q2"], keys=["x"] * 2, key_policies=["replace"] * 2),
}
# Tables with a row for each worker and pattern.
SMALL = ("sluice_worker_rows", "sluice_pool_rows")


@group
def enqueues(db):
    for size in ("empty tables", f"{LANES} queues without statistics", f"{LANES} queues"):
        if size == f"{LANES} queues without statistics":
            fill(db)
        elif size == f"{LANES} queues":
            db.run("VACUUM ANALYZE")
        for name, values in ENQUEUES.items():
            caller = db.another()
            for _ in range(6):
                caller.many(**values)
            plans = Plans(caller, lambda: caller.many(**values))
            limit = 40 * len(values["queues"]) + 3000 * ("depths" in values)
            check(f"an enqueue reads no table from end to end ({name}, {size})", plans.whole_tables(SMALL), set())
            check(f"an enqueue reads few rows ({name}, {size})", plans.rows() < limit)


ACTS = [
    "SELECT sluice_cancel(%s)",
    "SELECT sluice_move(%s, 'z/7')",
    "SELECT sluice_move_to_front(%s)",
    "SELECT sluice_edit(%s, NULL, '1', NULL)",
    "SELECT sluice_reschedule(%s, '2999-01-01')",
    "SELECT sluice_set_tag(%s, 't')",
    "SELECT sluice_set_expiry(%s, NULL)",
    "SELECT sluice_purge(%s)",
    "SELECT sluice_requeue(%s)",
    "SELECT * FROM sluice_actions WHERE id = %s",
    "SELECT * FROM sluice_action_states(ARRAY[%s]::bigint[])",
    "DELETE FROM sluice_actions WHERE id = %s",
]
READS = [
    "SELECT * FROM sluice_skip_head('z/2')",
    "SELECT * FROM sluice_cancel_queues('z/42')",
    "SELECT * FROM sluice_cancel_tag('none')",
    "SELECT * FROM sluice_action_states(tag => 'none')",
    "SELECT * FROM sluice_status('z/62')",
    "SELECT * FROM sluice_statuses('*', '{parked}', 100)",
    "SELECT * FROM sluice_summaries('z/*', 10)",
]
# Each is planned when it is called: it reads few rows if there are statistics.
LISTS = ["SELECT * FROM sluice_statuses('z/*', NULL, 100)", "SELECT * FROM sluice_queues WHERE queue = 'z/62'"]


def acts_and_views(db, had_statistics):
    """By a connection whose plans are from a time when the tables were empty."""
    # The server's own vacuum would come when it likes.
    for table in db.column(
        "SELECT relname FROM pg_class WHERE relname LIKE 'sluice%%' AND relkind = 'r'"
        " AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
    ):
        db.run(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    operator = db.another()
    for _ in range(7):
        for act in ACTS:
            operator.run(act, db.enqueue("w"))
        for read in READS:
            operator.all(read)
    if had_statistics:
        db.run("ANALYZE")
    fill(db)
    for has_statistics in (False, True):
        if has_statistics:
            db.run("ANALYZE")
        old = "with statistics of few" if had_statistics else "without statistics"
        size = f"{LANES} queues{'' if has_statistics else ', ' + old}"
        for act in ACTS:
            action = db.value("SELECT id FROM sluice_action_rows WHERE id % 7 = 3 ORDER BY id DESC LIMIT 1")
            plans = Plans(operator, lambda: operator.run(act, action))
            check(f"an act on one action reads few rows ({act}, {size})", plans.rows() < 500)
        for read in READS + (LISTS if has_statistics else []):
            plans = Plans(operator, lambda: operator.run(read))
            check(f"a read with a limit reads few rows ({read}, {size})", plans.rows() < 5000)


@group
def acts_and_views_of_new_tables(db):
    acts_and_views(db, had_statistics=False)


@group
def acts_and_views_of_small_tables(db):
    acts_and_views(db, had_statistics=True)
