"""Guards of the SQL, each with the change that removes it and the groups that must notice."""

import re


class Mutant:
    """A text of a file, by the start of its name, is replaced; each must be there."""

    def __init__(self, groups, *changes):
        self.groups = groups.split()
        self.changes = changes

    def change(self, texts):
        for file, old, new in self.changes:
            text = texts[file]
            changed = old.sub(lambda _: new, text) if isinstance(old, re.Pattern) else text.replace(old, new)
            if changed == text:
                raise ValueError(f"{file} does not contain: {old}")
            texts = texts | {file: changed}
        return texts


OPEN = "workers.transactions_that_stay_open"
# A locking clause, without what follows it.
LOCK = "FOR NO KEY UPDATE"
TAKING_IN = f"WHERE l.queue_id = ANY (named) {LOCK} SKIP LOCKED) AS t;"
SETTLING = re.compile(r"\s+ORDER BY l.queue_id FOR NO KEY UPDATE SKIP LOCKED(?=\);\s+IF cardinality\(locked_lanes\))")
RESOLVING = re.compile(r" +INSERT INTO sluice_token_rows \(token, ids, at\) VALUES \(sluice_token\.token[^;]*;")
LOCK_QUEUES = re.compile(r"(?<=CREATE FUNCTION sluice_lock_queues).*?\n\$\$;", re.DOTALL)
NO_LOCK = "(queues bigint[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS 'BEGIN END';"

WAKING = re.compile(r" +PERFORM sluice_arrive\(ARRAY\(SELECT[^;]*l\.blocked_error = detail\), true\);")

PARKED_HEAD = "IF sluice_parks(head.blocked_by) THEN"

MUTANTS = {
    # Enqueues
    "queue lock": Mutant("step.two_open_enqueues locks.ids_of_a_queue", ("0002", LOCK_QUEUES, NO_LOCK)),
    "ids one by one": Mutant("locks.ids_of_a_queue", ("0001", "(CACHE 1)", "(CACHE 32)")),
    "token taken by the resolver": Mutant("tokens.tokens", ("0002", RESOLVING, "")),
    "type of key under an old snapshot": Mutant("locks.strict_isolation", ("0002", "<> 'read committed'", "= 'none'")),
    "lane lock of a replace": Mutant(
        "keys.replacing_during_a_step",
        ("0002", "ANY (lanes) ORDER BY l.queue_id FOR NO KEY UPDATE;", "ANY (lanes) ORDER BY l.queue_id;"),
    ),
    "temporary tables last": Mutant(
        "rights.paths",
        *[
            (file, "format('%I, pg_temp', current_schema())", "quote_ident(current_schema())")
            for file in ("0002", "0005")
        ],
    ),
    # The step
    "lane lock when settling": Mutant("step.locked_lanes", ("0003", SETTLING, "")),
    "receipts of locked queues": Mutant(
        "step.locked_lanes", ("0003", re.compile(r" SKIP LOCKED(?=\);\s+IF cardinality\(locked_lanes\))"), "")
    ),
    "locked queue of a dead worker": Mutant(
        "passing_over.a_dead_worker", ("0003", re.compile(r" SKIP LOCKED(?=\);\s+is_trying)"), "")
    ),
    "gate of an open transaction": Mutant(
        "passing_over.a_gate_in_an_open_transaction",
        ("0003", "OR NOT pg_try_advisory_xact_lock(sluice_gate_number(gate))", "OR false"),
    ),
    "known gate of an open transaction": Mutant(
        "passing_over.a_gate_in_an_open_transaction",
        ("0003", "IF EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = gate)\n        OR NOT", "IF NOT"),
    ),
    "hold of an open transaction": Mutant(
        "passing_over.a_hold_in_an_open_transaction",
        ("0003", "least(greatest((now_at - since) / 2, interval '20 ms'), interval '5 s')", "interval '0'"),
    ),
    "the caller's lock_timeout": Mutant(
        "waits.callers_setting", ("0004", "PERFORM set_config('lock_timeout', before, true);", "")
    ),
    "settling on a dead worker": Mutant(
        "passing_over.a_settling_by_the_application",
        ("0003", re.compile(r" SKIP LOCKED(?=\)\)\s+RETURNING c)"), ""),
    ),
    "end of a worker for good": Mutant(
        "passing_over.a_dead_worker",
        (
            "0003",
            "FROM sluice_worker_rows AS w WHERE w.epoch = me AND w.ending IS NULL FOR NO KEY UPDATE OF w;",
            "FROM sluice_worker_rows AS w WHERE w.epoch = me FOR NO KEY UPDATE OF w;",
        ),
    ),
    "settling after the end of a worker": Mutant(
        "passing_over.a_dead_worker", ("0003", "WHERE w.epoch = c.worker AND w.ending IS NULL)", "WHERE true)")
    ),
    "arrivals that are passed over": Mutant(
        "passing_over.arrivals",
        (
            "0003",
            "FOR round IN 1 .. 10 LOOP\n        SELECT array_agg(t.place)",
            "FOR round IN 1 .. 1 LOOP\n        SELECT array_agg(t.place)",
        ),
        ("0003", "more := true;\n    -- Each round", "more := false;\n    -- Each round"),
        ("0003", "        IF round = 1 THEN\n", "        IF true THEN\n"),
    ),
    "due actions that are passed over": Mutant(
        "passing_over.schedules",
        ("0003", "EXIT WHEN done >= most OR coalesce(cardinality(placed), 0) = seen;", "EXIT;"),
    ),
    "expired actions that are passed over": Mutant(
        "passing_over.expiries",
        ("0003", "EXIT WHEN done > 0 OR next_id = 0;", "next_at := from_at; next_id := from_id;"),
    ),
    "pools that are passed over": Mutant(
        "passing_over.pools",
        ("0003", "IF cardinality(taken) < (SELECT sum(s) FROM unnest(shares) AS s) THEN", "IF false THEN"),
    ),
    "locked queue in a resync": Mutant(
        OPEN, ("0003", re.compile(r" SKIP LOCKED(?=\);\s+FOR held IN\s+DELETE FROM sluice_claim_rows)"), "")
    ),
    "lane of an open transaction": Mutant(OPEN, ("0003", "ORDER BY random() LIMIT 30", "ORDER BY random() LIMIT 0")),
    "locked suspect": Mutant(
        "trials.locked_suspects",
        ("0003", re.compile(r" FOR NO KEY UPDATE SKIP LOCKED(?=;\s+IF FOUND THEN\s+-- A clock)"), ""),
    ),
    "locked queue of a task": Mutant(
        "passing_over.routes_of_many",
        ("0003", re.compile(r" SKIP LOCKED(?=\);\s+job\.passed := ARRAY\(SELECT)"), ""),
    ),
    "locked queue after a task": Mutant(
        "passing_over.routes_of_many",
        ("0003", "IF job.after IS NULL AND job.passed = '{}' THEN", "IF job.after IS NULL THEN"),
    ),
    "waking after new routes": Mutant(
        OPEN,
        ("0003", re.compile(r" +PERFORM sluice_arrive\(ARRAY\([^;]*ANY \(job\.passed\)[^;]*;"), ""),
    ),
    "batches of a task": Mutant(
        "passing_over.gates_and_holds_of_many",
        ("0004", "                  LIMIT most FOR NO KEY UPDATE", "                  FOR NO KEY UPDATE"),
    ),
    "rest of a task": Mutant(
        "passing_over.gates_and_holds_of_many",
        (
            "0004",
            "        INSERT INTO sluice_task_rows (what, detail, spread) VALUES (reason, detail, greatest(spread, interval '0'));\n",
            "        NULL;\n",
        ),
    ),
    "lanes on their way to a pool": Mutant(
        "passing_over.patterns_of_many",
        ("0003", "IF step.moves_lanes AND sluice_pool_of(head.name) <> head.pool THEN", "IF false THEN"),
    ),
    "the pool of an act's lane": Mutant(
        "passing_over.registering_beside_acts",
        ("0004", "WHERE FOUND AND q.queue_id = next_queue", "WHERE false"),
    ),
    "no wait for an act's lane": Mutant(
        "passing_over.registering_beside_acts",
        ("0004", "        INSERT INTO sluice_lane_rows (queue_id, pool)\n        SELECT q.queue_id, sluice_pool_of(q.name)",
         "        LOCK TABLE sluice_pool_rows IN ROW SHARE MODE;\n"
         "        INSERT INTO sluice_lane_rows (queue_id, pool)\n        SELECT q.queue_id, sluice_pool_of(q.name)"),
    ),
    "no wait for who makes a pool": Mutant(
        "passing_over.registering_beside_steps",
        ("0003", "LOCK TABLE sluice_pool_rows IN ROW SHARE MODE NOWAIT;\n        PERFORM", "PERFORM"),
    ),
    "acts that wait for lanes": Mutant(
        "passing_over.an_act_on_two_queues", ("0004", "        PERFORM sluice_await_lanes(queues);\n", "        NULL;\n")
    ),
    "dead workers one by one": Mutant(
        OPEN,
        (
            "0003",
            "        ORDER BY w.epoch FOR UPDATE SKIP LOCKED\n",
            "        ORDER BY w.epoch LIMIT 1 FOR UPDATE SKIP LOCKED\n",
        ),
    ),
    "rest of a clock set back": Mutant(
        "passing_over.a_clock_that_is_set_back",
        ("0003", "INSERT INTO sluice_task_rows (what) VALUES ('clock') ON CONFLICT DO NOTHING;", "NULL;"),
    ),
    "years of a time": Mutant(
        "names.other_values gates_and_holds",
        ("0002", "RETURN at >= timestamptz '0001", "RETURN true OR at >= timestamptz '0001"),
    ),
    "lane lock when taking in": Mutant("step model", ("0003", TAKING_IN, "WHERE l.queue_id = ANY (named)) AS t;")),
    "lane lock when claiming": Mutant(
        "step.locked_lanes model",
        (
            "0003",
            f"ORDER BY l.ready_at LIMIT wanted {LOCK} SKIP LOCKED);",
            "ORDER BY l.ready_at LIMIT wanted);",
        ),
    ),
    "rewind": Mutant(
        "step.schedules",
        ("0003", "rewind = l.rewind OR named_rewinds[width_bucket(l.queue_id, named)]", "rewind = false"),
        (
            "0003",
            "UPDATE sluice_lane_rows AS l SET rewind = true WHERE",
            "UPDATE sluice_lane_rows AS l SET rewind = false WHERE",
        ),
    ),
    "arrival of a locked lane": Mutant(
        "step.locked_lanes",
        ("0003", " AND locked[width_bucket(a.queue_id, locked)] = a.queue_id\n            RETURNING", " RETURNING"),
    ),
    "receipt of its worker": Mutant(
        "step.one_after_the_other",
        ("0003", "WHERE c.claim = ANY (claims) AND c.worker IS NOT DISTINCT FROM me", "WHERE c.claim = ANY (claims)"),
    ),
    # Two guards that cover each other.
    "parking, by arrivals and by heads": Mutant(
        "step.parked_queues",
        ("0003", PARKED_HEAD, "IF head.blocked_by IN ('exhausted', 'expired', 'crashed') THEN"),
        (
            "0003",
            "OR l.blocked_by IN ('unknown kind', 'no route', 'gate', 'hold', 'permit', 'rate'))\n                         THEN",
            "OR true)\n                         THEN",
        ),
    ),
    "parking, by acts and by heads": Mutant(
        "step.parked_queues",
        ("0003", PARKED_HEAD, "IF head.blocked_by IN ('exhausted', 'expired', 'crashed') THEN"),
        (
            "0004",
            "           OR NOT (sluice_parks(l.blocked_by) OR l.blocked_by = 'failing'));",
            "           OR true);",
        ),
    ),
    "isolation of a step": Mutant("step.isolation_of_steps", ("0003", "<> 'read committed'", "= 'none'")),
    "indexes of a step": Mutant(
        "plans.steps", ("0003", re.compile(r"SET enable_seqscan = off[^$]*force_generic_plan"), "")
    ),
    "compiling": Mutant("plans.steps", ("0003", "SET jit = off", "")),
    "next time of all": Mutant(
        "plans.steps", ("0001", "not_before IS NOT NULL AND queue_id IS NOT NULL", "not_before IS NOT NULL")
    ),
    "gate's row in a step": Mutant(
        "gates_and_holds.lanes_put_to_sleep",
        ("0003", "WHERE g.name = gate FOR KEY SHARE SKIP LOCKED;", "WHERE g.name = gate;"),
    ),
    "gate's row when it opens": Mutant(
        "gates_and_holds.lanes_put_to_sleep", ("0004", "WHERE g.name = gate FOR UPDATE;", "WHERE g.name = gate;")
    ),
    "hold's row in a step": Mutant(
        "gates_and_holds.lanes_put_to_sleep",
        ("0003", "WHERE h.id = hold.id FOR KEY SHARE SKIP LOCKED;", "WHERE h.id = hold.id;"),
    ),
    "pool's row in a step": Mutant(
        "gates_and_holds.lanes_put_to_sleep",
        (
            "0003",
            "WHERE p.pool = sluice_sleep_for_route.pool FOR KEY SHARE SKIP LOCKED;",
            "WHERE p.pool = sluice_sleep_for_route.pool;",
        ),
    ),
    "pool's row of a new route": Mutant(
        "gates_and_holds.lanes_put_to_sleep", ("0003", "ORDER BY p.pool FOR UPDATE;", "ORDER BY p.pool;")
    ),
    # Workers
    "share of the worker": Mutant(
        "workers.taking_off_and_stepping",
        ("0003", "AND w.ending IS NULL FOR NO KEY UPDATE OF w;", "AND w.ending IS NULL;"),
    ),
    "late step": Mutant("workers.late_calls", ("0003", "IF step.next_claim < first_claim THEN", "IF false THEN")),
    "late resync": Mutant("workers.late_calls", ("0003", "IF next_claim <= first THEN", "IF false THEN")),
    "step under way before a resync": Mutant(
        "workers.late_calls",
        ("0003", "AND w.ending IS NULL FOR NO KEY UPDATE OF w;", "AND w.ending IS NULL FOR KEY SHARE OF w;"),
    ),
    "new epochs": Mutant(
        "workers.epochs",
        (
            "0003",
            "    INSERT INTO sluice_worker_rows (name, nonce, lease_until, continuous_since)\n    VALUES (",
            "    INSERT INTO sluice_worker_rows (epoch, name, nonce, lease_until, continuous_since)\n"
            "    OVERRIDING SYSTEM VALUE VALUES ((SELECT coalesce(max(epoch), 0) + 1 FROM sluice_worker_rows), ",
        ),
    ),
    "giving back by a resync": Mutant(
        "workers.leaving_and_coming_back",
        (
            "0003",
            "WHERE c.worker = me AND c.claim <> ALL (coalesce(claims, '{}')) AND c.queue_id = ANY (lanes)\n",
            "WHERE false\n",
        ),
    ),
    "deleted action of a lost claim": Mutant(
        "acts_in_steps.acts_on_claims_that_are_lost",
        ("0003", re.compile(r"PERFORM sluice_drop\(ARRAY\[held\.action_id\], false\);(?=\s+RETURN false)"), ""),
    ),
    "cancelled action of a lost claim": Mutant(
        "acts_in_steps.acts_on_claims_that_are_lost",
        ("0003", re.compile(r"(?<=WHERE s\.action_id = a\.id) AND s\.is_cancelled(?=\);\s+IF FOUND)"), " AND false"),
    ),
    "move of a lost claim": Mutant(
        "acts_in_steps.acts_on_claims_that_are_lost",
        ("0003", "IF NOT sluice_carry_out_move(held) THEN", "IF true THEN"),
    ),
    "move of a claim that is given back": Mutant(
        "acts_in_steps.acts_on_claims_that_are_lost",
        ("0003", "PERFORM sluice_carry_out_move(held);\n        END IF;\n    END LOOP", "END IF;\n    END LOOP"),
    ),
    "settled once by the application": Mutant(
        "workers.settling_by_the_application passing_over.a_settling_by_the_application",
        ("0003", "WHERE c.claim = sluice_succeed.claim AND NOT c.is_settled", "WHERE c.claim = sluice_succeed.claim"),
        ("0003", "AND EXISTS (SELECT FROM sluice_action_rows AS a WHERE a.id = c.action_id)", "AND true"),
    ),
    "one trial of the fleet": Mutant(
        "trials.one_worker_tries",
        (
            "0003",
            "WHERE NOT EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.epoch = t.worker AND w.ending IS NULL)\n",
            "WHERE true\n",
        ),
    ),
    "draining for a suspect": Mutant("trials.draining", ("0003", "is_trial := running_now = 0;", "is_trial := true;")),
    "nothing beside a suspect": Mutant(
        "trials.halves trials.beside_a_suspect",
        (
            "0003",
            "        step.drains := true;\n        step.next_due := coalesce(trial.part_until, trial.until);\n",
            "        NULL;\n",
        ),
    ),
    "halves": Mutant(
        "trials.halves",
        (
            "0003",
            "(cardinality(array_positions(levels, levels[1])) + 1) / 2);",
            "cardinality(array_positions(levels, levels[1])));",
        ),
    ),
    "the most suspect first": Mutant(
        "trials.the_most_suspect",
        ("0003", "ORDER BY s.suspicion DESC, s.crashes DESC, k.place) AS t;", "ORDER BY k.place) AS t;"),
    ),
    "end of a group": Mutant(
        "trials.long_suspects", ("0003", "OR (running_now > 0 AND now_at >= trial.part_until) THEN", "OR false THEN")
    ),
    "end of a trial": Mutant(
        "trials.draining", ("0003", "OR now_at NOT BETWEEN trial.since AND trial.until\n", "OR false\n")
    ),
    "untried suspects": Mutant(
        "trials.long_suspects",
        ("0003", "    PERFORM sluice_release_suspects(now_at, now_at);\nEND", "END"),
    ),
    "suspects that nobody tries": Mutant(
        "trials.nobody_tries",
        ("0003", "done := sluice_release_suspects(now_at - trial_limit - interval '1 s', now_at);", "NULL;"),
    ),
    "blame of one alone": Mutant("trials.halves", ("0003", "IF held.trial_size = 1 AND is_trying", "IF is_trying")),
    "blame in a trial": Mutant(
        "trials.long_suspects", ("0003", "IF held.trial_size = 1 AND is_trying", "IF held.trial_size = 1")
    ),
    "who may judge": Mutant(
        "workers.judging", ("0003", " AND w.lease_until > now_at AND w.continuous_since <= now_at - lease);", ");")
    ),
    "suspects": Mutant(
        "workers.suspects",
        ("0003", "is_suspect = l.queue_id = ANY (suspects)", "is_suspect = false"),
        ("0003", "VALUES (held.action_id, true, true)", "VALUES (held.action_id, false, false)"),
        ("0003", "SET is_suspect = true, awaits_trial = true,", "SET"),
    ),
    "size of an answer": Mutant(
        "step.long_answers", ("0003", "OR (step.bytes_left < 0", "OR (false")
    ),
    "rates after a jump": Mutant(
        "step.rates_after_a_jump",
        (
            "0003",
            "UPDATE sluice_rate_rows AS o SET next_at = now_at + r.length",
            "UPDATE sluice_rate_rows AS o SET next_at = o.next_at",
        ),
    ),
    "rows of a publication": Mutant(
        "step.published", ("0001", "ALTER TABLE sluice_route_rows REPLICA IDENTITY FULL;", "")
    ),
    "doorbell that is off": Mutant(
        "enqueue.doorbell", ("0002", "AND current_setting('sluice.doorbell', true) IS DISTINCT FROM 'off'", "")
    ),
    # Operators
    "wait before the lane": Mutant(
        "workers.acts_during_a_settling",
        (
            "0004",
            "    IF NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = action) THEN RETURN; END IF;",
            "    RETURN;",
        ),
    ),
    "claims of many": Mutant("workers.many_cancelled_during_a_settling", ("0004", "FOR SHARE SKIP LOCKED);", ");")),
    "rewind in the lane": Mutant(
        "acts_in_steps.moves",
        (
            "0004",
            "    IF rewinds THEN\n        UPDATE sluice_lane_rows AS l SET rewind = true",
            "    IF false THEN\n        UPDATE sluice_lane_rows AS l SET rewind = true",
        ),
    ),
    "rewind before its arrival": Mutant(
        "acts_in_steps.moves",
        (
            "0004",
            "        UPDATE sluice_lane_rows AS l SET rewind = true WHERE l.queue_id = ANY (queues) AND NOT l.rewind;",
            "        PERFORM sluice_arrive(queues, true);",
        ),
    ),
    "lane lock of an act": Mutant(
        "bulk.during_a_step",
        ("0004", "WHERE l.queue_id = next_queue FOR NO KEY UPDATE;", "WHERE l.queue_id = next_queue;"),
        ("0004", "        PERFORM sluice_await_lanes(queues);\n", "        NULL;\n"),
    ),
    "arrival when waking a locked lane": Mutant("gates_and_holds.gates_and_locks", ("0004", WAKING, "")),
    "waking waits for no lane": Mutant(
        "gates_and_holds.gates_and_locks",
        ("0004", "LIMIT most FOR NO KEY UPDATE SKIP LOCKED);", "LIMIT most FOR NO KEY UPDATE);"),
    ),
    "sparing": Mutant(
        "bulk.failing_queues acts_in_steps.failing_queues",
        (
            "0004",
            "    WHERE l.queue_id = ANY (queues) AND l.blocked_by = 'failing' AND a.id = ANY (actions)",
            "    WHERE false",
        ),
    ),
    "suspicion of a lane": Mutant(
        "bulk.lanes", ("0004", "        is_suspect = EXISTS (", "        is_suspect = l.is_suspect OR EXISTS (")
    ),
    "isolation of an act": Mutant(
        "bulk.during_a_step", ("0004", "NOT IN ('read committed', 'read uncommitted')", "= 'none'")
    ),
    "retry now once": Mutant(
        "bulk.retries",
        ("0004", "(before IS NULL OR l.blocked_at <= before)", "true"),
        ("0004", "(before IS NULL OR s.next_attempt_at - coalesce(s.retry_delay, interval '0') <= before)", "true"),
    ),
    "key of a moved action": Mutant(
        "operators.moves",
        (
            "0003",
            "    UPDATE sluice_key_rows AS k SET queue_id = target WHERE k.action_id = action AND k.until IS NULL;",
            "",
        ),
    ),
    "key that an open transaction has": Mutant(
        "acts_in_steps.keys_that_move",
        ("0003", "EXCEPTION WHEN lock_not_available OR unique_violation THEN", "EXCEPTION WHEN division_by_zero THEN"),
    ),
    "unparking by a cancel": Mutant(
        "operators.cancels",
        ("0004", "    PERFORM sluice_touch(queues, false, waiting);", "    PERFORM sluice_touch(queues, false);"),
    ),
    "crashes before retry now": Mutant("bulk.retries", ("0004", "SET crashes = 0", "SET crashes = s.crashes")),
    "cancelling what was there": Mutant(
        "bulk.cancelling_many", ("0004", "AND a.not_before IS NULL AND a.id <= last", "AND a.not_before IS NULL")
    ),
    "mark of a cancel": Mutant(
        "operators.cancels acts_in_steps.cancels",
        ("0004", "DO UPDATE SET is_cancelled = true", "DO NOTHING"),
        ("0004", "SELECT e.id, true FROM unnest(running)", "SELECT e.id, false FROM unnest(running)"),
    ),
    # Views
    "mark of a DELETE": Mutant(
        "view_edits.deletes",
        (
            "0005",
            "    SELECT c.action_id, true FROM sluice_claim_rows AS c WHERE c.action_id = OLD.id AND NOT c.is_settled;",
            "    SELECT c.action_id, true FROM sluice_claim_rows AS c WHERE false;",
        ),
    ),
    "leases in views": Mutant(
        "statuses.claims_and_failures",
        ("0005", "CROSS JOIN clock WHERE w.lease_until > clock.now AND", "CROSS JOIN clock WHERE"),
    ),
    "worker whose steps fail": Mutant("statuses.refusals", ("0005", " w.refused_at IS NOT NULL,", "")),
    "refused worker without a lease": Mutant(
        "statuses.refusals", ("0005", " AND NOT EXISTS (SELECT FROM living)", "")
    ),
    "refusal forgotten": Mutant("statuses.refusals", ("0003", "OR refused_at IS NOT NULL", "OR false")),
    "rights": Mutant(
        "rights.rights",
        ("0005", "        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made);", "        NULL;"),
    ),
}
