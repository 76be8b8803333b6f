"""Rights, and callers with other schemas in their path (G13)."""

import re

from checks import check, group
from server import MIGRATIONS, quoted

DENIED = "42501"
# Names of roles are the server's, not a schema's.
APPLICATION, READER, OPERATOR, ENQUEUER = ROLES = "checks_app", "checks_reader", "checks_operator", "checks_enqueuer"
DOCUMENTED = {"app": APPLICATION, "reader": READER, "operator": OPERATOR}
VIEWS = "sluice_actions sluice_queues sluice_dead sluice_attempts sluice_holds sluice_gates sluice_runners sluice_audit".split()


def make_roles(db):
    """Roles with the rights that the comment at the end of the last file grants."""
    for role in ROLES:
        db.run(f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        db.run(f"GRANT USAGE ON SCHEMA {quoted(db.schema)} TO {role}")
    text = MIGRATIONS[-1].read_text()
    comment = re.sub(r"\n--\s*", " ", text[text.index("-- Functions are executable by all") :])
    grants = re.findall(r"GRANT [^;]*? TO (\w+);", comment)
    for role, grant in zip(grants, re.findall(r"GRANT [^;]*? TO (?=\w+;)", comment)):
        db.run(grant + DOCUMENTED[role])
    db.run(f"GRANT {READER} TO {OPERATOR}")
    return grants


def refusals(db, role, statements):
    """The errors of statements by a role, where there are any."""
    caller = db.another(user=role)
    errors = {statement: caller.error(statement) for statement in statements}
    return {statement: error[0] for statement, error in errors.items() if error}


@group
def rights(db):
    check("the comments name what each role needs", set(make_roles(db)), set(DOCUMENTED))
    enqueue = "SELECT sluice_enqueue('q', 'k', '1', NULL, 'arrival', NULL, '2100-01-01', 'x', '1 h', 't', 'g', 2, 5)"
    check("a role with the schema alone may enqueue", refusals(db, ENQUEUER, [enqueue]), {})
    internal = [
        "SELECT sluice_cancel(1)",
        "SELECT sluice_token(gen_random_uuid())",
        "SELECT sluice_lock_queues('{1}')",
        "SELECT sluice_drop('{}', false)",
        "SELECT sluice_bury('{}', 'failed', 'x')",
        "SELECT sluice_touch('{}', false)",
        "SELECT * FROM sluice_actions",
        "SELECT * FROM sluice_action_rows",
        "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('a', 'k', '1')",
        "INSERT INTO sluice_arrival_rows VALUES (1)",
    ]
    check("and nothing else", refusals(db, ENQUEUER, internal), dict.fromkeys(internal, DENIED))
    token = "SELECT sluice_token(gen_random_uuid())"
    check("an application resolves its tokens", refusals(db, APPLICATION, [enqueue, token]), {})
    reads = [f"SELECT * FROM {view}" for view in VIEWS] + [
        "SELECT * FROM sluice_statuses('*')",
        "SELECT * FROM sluice_status('a')",
        "SELECT * FROM sluice_work_left('*')",
        "SELECT * FROM sluice_summaries('*', 5)",
        "SELECT * FROM sluice_action_states(pattern => '*')",
        "SELECT * FROM sluice_dead_letters('*')",
        "SELECT * FROM sluice_export('*', 0, 5, 100)",
        "SELECT sluice_action_key(1)",
        "SELECT sluice_queue_names('', 5)",
        "SELECT * FROM sluice_arrived(NULL)",
    ]
    check("a reader reads", refusals(db, READER, reads), {})
    writes = ["DELETE FROM sluice_actions", "SELECT sluice_cancel(1)", "SELECT * FROM sluice_action_rows"]
    check("and writes nothing", refusals(db, READER, writes), dict.fromkeys(writes, DENIED))
    acts = [
        "SELECT sluice_cancel(1)",
        "SELECT sluice_retry_now('*')",
        "SELECT sluice_requeue_all('*')",
        "SELECT sluice_requeue_at_end(1)",
        "SELECT sluice_purge_all('*')",
        "DELETE FROM sluice_actions",
        "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('a', 'k', '1')",
        "UPDATE sluice_actions SET tag = 'x'",
        "INSERT INTO sluice_gates (gate) VALUES ('o')",
        "INSERT INTO sluice_holds (scope) VALUES ('*')",
    ]
    check("an operator reads and operates", refusals(db, OPERATOR, acts + reads), {})
    tables = ["DELETE FROM sluice_action_rows", "SELECT sluice_drop('{}', false)"]
    check("and does nothing to the tables", refusals(db, OPERATOR, tables), dict.fromkeys(tables, DENIED))
    public = db.column(
        "SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s AND EXISTS"
        " (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0)",
        db.schema,
    )
    check("everybody may call one function alone", public, ["sluice_enqueue"])
    db.run(f"DROP OWNED BY {', '.join(ROLES)}")


# What an unfriendly caller puts in front of the engine's tables and the server's functions.
SHADOWS = """
CREATE TEMP TABLE sluice_queue_rows (queue_id bigint, name text, sort_type text, pool int);
CREATE TEMP TABLE sluice_action_rows (id bigint, queue_id bigint, not_before timestamptz);
CREATE TEMP TABLE sluice_arrival_rows (queue_id bigint, rewind boolean);
CREATE TEMP TABLE sluice_key_rows (queue_id bigint, key text);
CREATE TEMP TABLE sluice_worker_rows (waits boolean);
CREATE TEMP TABLE sluice_pool_rows (pool int, pattern text);
CREATE FUNCTION unfriendly.sluice_now() RETURNS timestamptz LANGUAGE plpgsql AS $$BEGIN RAISE 'shadow'; END$$;
CREATE FUNCTION unfriendly.octet_length(text) RETURNS int LANGUAGE plpgsql AS $$BEGIN RAISE 'shadow'; END$$;
CREATE FUNCTION unfriendly.ne(text, text) RETURNS bool LANGUAGE plpgsql AS $$BEGIN RAISE 'shadow'; END$$;
CREATE OPERATOR unfriendly.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = unfriendly.ne);
"""


@group
def paths(db):
    make_roles(db)
    db.run(f"DROP SCHEMA IF EXISTS unfriendly CASCADE; CREATE SCHEMA unfriendly AUTHORIZATION {ENQUEUER}")
    caller = db.another(user=ENQUEUER, path="unfriendly, pg_catalog")
    caller.run(SHADOWS)
    enqueue = f"SELECT {quoted(db.schema)}.sluice_enqueue('q', 'k', '1', '1', 'integer', key => 'y')"
    check("a caller's own tables, functions and operators change nothing", caller.error(enqueue), None)
    check("the action is stored in the engine's tables", [db.count(name) for name in ("action", "arrival")], [1, 1])
    own = [
        caller.value(f"SELECT count(*) FROM pg_temp.sluice_{name}_rows") for name in ("action", "queue", "arrival")
    ]
    check("and not in the caller's", own, [0, 0, 0])
    owner = db.another()
    owner.run("CREATE TEMP TABLE sluice_action_rows (id bigint)")
    check("a temporary table of the owner hides nothing either", owner.value("SELECT sluice_action_count()"), 1)
    # Functions that are inlined, or name no table, have none; and those that others alone call, with a path of theirs.
    states = ["sluice_step_state", "sluice_batch", "sluice_entry"]
    inner = (
        "sleep sleep_for_locked sleep_for_gate start_by_rate ring limit_waits is_too_deep check_actions"
        " needs_care store_keys take_token lock_lanes_of take_ready next_due"
    ).split()
    without = db.column(
        "SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s"
        " AND p.prosqlbody IS NULL AND proname NOT IN ('sluice_now', 'sluice_matches')"
        " AND coalesce(p.proargtypes[0] <> ALL (%s::regtype[]), true) AND proname <> ALL (%s)"
        " AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS s WHERE s LIKE 'search_path=%%, pg_temp')",
        db.schema,
        states,
        [f"sluice_{name}" for name in inner],
    )
    check("every function keeps its own path, with temporary tables last", without, [])
    db.run(f"DROP SCHEMA unfriendly CASCADE; DROP OWNED BY {', '.join(ROLES)}")


@group
def names_of_schemas(db):
    name = 'a "very" long name of a schema, with sixty-three bytes and an Ä'
    other = db.another(path=quoted(db.server.make_schema(name)))
    other.schema = name
    other.rings()
    other.worker()
    other.run("UPDATE sluice_worker_rows SET waits = true")
    other.enqueue("q")
    check(
        "in a schema with a long and quoted name the doorbell rings, under its name as the server cuts it",
        other.rings(),
        1,
    )
    db.server.drop_schema(name)
