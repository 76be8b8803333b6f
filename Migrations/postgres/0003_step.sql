-- What workers call: register, step, take off, chores. A worker is a process that runs queues; a lane says which worker
-- has a queue. The broker calls sluice_step again and again: it settles attempts, takes in arrivals and claims heads.
--
-- Rules that hold for all functions here:
--   Locks are taken in one order: worker, lanes by queue_id, claims, actions. A step waits for nothing but the lanes of
--   its own receipts; of other rows it takes those that are free (SKIP LOCKED).
--   A step never waits for who waits for lanes: who opens a gate, ends a hold or adds a route locks that row first and
--   wakes the lanes in a later statement. A step that puts a lane to sleep for it locks the same row for sharing.
--   Plans must not depend on statistics, which say that a table is empty whenever it was vacuumed while it was: so
--   = ANY (array), width_bucket in place of a join with unnest, and OFFSET 0, which fixes the order of joins.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Puts a lane to sleep: nobody runs it, and its head is looked at when it is due (NULL: not before something wakes it).
-- low: in the order of arrival, nothing waits up to this id; NULL: unknown. Whoever calls it has the lane's lock, and
-- has looked for the head with a snapshot taken after locking (G11).
CREATE FUNCTION sluice_sleep(queue bigint, due timestamptz, low bigint, cause text DEFAULT NULL,
                             action bigint DEFAULT NULL, error text DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT
AS $$
    UPDATE sluice_lane_rows AS l
    SET worker = NULL, ready_at = due, low_id = coalesce(low, l.low_id), rewind = l.rewind AND low IS NULL,
        blocked_by = cause, blocked_action_id = action, blocked_error = sluice_bounded(error),
        -- Of a queue that waits for the same again, the time stays: its place in a line.
        blocked_at = CASE WHEN cause IS NULL THEN NULL
                          WHEN l.blocked_by = cause AND l.blocked_action_id = action THEN l.blocked_at
                          ELSE sluice_now() END,
        fail_through_id = NULL, fail_key = NULL
    WHERE l.queue_id = queue
$$;

-- Puts a lane to sleep for a gate or a hold that a transaction has locked, which may change it at any time: the lane is
-- looked at again when half as long as it has waited is over, at most five seconds, so that thousands of them do not keep
-- the others from their turns.
CREATE FUNCTION sluice_sleep_for_locked(queue bigint, low bigint, cause text, action bigint, detail text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    now_at CONSTANT timestamptz := sluice_now();
    since timestamptz;
BEGIN
    SELECT l.blocked_at INTO since FROM sluice_lane_rows AS l
    WHERE l.queue_id = queue AND l.blocked_by = cause AND l.blocked_action_id = action AND l.blocked_at <= now_at;
    PERFORM sluice_sleep(queue, now_at + least(greatest((now_at - since) / 2, interval '20 ms'), interval '5 s'), low,
                         cause, action, detail);
END
$$;

-- The number of the advisory lock of a transaction that makes a gate.
CREATE FUNCTION sluice_gate_number(gate text) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
    SELECT hashtextextended(gate, 'sluice_gate_rows'::regclass::oid::bigint)
$$;

-- Makes the row of a closed gate; returns whether it did: not if there is one, or if a transaction makes one and may
-- stay open. It does not wait, as each head of a thousand queues may ask for the gate.
CREATE FUNCTION sluice_make_gate(gate text) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    IF EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = gate)
        OR NOT pg_try_advisory_xact_lock(sluice_gate_number(gate)) THEN
        RETURN false;
    END IF;
    INSERT INTO sluice_gate_rows (name, is_open) VALUES (gate, false) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Puts a lane to sleep until a gate opens. Opening locks the gate's row, then wakes the lanes in a later statement. The
-- lock taken here makes one of the two see the other. It never waits: who opens the gate waits for lanes.
CREATE FUNCTION sluice_sleep_for_gate(queue bigint, low bigint, action bigint, gate text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    open boolean;
BEGIN
    SELECT g.is_open INTO open FROM sluice_gate_rows AS g WHERE g.name = gate FOR KEY SHARE SKIP LOCKED;
    IF open THEN
        PERFORM sluice_sleep(queue, sluice_now() + interval '20 ms', low);
    ELSIF FOUND OR sluice_make_gate(gate) THEN
        PERFORM sluice_sleep(queue, NULL, low, 'gate', action, gate);
    ELSE
        PERFORM sluice_sleep_for_locked(queue, low, 'gate', action, gate);
    END IF;
END
$$;

-- Closes a gate that somebody has opened or closed before for a time; of two ends the later one counts. Never waits: if
-- the row is locked, another worker closes the gate, or it is opened.
CREATE FUNCTION sluice_close_for(gate text, length interval) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    begin_at timestamptz := sluice_now();
    changed timestamptz;
BEGIN
    SELECT g.changed_at INTO changed FROM sluice_gate_rows AS g
    WHERE g.name = gate FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND AND changed IS NOT NULL THEN
        UPDATE sluice_gate_rows AS g
        SET changed_at = CASE WHEN g.is_open THEN begin_at ELSE g.changed_at END, is_open = false,
            opens_at = begin_at + length, closed_for = length
        WHERE g.name = gate AND (g.is_open OR g.opens_at < begin_at + length);
    END IF;
    RETURN EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = gate AND g.changed_at IS NOT NULL);
END
$$;

-- Buries the next actions of a failing queue; returns which, and whether there may be more. Those that sort before the
-- failed action are exempt, and those that were moved or requeued into the queue since.
CREATE FUNCTION sluice_fail_batch(queue bigint, OUT more boolean, OUT behind bigint[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    lane sluice_lane_rows;
BEGIN
    more := false;
    SELECT l.* INTO lane FROM sluice_lane_rows AS l WHERE l.queue_id = queue AND l.blocked_by = 'failing';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    behind := ARRAY(
        SELECT a.id FROM sluice_action_rows AS a
        WHERE a.queue_id = queue AND a.not_before IS NULL
          AND (a.sort_key, a.id) > (lane.fail_key, lane.blocked_action_id) AND a.id <= lane.fail_through_id
          AND NOT EXISTS (SELECT FROM sluice_state_rows AS s
                          WHERE s.action_id = a.id AND s.spared_through >= lane.fail_through_id)
        ORDER BY a.sort_key, a.id LIMIT 1000);
    IF cardinality(behind) < 1000 THEN
        behind := behind || ARRAY(
            SELECT a.id FROM sluice_action_rows AS a
            WHERE a.queue_id = queue AND a.not_before IS NOT NULL
              AND (a.sort_key, a.id) > (lane.fail_key, lane.blocked_action_id) AND a.id <= lane.fail_through_id
              AND NOT EXISTS (SELECT FROM sluice_state_rows AS s
                              WHERE s.action_id = a.id AND s.spared_through >= lane.fail_through_id)
            LIMIT 1000 - cardinality(behind));
    END IF;
    PERFORM sluice_bury(behind, 'behind', lane.blocked_error);
    more := cardinality(behind) = 1000;
    IF more THEN
        RETURN;
    END IF;
    UPDATE sluice_lane_rows AS l
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL, fail_through_id = NULL,
        fail_key = NULL
    WHERE l.queue_id = queue;
END
$$;

-- Applies a failure policy to an action whose attempt has ended, or which may not start. Returns whether the queue goes
-- on; otherwise its lane is parked, or due for the next batch of a failing queue. Returns also what was buried behind it.
CREATE FUNCTION sluice_fail(queue bigint, action bigint, cause text, policy text, error text,
                            OUT goes_on boolean, OUT behind bigint[])
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    batch record;
BEGIN
    goes_on := policy IN ('skip', 'failQueue');
    IF policy = 'failQueue' THEN
        UPDATE sluice_lane_rows AS l
        SET blocked_by = 'failing', blocked_action_id = action, blocked_at = sluice_now(),
            blocked_error = sluice_bounded(error),
            fail_through_id = (SELECT i.last_value FROM sluice_action_rows_id_seq AS i),
            fail_key = (SELECT a.sort_key FROM sluice_action_rows AS a WHERE a.id = action)
        WHERE l.queue_id = queue;
    END IF;
    IF NOT coalesce(goes_on, false) THEN
        goes_on := false;
        PERFORM sluice_sleep(queue, NULL, NULL, cause, action, error);
        RETURN;
    END IF;
    PERFORM sluice_bury(ARRAY[action], cause, error);
    IF policy = 'failQueue' THEN
        batch := sluice_fail_batch(queue);
        behind := batch.behind;
        IF batch.more THEN
            UPDATE sluice_lane_rows AS l SET worker = NULL, ready_at = sluice_now() WHERE l.queue_id = queue;
            goes_on := false;
        END IF;
    END IF;
END
$$;

-- What is told of dead letters.
CREATE FUNCTION sluice_letters(actions bigint[])
RETURNS TABLE (action_id bigint, queue text, kind text, attempts integer, error text)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off
AS $$
    SELECT d.id, q.name, d.kind, d.attempts, d.error
    FROM unnest(actions) AS u (id)
    CROSS JOIN LATERAL (SELECT i.* FROM sluice_dead_rows AS i WHERE i.id = u.id OFFSET 0) AS d
    CROSS JOIN LATERAL (SELECT i.* FROM sluice_queue_rows AS i WHERE i.queue_id = d.queue_id OFFSET 0) AS q
$$;

-- Moves an action's key along to another queue. If another action there has the same key, that one loses it.
CREATE FUNCTION sluice_move_key(action bigint, target bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '10ms'
AS $$
BEGIN
    DELETE FROM sluice_key_rows AS k
    USING sluice_key_rows AS own
    WHERE own.action_id = action AND own.until IS NULL AND k.queue_id = target AND k.key = own.key
      AND k.action_id <> action;
    UPDATE sluice_key_rows AS k SET queue_id = target WHERE k.action_id = action AND k.until IS NULL;
END
$$;

-- Moves an action whose attempt has ended, if it was told to while it ran, and returns whether it was.
CREATE FUNCTION sluice_carry_out_move(held sluice_claim_rows) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    action CONSTANT bigint := held.action_id;
    target CONSTANT bigint := (SELECT s.moves_to FROM sluice_state_rows AS s WHERE s.action_id = held.action_id);
BEGIN
    IF target IS NULL THEN
        RETURN false;
    END IF;
    UPDATE sluice_action_rows AS a SET queue_id = target WHERE a.id = action;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE sluice_state_rows AS s
    SET moves_to = NULL,
        spared_through = (SELECT l.fail_through_id FROM sluice_lane_rows AS l WHERE l.queue_id = target)
    WHERE s.action_id = action;
    IF EXISTS (SELECT FROM sluice_key_rows AS k WHERE k.action_id = action AND k.until IS NULL) THEN
        BEGIN
            PERFORM sluice_move_key(action, target);
        EXCEPTION WHEN lock_not_available OR unique_violation THEN
            -- A transaction that is open, or has just ended, has enqueued an action with this key there, which keeps
            -- it: an act of an operator would wait, but a step must not.
            DELETE FROM sluice_key_rows AS k WHERE k.action_id = action AND k.until IS NULL;
        END;
    END IF;
    PERFORM sluice_arrive(ARRAY[target], true);
    RETURN true;
END
$$;

-- Records an attempt that did not succeed; the newest 50 of an action are kept.
CREATE FUNCTION sluice_record(action bigint, claim bigint, number integer, outcome text, error text,
                              began timestamptz) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT
AS $$
    INSERT INTO sluice_attempt_rows (action_id, claim, number, outcome, error, started_at, ended_at)
    VALUES (action, sluice_record.claim, sluice_record.number, sluice_record.outcome,
            sluice_bounded(coalesce(sluice_record.error, '')), began, sluice_now())
    ON CONFLICT DO NOTHING;
    DELETE FROM sluice_attempt_rows AS t
    WHERE t.action_id = action
      AND t.claim <= (SELECT o.claim FROM sluice_attempt_rows AS o WHERE o.action_id = action
                      ORDER BY o.claim DESC LIMIT 1 OFFSET 50);
$$;

-- Settles an attempt that did not succeed; its claim is deleted, and its lane is locked. Returns whether the lane goes
-- on, whether the action was removed, and what was buried behind it.
CREATE FUNCTION sluice_settle(held sluice_claim_rows, outcome text, delay interval, gate text, closes boolean,
                              error text, cause text, policy text, ended timestamptz,
                              OUT goes_on boolean, OUT removed boolean, OUT behind bigint[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    action bigint := held.action_id;
    state sluice_state_rows;
    gate_opening bigint;
    gate_open boolean := true;
    waits interval := greatest(delay, interval '0');
BEGIN
    goes_on := true;
    removed := false;
    PERFORM FROM sluice_action_rows AS a WHERE a.id = action;
    removed := NOT FOUND;
    SELECT s.* INTO state FROM sluice_state_rows AS s WHERE s.action_id = action;
    IF removed OR state.is_cancelled THEN
        removed := true;
        -- The server is busy, whatever becomes of the action.
        IF closes AND gate IS NOT NULL THEN
            PERFORM sluice_close_for(gate, waits);
        END IF;
        PERFORM sluice_drop(ARRAY[action], false);
        RETURN;
    END IF;
    state.attempts := coalesce(state.attempts, 0);
    CASE
    WHEN outcome IN ('retry', 'release') THEN
        IF outcome = 'retry' THEN
            PERFORM sluice_record(action, held.claim, state.attempts + 1, 'retry', error, held.started_at);
            state.attempts := state.attempts + 1;
        END IF;
        IF gate IS NOT NULL AND closes THEN
            -- A gate that nobody has set is closed already, and nothing opens it: the action waits for the delay.
            IF NOT sluice_close_for(gate, waits) THEN
                gate := NULL;
            END IF;
        ELSIF gate IS NOT NULL THEN
            SELECT g.is_open, g.opening INTO gate_open, gate_opening FROM sluice_gate_rows AS g WHERE g.name = gate;
            waits := CASE WHEN gate_open IS NOT TRUE THEN NULL
                          -- It has opened during the attempt.
                          WHEN gate_opening > held.opening THEN interval '0'
                          ELSE waits END;
            -- A release by an open gate spends no attempt, so nothing else would slow it down.
            IF outcome = 'release' AND waits > interval '0' AND state.is_released THEN
                waits := greatest(waits, least(state.retry_delay * 2, interval '60 s'));
            END IF;
        END IF;
        INSERT INTO sluice_state_rows AS s (action_id, attempts, next_attempt_at, retry_delay, is_released, last_error,
                                            waits_for_gate)
        VALUES (action, state.attempts, ended + waits, waits, outcome = 'release',
                coalesce(sluice_bounded(error), state.last_error), gate)
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET
            attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at,
            retry_delay = excluded.retry_delay, is_released = excluded.is_released, last_error = excluded.last_error,
            waits_for_gate = excluded.waits_for_gate, is_suspect = false, awaits_trial = false, suspicion = 0,
            crashes = 0;
    WHEN outcome = 'stop' THEN
        UPDATE sluice_state_rows AS s SET is_suspect = false, awaits_trial = false, suspicion = 0, crashes = 0
        WHERE s.action_id = action AND (s.is_suspect OR s.crashes > 0);
    WHEN outcome = 'fail' THEN
        PERFORM sluice_record(action, held.claim, state.attempts + 1, cause, error, held.started_at);
        INSERT INTO sluice_state_rows AS s (action_id, attempts, last_error)
        VALUES (action, CASE WHEN cause = 'undecodable' THEN 0 ELSE 1 END, sluice_bounded(error))
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET
            attempts = s.attempts + excluded.attempts, last_error = excluded.last_error, is_suspect = false,
            awaits_trial = false, suspicion = 0, crashes = 0;
        -- An edit during the attempt has replaced what could not be read.
        IF NOT (cause = 'undecodable' AND state.edited_claim IS NOT DISTINCT FROM held.claim)
            AND NOT (policy = 'block' AND state.moves_to IS NOT NULL) THEN
            SELECT f.goes_on, f.behind INTO goes_on, behind
            FROM sluice_fail(held.queue_id, action, cause, policy, error) AS f;
        END IF;
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOutcome',
            MESSAGE = format('%s is not an outcome', outcome),
            HINT = 'Outcomes are success, retry, fail, release and stop.';
    END CASE;
    IF state.moves_to IS NOT NULL THEN
        PERFORM sluice_carry_out_move(held);
    END IF;
END
$$;

-- Whether a worker that lives, other than this one, has a route for a kind in a pool.
CREATE FUNCTION sluice_has_route(pool integer, kind text, besides bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
    SELECT EXISTS (
        SELECT FROM sluice_worker_rows AS w
        JOIN sluice_route_rows AS r ON r.worker = w.epoch
        WHERE w.lease_until > sluice_now() AND w.ending IS NULL AND w.epoch IS DISTINCT FROM besides
          AND r.pool = sluice_has_route.pool
          AND coalesce(r.kind, '') IN (sluice_has_route.kind, ''))
$$;

-- Puts a lane to sleep whose head has no route here; returns whether no other worker has one. A worker that gets a
-- route locks the pool's row, so that one of the two sees the other; here nothing waits for it.
CREATE FUNCTION sluice_sleep_for_route(queue bigint, low bigint, action bigint, pool integer, kind text,
                                       me bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    is_locked boolean;
BEGIN
    BEGIN
        -- A worker that makes a pool has a lock on the table. Nobody waits for it who has lanes.
        LOCK TABLE sluice_pool_rows IN ROW SHARE MODE NOWAIT;
        PERFORM FROM sluice_pool_rows AS p WHERE p.pool = sluice_sleep_for_route.pool FOR KEY SHARE SKIP LOCKED;
        is_locked := NOT FOUND;
    EXCEPTION WHEN lock_not_available THEN
        is_locked := true;
    END;
    IF is_locked OR sluice_has_route(pool, kind, me) THEN
        PERFORM sluice_sleep(queue, sluice_now() + interval '1 s', low);
        RETURN false;
    END IF;
    PERFORM sluice_sleep(queue, NULL, low, 'unknown kind', action);
    RETURN true;
END
$$;

-- Makes the pool of a pattern if there is none: queues that it matches move to it from less specific ones, and so do
-- the routes that workers have for those. Whoever calls it has locked sluice_pool_rows. The lanes move later; until
-- then a step that looks at one moves it.
CREATE FUNCTION sluice_make_pool(pattern text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    made integer;
    -- The pool from which queues move, the most specific one.
    wider integer := (
        SELECT p.pool FROM sluice_pool_rows AS p
        WHERE p.pattern = ANY (sluice_patterns_for(sluice_make_pool.pattern)) AND p.pattern <> sluice_make_pool.pattern
        ORDER BY octet_length(p.pattern) DESC LIMIT 1);
BEGIN
    INSERT INTO sluice_pool_rows (pattern) VALUES (sluice_make_pool.pattern) ON CONFLICT DO NOTHING
    RETURNING pool INTO made;
    IF made IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO sluice_route_rows (worker, route, pool, kind, gates, crash_limit, expired, crashed, rate,
                                   rate_interval, rate_tolerance)
    SELECT r.worker, r.route, made, r.kind, r.gates, r.crash_limit, r.expired, r.crashed, r.rate, r.rate_interval,
           r.rate_tolerance
    FROM sluice_route_rows AS r WHERE r.pool = wider;
    -- A queue that nobody sees yet has no lane, and whoever makes it computes the pool after this.
    INSERT INTO sluice_task_rows (what, detail, pool)
    SELECT 'pool', sluice_make_pool.pattern, made FROM sluice_bounds(sluice_make_pool.pattern) AS b
    WHERE EXISTS (SELECT FROM sluice_queue_rows AS q WHERE q.name >= b.low AND q.name < b.high);
END
$$;

-- Replaces the routes of a worker, and wakes the lanes that may have waited for one. As in the library, a queue has the
-- routes of the most specific pattern, then those of less specific ones for other kinds; a route for any kind hides
-- all that are less specific. It waits for no lane: steps have lanes, and wait for who makes a pool.
CREATE FUNCTION sluice_set_routes(epoch bigint, routes jsonb) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '3s'
AS $$
DECLARE
    pools integer[];
    pattern text;
BEGIN
    PERFORM FROM sluice_worker_rows AS w WHERE w.epoch = sluice_set_routes.epoch AND w.ending IS NULL FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE = 'this worker was taken off',
            HINT = 'Register again: its lease was over, and others run its queues.';
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(routes) AS r (said)
               WHERE NOT EXISTS (SELECT FROM sluice_pool_rows AS p WHERE p.pattern = r.said ->> 'pattern')) THEN
        -- A step that makes a lane has a lock against this, and computes the pool after it.
        LOCK TABLE sluice_pool_rows IN EXCLUSIVE MODE;
        FOR pattern IN SELECT DISTINCT r.said ->> 'pattern' FROM jsonb_array_elements(routes) AS r (said) LOOP
            PERFORM sluice_make_pool(pattern);
        END LOOP;
    END IF;
    DELETE FROM sluice_route_rows AS r WHERE r.worker = sluice_set_routes.epoch;
    WITH said AS MATERIALIZED (
        SELECT (r.said ->> 'route')::integer AS route, r.said ->> 'pattern' AS pattern, r.said ->> 'kind' AS kind,
               ARRAY(SELECT jsonb_array_elements_text(coalesce(r.said -> 'gates', '[]'))) AS gates,
               (r.said ->> 'crashLimit')::integer AS crash_limit,
               coalesce(r.said ->> 'expired', 'skip') AS expired, coalesce(r.said ->> 'crashed', 'block') AS crashed,
               r.said ->> 'rate' AS rate, (r.said ->> 'rateInterval')::interval AS rate_interval,
               (r.said ->> 'rateTolerance')::interval AS rate_tolerance,
               -- Of two patterns that match one name, the greater is more specific.
               CASE WHEN right(r.said ->> 'pattern', 1) = '*' THEN octet_length(r.said ->> 'pattern')
                    ELSE 100000 END AS rank
        FROM jsonb_array_elements(routes) AS r (said)
    ), fitting AS MATERIALIZED (
        -- By the patterns of each pool, not by comparing all with all.
        SELECT p.pool, r.*, max(r.rank) FILTER (WHERE r.kind IS NULL) OVER (PARTITION BY p.pool) AS hides_below
        FROM sluice_pool_rows AS p
        CROSS JOIN LATERAL unnest(sluice_patterns_for(p.pattern)) AS n (pattern)
        JOIN said AS r ON r.pattern = n.pattern
    )
    INSERT INTO sluice_route_rows (worker, route, pool, kind, gates, crash_limit, expired, crashed, rate,
                                   rate_interval, rate_tolerance)
    SELECT DISTINCT ON (r.pool, r.kind)
           sluice_set_routes.epoch, r.route, r.pool, r.kind, r.gates, r.crash_limit, r.expired, r.crashed, r.rate,
           r.rate_interval, r.rate_tolerance
    FROM fitting AS r WHERE r.rank >= coalesce(r.hides_below, 0)
    ORDER BY r.pool, r.kind, r.rank DESC;
    pools := ARRAY(SELECT DISTINCT r.pool FROM sluice_route_rows AS r WHERE r.worker = sluice_set_routes.epoch);
    -- A step that finds no route for a head has this lock while it puts the lane to sleep.
    PERFORM FROM sluice_pool_rows AS p WHERE p.pool = ANY (pools) ORDER BY p.pool FOR UPDATE;
    INSERT INTO sluice_task_rows (what, pool)
    SELECT 'route', p.pool FROM unnest(pools) AS p (pool)
    WHERE EXISTS (SELECT FROM sluice_lane_rows AS l
                  WHERE l.pool = p.pool
                    AND l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate', 'undecodable'));
    -- Most fleets have few of them: no need to wait for the chores.
    PERFORM sluice_do_tasks(sluice_now());
END
$$;

-- Notes that a worker's calls fail, so that all can see it; a step that succeeds forgets it. One that cannot even
-- register, whose epoch is 0, is noted as a worker whose lease is over, which the others take off. Of those the last one
-- is kept: they may be started again and again while nobody can take them off (G12).
CREATE FUNCTION sluice_note_refusal(epoch bigint, name text, nonce bigint, error text) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT SET lock_timeout = '3s' AS $$
    DELETE FROM sluice_worker_rows AS w
    WHERE sluice_note_refusal.epoch = 0 AND w.refusal IS NOT NULL AND w.lease_until = w.continuous_since
      AND w.ending IS NULL;
    INSERT INTO sluice_worker_rows (name, nonce, lease_until, continuous_since, refusal, refused_at)
    SELECT sluice_note_refusal.name, sluice_note_refusal.nonce, t.now, t.now, sluice_note_refusal.error, t.now
    FROM (SELECT sluice_now() AS now OFFSET 0) AS t WHERE sluice_note_refusal.epoch = 0;
    UPDATE sluice_worker_rows AS w
    SET refusal = sluice_note_refusal.error, refused_at = coalesce(w.refused_at, sluice_now())
    WHERE w.epoch = sluice_note_refusal.epoch AND w.ending IS NULL
$$;

-- Adds a worker; returns its epoch, which no other ever has.
CREATE FUNCTION sluice_register(name text, nonce bigint, lease interval, routes jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '3s'
AS $$
DECLARE
    now_at timestamptz := sluice_now();
    me bigint;
BEGIN
    INSERT INTO sluice_worker_rows (name, nonce, lease_until, continuous_since)
    VALUES (sluice_register.name, sluice_register.nonce, now_at + lease, now_at)
    RETURNING epoch INTO me;
    -- A start ends the waits of released heads, as in the file.
    INSERT INTO sluice_task_rows (what, worker)
    SELECT 'released', me WHERE EXISTS (SELECT FROM sluice_state_rows AS s WHERE s.is_released);
    PERFORM sluice_set_routes(me, routes);
    -- The lease counts from when others can see it.
    UPDATE sluice_worker_rows AS w SET lease_until = sluice_now() + lease WHERE w.epoch = me;
    RETURN me;
END
$$;

-- Does a batch of one task; returns how many lanes it has handled. Whoever calls it has locked the task's row.
CREATE FUNCTION sluice_do_task(job sluice_task_rows, most integer, now_at timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    found_lanes bigint[];
    locked bigint[];
    pools integer[];
    bounds record;
BEGIN
    IF job.what IN ('gate', 'hold') THEN
        IF job.what = 'hold' OR EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = job.detail AND g.is_open) THEN
            locked := sluice_wake_some(job.what, job.detail, job.spread, most, now_at);
        END IF;
        IF coalesce(cardinality(locked), 0) < most THEN
            DELETE FROM sluice_task_rows AS t WHERE t.task = job.task;
        END IF;
        RETURN coalesce(cardinality(locked), 0);
    END IF;

    -- Lanes in order, up to where the task has come, and those that were locked before.
    IF job.what = 'route' THEN
        found_lanes := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                             WHERE l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate', 'undecodable')
                               AND l.pool = job.pool AND l.queue_id > job.after ORDER BY l.queue_id LIMIT most);
        job.after := found_lanes[cardinality(found_lanes)];
    ELSIF job.what = 'released' THEN
        SELECT array_agg(DISTINCT s.queue_id), max(s.action_id) INTO found_lanes, job.after
        FROM (SELECT i.action_id, a.queue_id FROM sluice_state_rows AS i
              CROSS JOIN LATERAL (SELECT o.queue_id FROM sluice_action_rows AS o WHERE o.id = i.action_id OFFSET 0) AS a
              WHERE i.is_released AND i.action_id > job.after ORDER BY i.action_id LIMIT most) AS s;
    ELSIF job.what = 'pool' THEN
        SELECT b.low, b.high INTO bounds FROM sluice_bounds(job.detail) AS b;
        SELECT array_agg(q.queue_id), max(q.name) INTO found_lanes, job.after_name
        FROM (SELECT i.queue_id, i.name FROM sluice_queue_rows AS i
              WHERE i.name > job.after_name AND i.name >= bounds.low AND i.name < bounds.high
              ORDER BY i.name LIMIT most) AS q;
        job.after := CASE WHEN found_lanes IS NOT NULL THEN 0 END;
    ELSE
        found_lanes := ARRAY(
            SELECT l.queue_id FROM sluice_lane_rows AS l
            WHERE l.queue_id > job.after
              AND (l.ready_at > now_at
                   OR l.queue_id = ANY (ARRAY(
                       SELECT a.queue_id FROM sluice_state_rows AS s
                       CROSS JOIN LATERAL (SELECT o.queue_id FROM sluice_action_rows AS o
                                           WHERE o.id = s.action_id OFFSET 0) AS a
                       WHERE s.next_attempt_at - s.retry_delay > now_at)))
            ORDER BY l.queue_id LIMIT most);
        job.after := found_lanes[cardinality(found_lanes)];
    END IF;
    found_lanes := coalesce(found_lanes, '{}') || job.passed;
    locked := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (found_lanes)
                    FOR NO KEY UPDATE SKIP LOCKED);
    job.passed := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                        WHERE l.queue_id = ANY (found_lanes) AND l.queue_id <> ALL (locked));

    IF job.what = 'route' THEN
        -- Those that are locked are woken by a step, when their transaction has ended; but that does not unpark.
        PERFORM sluice_arrive(ARRAY(
            SELECT l.queue_id FROM sluice_lane_rows AS l
            WHERE l.queue_id = ANY (job.passed)
              AND l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate')), true);
        job.passed := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                            WHERE l.queue_id = ANY (job.passed) AND l.blocked_by = 'undecodable');
        UPDATE sluice_lane_rows AS l
        SET blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL, ready_at = now_at
        WHERE l.queue_id = ANY (locked) AND l.pool = job.pool
          AND l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate', 'undecodable');
    ELSIF job.what = 'released' THEN
        locked := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                        WHERE l.queue_id = ANY (locked) AND l.worker IS NULL
                          AND l.pool IN (SELECT r.pool FROM sluice_route_rows AS r WHERE r.worker = job.worker));
        UPDATE sluice_state_rows AS s
        SET next_attempt_at = NULL, retry_delay = NULL, waits_for_gate = NULL, is_released = false
        FROM sluice_action_rows AS a
        WHERE s.is_released AND s.action_id <= coalesce(job.after, s.action_id) AND a.id = s.action_id
          AND a.queue_id = ANY (locked);
        UPDATE sluice_lane_rows AS l SET ready_at = now_at
        WHERE l.queue_id = ANY (locked) AND (l.blocked_by IS NULL OR l.blocked_by IN ('gate', 'hold'));
    ELSIF job.what = 'pool' THEN
        SELECT array_agg(q.queue_id ORDER BY q.queue_id), array_agg(sluice_pool_of(q.name) ORDER BY q.queue_id)
        INTO found_lanes, pools
        FROM sluice_queue_rows AS q WHERE q.queue_id = ANY (found_lanes);
        UPDATE sluice_lane_rows AS l SET pool = pools[width_bucket(l.queue_id, found_lanes)]
        WHERE l.queue_id = ANY (locked) AND l.pool <> pools[width_bucket(l.queue_id, found_lanes)];
        -- A row that an enqueue has locked stays: the lane's pool counts, and the next one is computed again.
        UPDATE sluice_queue_rows AS q SET pool = pools[width_bucket(q.queue_id, found_lanes)]
        WHERE q.queue_id = ANY (ARRAY(SELECT o.queue_id FROM sluice_queue_rows AS o
                                      WHERE o.queue_id = ANY (found_lanes)
                                        AND o.pool <> pools[width_bucket(o.queue_id, found_lanes)]
                                      FOR NO KEY UPDATE SKIP LOCKED));
    ELSE
        UPDATE sluice_state_rows AS s SET next_attempt_at = now_at + s.retry_delay
        FROM sluice_action_rows AS a
        WHERE s.next_attempt_at - s.retry_delay > now_at AND a.id = s.action_id AND a.queue_id = ANY (locked);
        UPDATE sluice_lane_rows AS l SET ready_at = now_at
        WHERE l.queue_id = ANY (locked) AND l.worker IS NULL AND l.ready_at > now_at;
    END IF;
    IF job.after IS NULL AND job.passed = '{}' THEN
        DELETE FROM sluice_task_rows AS t WHERE t.task = job.task;
    ELSE
        UPDATE sluice_task_rows AS t
        SET after = coalesce(job.after, 9223372036854775807),
            after_name = coalesce(job.after_name, chr(1114111)), passed = job.passed
        WHERE t.task = job.task;
    END IF;
    RETURN cardinality(locked);
END
$$;

-- Does tasks until about a thousand lanes are handled; returns how many were, or 1 if a task has ended. One whose lanes
-- are all locked keeps no other.
CREATE FUNCTION sluice_do_tasks(now_at timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT integer := 1000;
    job sluice_task_rows;
    done integer := 0;
    before integer;
BEGIN
    FOR job IN SELECT t.* FROM sluice_task_rows AS t ORDER BY t.task FOR UPDATE SKIP LOCKED LOOP
        done := done + sluice_do_task(job, most - done, now_at);
        IF NOT EXISTS (SELECT FROM sluice_task_rows AS t WHERE t.task = job.task) THEN
            done := done + 1;
        END IF;
        EXIT WHEN done >= most;
    END LOOP;
    RETURN done;
END
$$;

-- Makes the lanes of queues that have none, and returns those that it has made; NULL if it would have to wait, for a
-- worker that makes a pool, or for a transaction that makes one of the lanes and may stay open.
CREATE FUNCTION sluice_make_lanes(queues bigint[], now_at timestamptz) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '2ms'
AS $$
DECLARE
    made bigint[];
BEGIN
    -- A worker that makes a pool moves the lanes that are there, and waits for them.
    LOCK TABLE sluice_pool_rows IN ROW SHARE MODE NOWAIT;
    WITH made AS (
        INSERT INTO sluice_lane_rows (queue_id, pool, ready_at)
        SELECT q.queue_id, sluice_pool_of(q.name), now_at
        FROM sluice_queue_rows AS q WHERE q.queue_id = ANY (queues) ORDER BY q.queue_id
        ON CONFLICT ON CONSTRAINT sluice_lane_rows_pkey DO NOTHING
        RETURNING queue_id)
    SELECT coalesce(array_agg(m.queue_id), '{}') INTO made FROM made AS m;
    RETURN made;
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END
$$;

-- Takes in up to 1,000 arrivals from a block of the table on: wakes their lanes, and makes those that are missing.
-- Queues whose lane is locked are passed over and count for nothing, and their arrivals stay for a later step: who has
-- locked one queue keeps no other from being seen. Taking an arrival in needs the lane's lock, and so does giving a
-- lane back as empty: so either that look sees the action, or the arrival is still there (G11). Returns the block from
-- which the next step reads, NULL if there was no arrival; and whether there may be more.
CREATE FUNCTION sluice_take_arrivals(arrivals_from integer, now_at timestamptz,
                                     OUT first_block integer, OUT more boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT integer := 1000;
    start tid := format('(%s,0)', arrivals_from)::tid;
    places tid[];
    arrived bigint[];
    gone_lanes bigint[];
    gone_rewinds boolean[];
    named bigint[];
    named_rewinds boolean[];
    missing bigint[];
    locked bigint[];
    made bigint[];
    queue bigint;
    passed bigint[] := '{}';
    taken integer := 0;
BEGIN
    more := true;
    -- Each round passes over the queues that were locked in those before. The next step goes on where this one stops.
    FOR round IN 1 .. 10 LOOP
        SELECT array_agg(t.place), array_agg(t.queue_id) INTO places, arrived
        FROM (SELECT a.ctid AS place, a.queue_id FROM sluice_arrival_rows AS a
              WHERE a.ctid > start AND passed[width_bucket(a.queue_id, passed)] IS DISTINCT FROM a.queue_id
              LIMIT most - taken) AS t;
        IF places IS NULL THEN
            more := false;
            EXIT;
        END IF;
        -- Arrivals that are left stay in sight, unless they are so many that they fill a round.
        IF round = 1 THEN
            first_block := split_part(ltrim(places[1]::text, '('), ',', 1)::integer;
        ELSE
            first_block := split_part(ltrim(start::text, '('), ',', 1)::integer;
        END IF;
        start := places[cardinality(places)];
        named := ARRAY(SELECT DISTINCT n FROM unnest(arrived) AS n ORDER BY n);
        -- Lanes that others have locked are missing here.
        SELECT array_agg(t.queue_id) INTO locked
        FROM (SELECT l.queue_id FROM sluice_lane_rows AS l
              WHERE l.queue_id = ANY (named) FOR NO KEY UPDATE SKIP LOCKED) AS t;
        locked := coalesce(locked, '{}');
        IF cardinality(locked) < cardinality(named) THEN
            missing := ARRAY(SELECT n FROM unnest(named) AS n
                             EXCEPT SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (named)
                             ORDER BY 1);
            IF cardinality(missing) > 0 THEN
                made := sluice_make_lanes(missing, now_at);
                IF made IS NULL THEN
                    -- One by one, some in each step, and not the same in each: many savepoints slow all other
                    -- transactions down, and some of these lanes may be made by a transaction that stays open.
                    FOREACH queue IN ARRAY ARRAY(SELECT m FROM unnest(missing) AS m ORDER BY random() LIMIT 30) LOOP
                        made := made || sluice_make_lanes(ARRAY[queue], now_at);
                    END LOOP;
                END IF;
                locked := locked || made;
            END IF;
        END IF;
        locked := ARRAY(SELECT k FROM unnest(locked) AS k ORDER BY k);
        -- Only what is deleted here is taken in: another step may have had it before the lanes were locked, and its
        -- place may have another arrival. width_bucket is a binary search: a join with unnest could be planned the
        -- wrong way around while the table's statistics say that it is empty.
        WITH gone AS (
            DELETE FROM sluice_arrival_rows AS a
            WHERE a.ctid = ANY (places) AND locked[width_bucket(a.queue_id, locked)] = a.queue_id
            RETURNING a.queue_id, a.rewind)
        SELECT array_agg(g.queue_id), array_agg(g.rewind) INTO gone_lanes, gone_rewinds FROM gone AS g;
        taken := taken + coalesce(cardinality(gone_lanes), 0);
        SELECT array_agg(t.queue_id), array_agg(t.rewind) INTO named, named_rewinds
        FROM (SELECT u.queue_id, bool_or(u.rewind) AS rewind
              FROM unnest(gone_lanes, gone_rewinds) AS u (queue_id, rewind)
              GROUP BY u.queue_id ORDER BY u.queue_id) AS t;
        -- What parks a queue stays. In the order of arrival, a new action does not change the head, and what the head
        -- waits for still holds; with another order it may be the head.
        UPDATE sluice_lane_rows AS l
        SET ready_at = CASE WHEN l.worker IS NULL
                             AND (l.blocked_by IS NULL
                                  OR l.blocked_by IN ('unknown kind', 'no route', 'gate', 'hold', 'permit', 'rate'))
                             THEN least(l.ready_at, now_at) ELSE l.ready_at END,
            rewind = l.rewind OR named_rewinds[width_bucket(l.queue_id, named)]
        WHERE l.queue_id = ANY (named)
          AND (named_rewinds[width_bucket(l.queue_id, named)]
               OR (l.worker IS NULL
                   AND ((l.ready_at IS NULL AND l.blocked_by IS NULL)
                        OR (SELECT q.sort_type FROM sluice_queue_rows AS q
                            WHERE q.queue_id = l.queue_id) <> 'arrival')));
        EXIT WHEN taken >= most;
        passed := ARRAY(SELECT DISTINCT p FROM unnest(passed || arrived) AS p
                        WHERE locked[width_bucket(p, locked)] IS DISTINCT FROM p ORDER BY p);
    END LOOP;
END
$$;

-- Counts a start by a rate limit, if it allows one now. The algorithm is GCRA, as in the file: a limit is one time, to
-- which each start adds the interval. Never waits: while another step has the limit, the queue waits in line.
CREATE FUNCTION sluice_start_by_rate(name text, rate_interval interval, tolerance interval, is_forced boolean,
                                     now_at timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    stored timestamptz;
BEGIN
    SELECT r.next_at INTO stored FROM sluice_rate_rows AS r
    WHERE r.name = sluice_start_by_rate.name FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO sluice_rate_rows (name, next_at) VALUES (sluice_start_by_rate.name, now_at) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN is_forced;
        END IF;
        stored := now_at;
    END IF;
    -- No start sets it further ahead; the clock may have been set back since (G8).
    stored := greatest(least(stored, now_at + tolerance + rate_interval), now_at);
    IF stored - now_at > tolerance AND NOT is_forced THEN
        UPDATE sluice_rate_rows AS r SET next_at = stored
        WHERE r.name = sluice_start_by_rate.name AND r.next_at > stored;
        RETURN false;
    END IF;
    UPDATE sluice_rate_rows AS r SET next_at = stored + rate_interval WHERE r.name = sluice_start_by_rate.name;
    RETURN true;
END
$$;

-- Locks lanes that wait for a permit of a route, or for a rate limit, as many as may start now; the longest waiting
-- first.
CREATE FUNCTION sluice_take_from_lines(me bigint, permit_routes integer[], permits integer[], free integer,
                                       now_at timestamptz) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    taken bigint[] := '{}';
BEGIN
    IF EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.blocked_by = 'permit') THEN
        taken := ARRAY(
            SELECT t.queue_id
            FROM sluice_route_rows AS r
            CROSS JOIN LATERAL (
                SELECT l.queue_id FROM sluice_lane_rows AS l
                WHERE l.blocked_by = 'permit' AND l.blocked_error = r.pool || ' ' || coalesce(r.kind, '')
                  AND l.worker IS NULL AND l.ready_at IS NULL
                ORDER BY l.blocked_at
                LIMIT least(free, greatest(0, coalesce(permits[array_position(permit_routes, r.route)], free)))
                FOR NO KEY UPDATE SKIP LOCKED) AS t
            WHERE r.worker = me);
    END IF;
    IF EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.blocked_by = 'rate') THEN
        -- The clock was set back: no start sets a limit further ahead.
        UPDATE sluice_rate_rows AS o SET next_at = now_at + r.length
        FROM (SELECT i.rate, max(i.rate_interval + i.rate_tolerance) AS length FROM sluice_route_rows AS i
              WHERE i.worker = me AND i.rate IS NOT NULL GROUP BY i.rate) AS r
        WHERE o.name = r.rate AND o.next_at > now_at + r.length
          AND o.name = ANY (ARRAY(SELECT s.name FROM sluice_rate_rows AS s
                                  WHERE s.next_at > now_at FOR NO KEY UPDATE SKIP LOCKED));
        taken := taken || ARRAY(
            SELECT t.queue_id
            FROM (SELECT r.rate, min(r.rate_interval) AS length, min(r.rate_tolerance) AS tolerance
                  FROM sluice_route_rows AS r WHERE r.worker = me AND r.rate IS NOT NULL GROUP BY r.rate) AS r
            CROSS JOIN LATERAL (
                SELECT l.queue_id FROM sluice_lane_rows AS l
                WHERE l.blocked_by = 'rate' AND l.blocked_error = r.rate AND l.worker IS NULL AND l.ready_at IS NULL
                ORDER BY l.blocked_at
                LIMIT least(free, sluice_starts_left(r.rate, r.length, r.tolerance, now_at))
                FOR NO KEY UPDATE SKIP LOCKED) AS t);
    END IF;
    RETURN taken[1 : free];
END
$$;

-- How many starts a rate limit allows now.
CREATE FUNCTION sluice_starts_left(name text, rate_interval interval, tolerance interval,
                                   now_at timestamptz) RETURNS integer
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
    SELECT least(10000, greatest(0, 1 + floor(
        extract(epoch FROM tolerance - greatest(interval '0',
            coalesce((SELECT least(r.next_at, now_at + tolerance + rate_interval) FROM sluice_rate_rows AS r
                      WHERE r.name = sluice_starts_left.name), now_at) - now_at))
        / greatest(0.000001, extract(epoch FROM rate_interval)))))::integer
$$;

-- When something is due next for a worker; NULL: nothing is known. At the time, call sluice_chores, then step.
CREATE FUNCTION sluice_next_due(me bigint, pools integer[]) RETURNS timestamptz
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    soon CONSTANT timestamptz := sluice_now() + interval '20 ms';
    due timestamptz;
BEGIN
    due := least(
        (SELECT min(l.ready_at) FROM unnest(pools) AS p (pool)
         CROSS JOIN LATERAL (SELECT i.ready_at FROM sluice_lane_rows AS i
                             WHERE i.pool = p.pool AND i.worker IS NULL AND i.ready_at IS NOT NULL AND NOT i.is_suspect
                             ORDER BY i.ready_at LIMIT 1) AS l),
        (SELECT l.ready_at FROM sluice_lane_rows AS l WHERE l.worker IS NULL AND l.ready_at IS NOT NULL AND l.is_suspect
         ORDER BY l.ready_at LIMIT 1),
        (SELECT a.not_before FROM sluice_action_rows AS a WHERE a.not_before IS NOT NULL
         ORDER BY a.not_before LIMIT 1),
        (SELECT g.opens_at FROM sluice_gate_rows AS g WHERE g.opens_at IS NOT NULL ORDER BY g.opens_at LIMIT 1));
    IF EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.blocked_by = 'rate') THEN
        due := least(due, (SELECT min(o.next_at - r.rate_tolerance) FROM sluice_route_rows AS r
                           JOIN sluice_rate_rows AS o ON o.name = r.rate
                           WHERE r.worker = me
                             AND EXISTS (SELECT FROM sluice_lane_rows AS l
                                         WHERE l.blocked_by = 'rate' AND l.blocked_error = r.rate)));
    END IF;
    -- What is due and was not taken is locked, or waits for the chores.
    RETURN greatest(due, CASE WHEN due IS NOT NULL THEN soon END);
END
$$;

-- Locks the lanes of the suspects that are tried next: half of the most suspect, at most so many. size: how many that
-- are. is_long: it is a single one, whose worker was taken off while it ran alone. A lane whose head waits for no trial
-- any more is ready like others.
CREATE FUNCTION sluice_take_suspects(pools integer[], most integer, now_at timestamptz,
                                     OUT lanes bigint[], OUT size integer, OUT is_long boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    locked bigint[];
    levels integer[];
    crashed integer[];
BEGIN
    locked := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                    WHERE l.worker IS NULL AND l.ready_at <= now_at AND l.is_suspect AND l.pool = ANY (pools)
                    ORDER BY l.ready_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
    SELECT array_agg(t.queue_id), array_agg(t.suspicion), array_agg(t.crashes) INTO lanes, levels, crashed
    FROM (SELECT k.queue_id, s.suspicion, s.crashes
          FROM unnest(locked) WITH ORDINALITY AS k (queue_id, place)
          CROSS JOIN LATERAL (SELECT i.id FROM sluice_action_rows AS i
                              WHERE i.queue_id = k.queue_id AND i.not_before IS NULL
                              ORDER BY i.sort_key, i.id LIMIT 1) AS a
          CROSS JOIN LATERAL (SELECT i.* FROM sluice_state_rows AS i WHERE i.action_id = a.id OFFSET 0) AS s
          WHERE s.awaits_trial
          ORDER BY s.suspicion DESC, s.crashes DESC, k.place) AS t;
    lanes := coalesce(lanes, '{}');
    UPDATE sluice_lane_rows AS l SET is_suspect = false
    WHERE l.queue_id = ANY (locked) AND l.queue_id <> ALL (lanes);
    size := least(most, (cardinality(array_positions(levels, levels[1])) + 1) / 2);
    lanes := lanes[1 : size];
    is_long := size = 1 AND crashed[1] > 0;
END
$$;

-- Has suspects that were ready by some time start like others; they stay suspects. Returns how many.
CREATE FUNCTION sluice_release_suspects(ready_by timestamptz, now_at timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    lanes bigint[] := ARRAY(
        SELECT l.queue_id FROM sluice_lane_rows AS l
        WHERE l.worker IS NULL AND l.ready_at <= least(ready_by, now_at) AND l.is_suspect
        ORDER BY l.ready_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(lanes) = 0 THEN
        RETURN 0;
    END IF;
    UPDATE sluice_state_rows AS s SET awaits_trial = false
    WHERE s.awaits_trial AND s.action_id = ANY (ARRAY(
        SELECT a.id FROM unnest(lanes) AS n (queue_id)
        CROSS JOIN LATERAL (SELECT i.id FROM sluice_action_rows AS i
                            WHERE i.queue_id = n.queue_id AND i.not_before IS NULL
                            ORDER BY i.sort_key, i.id LIMIT 1) AS a));
    UPDATE sluice_lane_rows AS l SET is_suspect = false WHERE l.queue_id = ANY (lanes);
    RETURN cardinality(lanes);
END
$$;

-- Ends the trial of a worker. What runs has not killed its worker, and is suspected less; what was not tried starts
-- like others, and stays a suspect. One whose queue is locked stays one too.
CREATE FUNCTION sluice_end_trial(me bigint, now_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    lanes bigint[] := ARRAY(
        SELECT l.queue_id FROM sluice_lane_rows AS l
        WHERE l.queue_id = ANY (ARRAY(SELECT c.queue_id FROM sluice_claim_rows AS c
                                      WHERE c.worker = me AND c.trial_size > 0))
        FOR NO KEY UPDATE SKIP LOCKED);
BEGIN
    UPDATE sluice_state_rows AS s
    SET is_suspect = false, awaits_trial = false, crashes = 0, suspicion = s.suspicion - 1
    WHERE s.awaits_trial
      AND s.action_id = ANY (ARRAY(SELECT c.action_id FROM sluice_claim_rows AS c
                                   WHERE c.worker = me AND c.trial_size > 0 AND c.queue_id = ANY (lanes)));
    UPDATE sluice_trial_rows AS t SET worker = NULL WHERE t.worker = me;
    PERFORM sluice_release_suspects(now_at, now_at);
END
$$;

-- Settles attempts, takes in arrivals, and claims heads, in one call.
--
-- claims to policies, one element for each receipt (NULL for an array: NULL for all): outcomes success, retry, fail,
-- release and stop; the delay and the gate of a wait; closes: the gate is closed for the delay; the error; of a failure
-- the cause (failed, exhausted, undecodable) and the policy (skip, block, failQueue). routes and permits: the routes
-- with a limit of their own, and how many more actions of each may start. free: how many actions this worker may run in
-- addition to those that it runs and has no receipt for. next_claim: the number of the first new claim; those that
-- follow have the following ones. waits: the worker will listen if nothing is to be done. arrivals_from: version of the
-- row 'next' of the call before; 0 once a second, so that blocks are found that were free and are used again.
-- most_bytes: how long the payloads of the answer may be together; one action is claimed however long it is.
-- trial_limit: for how long suspects are tried after a death, while this worker runs nothing else; 0: not at all.
--
-- Rows, by what:
--   settled, removed, byApplication, stale: one for each receipt, with its claim. removed: the action was cancelled or
--       deleted. stale: the claim is gone, and nothing was written.
--   busy: another transaction has locked the queue, perhaps for long; nothing was written. Send the receipt again.
--   editLost: a success whose attempt had not seen an edit, in addition.
--   claimed: an action to run. follows: the receipt's claim whose queue goes on.
--   failed: an action that may not start any more: its time is over, or it has ended too many workers; with cause and
--       policy. unrouted: one for whose kind there is no route, so that its queue waits. behind: one that became a
--       dead letter with its whole queue.
--   cancel: a claim of this worker that was cancelled; in each step until it is settled.
--   next: always, and last. due_at: when something is due; the time of the step if there is more now; NULL if
--       nothing is known. enqueued_at: the time of the step, so that a caller needs no clock that agrees.
-- Each statement has a snapshot of its own, and its condition one usable index. The order is part of the guarantees:
-- the worker's row first, so that nobody takes the worker off meanwhile (G6); then lanes; heads are read after locking.
CREATE FUNCTION sluice_step(
    epoch bigint, lease interval, claims bigint[], outcomes text[], delays interval[], gates text[], closes boolean[],
    errors text[], causes text[], policies text[], routes integer[], permits integer[], free integer,
    next_claim bigint, waits boolean, arrivals_from integer DEFAULT 0, trial_limit interval DEFAULT '5 s',
    most_bytes bigint DEFAULT 16777216)
RETURNS TABLE (what text, claim bigint, follows bigint, action_id bigint, queue_id bigint, queue text, kind text,
               version integer, payload text, trace text, nonce bigint, enqueued_at timestamptz, attempts integer,
               last_error text, is_alone boolean, route integer, due_at timestamptz, cause text, policy text)
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '1s' SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_memoize = off
    SET plan_cache_mode = force_generic_plan
AS $$
-- The columns of the result have the names of the tables' columns; variables end in what no column does.
#variable_conflict use_column
DECLARE
    now_at CONSTANT timestamptz := sluice_now();
    me CONSTANT bigint := epoch;
    lease_length CONSTANT interval := lease;
    free_left integer := free;
    next_number bigint := next_claim;
    permit_routes CONSTANT integer[] := coalesce(routes, '{}');
    permits_left integer[] := permits;
    worker_row record;
    receipt record;
    head record;
    held sluice_claim_rows;
    end_of record;
    -- Settled receipts: successes, and the lanes that go on.
    done_claims bigint[] := '{}';
    done_actions bigint[] := '{}';
    found_actions bigint[];
    edited_actions bigint[];
    others sluice_claim_rows[] := '{}';
    other_places integer[] := '{}';
    seen_places integer := 0;
    sorted_claims bigint[];
    sorted_places integer[];
    kept_lanes bigint[] := '{}';
    kept_lows bigint[] := '{}';
    kept_claims bigint[] := '{}';
    kept_turns integer[] := '{}';
    -- The lanes whose heads are looked at, what nothing waits up to in each, the claim that each follows, its turn.
    look_lanes bigint[];
    locked_lanes bigint[];
    look_lows bigint[];
    look_claims bigint[];
    look_turns integer[];
    over_lanes bigint[] := '{}';
    over_lows bigint[] := '{}';
    over_claims bigint[] := '{}';
    -- What this step writes for many at once.
    new_claims bigint[] := '{}';
    new_actions bigint[] := '{}';
    new_queues bigint[] := '{}';
    new_terms bigint[] := '{}';
    new_turns integer[] := '{}';
    taken_lanes bigint[] := '{}';
    empty_lanes bigint[] := '{}';
    empty_lows bigint[] := '{}';
    behind_actions bigint[] := '{}';
    back_lanes bigint[] := '{}';
    back_lows bigint[] := '{}';
    pools_now integer[];
    lines text[];
    any_hold boolean;
    moves_lanes boolean;
    last_opening bigint;
    hold_row record;
    gate_name text;
    place_now integer;
    first_block integer;
    more boolean := false;
    arrivals record;
    phase integer;
    wanted integer;
    share_pools integer[];
    shares integer[];
    found_lanes bigint[];
    trial sluice_trial_rows;
    -- This step starts suspects; the worker starts nothing, as suspects run or it waits for the end of others.
    is_trial boolean := false;
    drains boolean := false;
    running_now integer;
    oldest_start timestamptz;
    suspect_lanes bigint[];
    -- How many suspects this step starts together.
    group_size integer := 0;
    is_long boolean;
    low_id_now bigint;
    bytes_left bigint := most_bytes;
    -- The answer is as long as it may be.
    is_full boolean := false;
    next_due timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'SL005',
            MESSAGE = 'sluice_step needs the isolation level READ COMMITTED: set default_transaction_isolation for the role',
            HINT = 'Each of its statements needs a new snapshot. The setting may be that of the role or of the database.';
    END IF;

    -- 1. The worker. The lock keeps it from being taken off until this has committed, and a resync waits for it.
    SELECT w.lease_until, w.continuous_since, w.waits, w.first_claim, w.refused_at,
           ARRAY(SELECT DISTINCT r.pool FROM sluice_route_rows AS r WHERE r.worker = me) AS pools,
           EXISTS (SELECT FROM sluice_hold_rows) AS any_hold,
           EXISTS (SELECT FROM sluice_task_rows AS t WHERE t.what = 'pool') AS moves_lanes,
           coalesce((SELECT max(g.opening) FROM sluice_gate_rows AS g), 0) AS opening
    INTO worker_row
    FROM sluice_worker_rows AS w WHERE w.epoch = me AND w.ending IS NULL FOR NO KEY UPDATE OF w;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE = 'this worker was taken off',
            HINT = 'Register again: its lease was over, and others run its queues.';
    END IF;
    IF next_claim < worker_row.first_claim THEN
        RAISE EXCEPTION USING ERRCODE = 'SL004', DETAIL = 'lateCall',
            MESSAGE = 'this step comes after a resync of its worker',
            HINT = 'Its worker has given it up, and would not know of the claims.';
    END IF;
    pools_now := worker_row.pools;
    any_hold := worker_row.any_hold;
    moves_lanes := worker_row.moves_lanes;
    last_opening := worker_row.opening;
    -- Renewed often enough that five sixths are left after each step: the broker stops its handlers when it has had no
    -- answer for two thirds of the lease, and does not know which step has renewed it.
    IF worker_row.lease_until - now_at NOT BETWEEN lease_length * 5 / 6 AND lease_length + interval '1 s'
        OR worker_row.refused_at IS NOT NULL THEN
        UPDATE sluice_worker_rows AS w
        SET lease_until = now_at + lease_length, refusal = NULL, refused_at = NULL,
            continuous_since = CASE
                WHEN w.lease_until <= now_at THEN now_at
                -- The clock was set back; see sluice_chores.
                WHEN w.lease_until > now_at + lease_length + interval '1 s' THEN 'infinity'
                ELSE w.continuous_since END
        WHERE w.epoch = me;
    END IF;

    IF cardinality(claims) > 0 THEN
        -- 2. The lanes of the receipts. One that is locked is left for a later step: its transaction may stay open.
        look_lanes := ARRAY(SELECT c.queue_id FROM sluice_claim_rows AS c WHERE c.claim = ANY (claims));
        locked_lanes := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (look_lanes)
                              ORDER BY l.queue_id FOR NO KEY UPDATE SKIP LOCKED);
        IF cardinality(locked_lanes) < cardinality(look_lanes) THEN
            FOR receipt IN
                SELECT c.claim FROM sluice_claim_rows AS c
                WHERE c.claim = ANY (claims) AND c.queue_id <> ALL (locked_lanes)
            LOOP
                what := 'busy';
                claim := receipt.claim;
                RETURN NEXT;
                claims[array_position(claims, receipt.claim)] := NULL;
            END LOOP;
        END IF;

        -- 3. Their claims. What is not returned is stale (G6).
        SELECT array_agg(i.claim ORDER BY i.claim), array_agg(i.place::integer ORDER BY i.claim)
        INTO sorted_claims, sorted_places
        FROM unnest(claims) WITH ORDINALITY AS i (claim, place) WHERE i.claim IS NOT NULL;
        FOR receipt IN
            WITH gone AS (
                DELETE FROM sluice_claim_rows AS c
                WHERE c.claim = ANY (claims) AND c.worker IS NOT DISTINCT FROM me
                RETURNING sorted_places[width_bucket(c.claim, sorted_claims)] AS place, c AS held,
                          c.turn + greatest(1, least(16, extract(epoch FROM now_at - c.started_at) * 320))::integer
                          AS turn)
            SELECT g.* FROM gone AS g
        LOOP
            seen_places := seen_places + 1;
            held := receipt.held;
            kept_lanes := kept_lanes || held.queue_id;
            kept_claims := kept_claims || held.claim;
            kept_turns := kept_turns || receipt.turn;
            kept_lows := kept_lows || held.action_id;
            IF held.is_settled THEN
                what := 'byApplication';
                claim := held.claim;
                RETURN NEXT;
            ELSIF outcomes[receipt.place] = 'success' THEN
                done_claims := done_claims || held.claim;
                done_actions := done_actions || held.action_id;
            ELSE
                others := others || held;
                other_places := other_places || receipt.place;
            END IF;
        END LOOP;
        IF seen_places < cardinality(claims) THEN
            FOR receipt IN
                SELECT i.claim FROM unnest(claims) AS i (claim)
                WHERE i.claim IS NOT NULL AND i.claim <> ALL (kept_claims)
            LOOP
                what := 'stale';
                claim := receipt.claim;
                RETURN NEXT;
            END LOOP;
        END IF;

        -- 4. By outcome.
        IF cardinality(done_actions) > 0 THEN
            WITH gone AS (DELETE FROM sluice_action_rows AS a WHERE a.id = ANY (done_actions) RETURNING a.id)
            SELECT array_agg(g.id) INTO found_actions FROM gone AS g;
            WITH gone AS (DELETE FROM sluice_state_rows AS s WHERE s.action_id = ANY (done_actions)
                          RETURNING s.action_id, s.edited_claim)
            SELECT array_agg(g.edited_claim) INTO edited_actions FROM gone AS g;
            IF edited_actions IS NOT NULL THEN
                DELETE FROM sluice_attempt_rows AS t WHERE t.action_id = ANY (done_actions);
            END IF;
            UPDATE sluice_key_rows AS k SET until = now_at + k.keep, has_succeeded = true
            WHERE k.action_id = ANY (done_actions);
            FOR place_now IN 1 .. cardinality(done_claims) LOOP
                what := 'settled';
                IF cardinality(found_actions) IS DISTINCT FROM cardinality(done_actions)
                    AND (found_actions IS NULL OR done_actions[place_now] <> ALL (found_actions)) THEN
                    what := 'removed';
                END IF;
                claim := done_claims[place_now];
                RETURN NEXT;
                IF edited_actions IS NOT NULL AND claim = ANY (edited_actions) THEN
                    what := 'editLost';
                    RETURN NEXT;
                END IF;
            END LOOP;
        END IF;
        FOR place_now IN 1 .. cardinality(others) LOOP
            held := others[place_now];
            SELECT e.* INTO end_of
            FROM sluice_settle(held, outcomes[other_places[place_now]], delays[other_places[place_now]],
                               gates[other_places[place_now]], closes[other_places[place_now]],
                               errors[other_places[place_now]], causes[other_places[place_now]],
                               policies[other_places[place_now]], now_at) AS e;
            behind_actions := behind_actions || end_of.behind;
            what := CASE WHEN end_of.removed THEN 'removed' ELSE 'settled' END;
            claim := held.claim;
            RETURN NEXT;
            IF end_of.goes_on THEN
                -- The action may still be the head.
                kept_lows[array_position(kept_claims, held.claim)] := held.action_id - 1;
            ELSE
                kept_lanes[array_position(kept_claims, held.claim)] := NULL;
            END IF;
        END LOOP;
    END IF;

    -- 5. Arrivals; before the heads of the lanes that are kept, so that an action with an earlier place counts.
    arrivals := sluice_take_arrivals(arrivals_from, now_at);
    more := arrivals.more;

    -- Suspects start with nothing beside them on their worker: one worker of the fleet tries them, half of the most
    -- suspect at a time, as in the file. An idle worker begins at once; if there is none, a busy one drains after a
    -- second, unless it runs something long.
    SELECT t.* INTO trial FROM sluice_trial_rows AS t WHERE t.is_only;
    IF trial.worker = me THEN
        SELECT count(*) INTO running_now FROM sluice_claim_rows AS c WHERE c.worker = me;
        IF trial_limit <= interval '0' OR now_at NOT BETWEEN trial.since AND trial.until
            OR (running_now > 0 AND now_at >= trial.part_until) THEN
            PERFORM sluice_end_trial(me, now_at);
        ELSIF running_now = 0 AND free_left > 0 THEN
            is_trial := true;
        ELSE
            drains := true;
            next_due := coalesce(trial.part_until, trial.until);
        END IF;
    ELSIF free_left > 0 AND EXISTS (
        SELECT FROM sluice_lane_rows AS l WHERE l.worker IS NULL AND l.ready_at <= now_at AND l.is_suspect
    ) THEN
        IF trial_limit <= interval '0' THEN
            PERFORM sluice_release_suspects(now_at, now_at);
        ELSE
            SELECT count(*), min(c.started_at) INTO running_now, oldest_start
            FROM sluice_claim_rows AS c WHERE c.worker = me;
            -- A queue that is locked is no reason to drain.
            PERFORM FROM sluice_lane_rows AS l
            WHERE l.worker IS NULL AND l.is_suspect AND l.pool = ANY (pools_now)
              AND l.ready_at <= now_at - CASE WHEN running_now = 0 THEN interval '0'
                                              WHEN oldest_start > now_at - trial_limit THEN interval '1 s' END
            ORDER BY l.ready_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
            IF FOUND THEN
                -- A clock that was set, or a worker that stands, ends the trial of another too.
                SELECT t.* INTO trial FROM sluice_trial_rows AS t
                WHERE NOT EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.epoch = t.worker AND w.ending IS NULL)
                   OR now_at NOT BETWEEN t.since AND t.until + interval '1 s'
                FOR NO KEY UPDATE SKIP LOCKED;
                IF FOUND THEN
                    UPDATE sluice_trial_rows AS t
                    SET worker = me, since = now_at, until = now_at + trial_limit, part_until = NULL
                    RETURNING t.* INTO trial;
                    is_trial := running_now = 0;
                    drains := NOT is_trial;
                    next_due := trial.until;
                END IF;
            END IF;
        END IF;
    END IF;
    IF is_trial THEN
        SELECT k.lanes, k.size, k.is_long INTO suspect_lanes, group_size, is_long
        FROM sluice_take_suspects(pools_now, free_left, now_at) AS k;
        IF suspect_lanes = '{}' THEN
            -- All are tried; one that is locked is tried later.
            UPDATE sluice_trial_rows AS t SET worker = NULL WHERE t.worker = me;
            is_trial := false;
        ELSE
            next_due := CASE WHEN is_long THEN trial.until
                             ELSE least(trial.until, now_at + trial_limit / 5) END;
            UPDATE sluice_trial_rows AS t SET part_until = next_due WHERE t.worker = me;
        END IF;
    END IF;

    -- 6. Heads: of the lanes that are kept (phase 1; of the suspects if this is their trial), of ready lanes (2), of
    -- lanes that wait for a permit or a rate (3), of lanes whose turn is over, if permits are left (4).
    FOR phase IN 1 .. 4 LOOP
        IF phase = 1 THEN
            IF is_trial THEN
                look_lanes := suspect_lanes;
                look_lows := NULL;
                look_claims := NULL;
                look_turns := NULL;
                over_lanes := kept_lanes;
                over_lows := kept_lows;
                over_claims := kept_claims;
            ELSIF drains OR free_left <= 0 THEN
                over_lanes := kept_lanes;
                over_lows := kept_lows;
                over_claims := kept_claims;
                EXIT;
            ELSE
                SELECT array_agg(k.lane) FILTER (WHERE k.turn < 16), array_agg(k.low) FILTER (WHERE k.turn < 16),
                       array_agg(k.claim) FILTER (WHERE k.turn < 16), array_agg(k.turn) FILTER (WHERE k.turn < 16),
                       array_agg(k.lane) FILTER (WHERE k.turn >= 16), array_agg(k.low) FILTER (WHERE k.turn >= 16),
                       array_agg(k.claim) FILTER (WHERE k.turn >= 16)
                INTO look_lanes, look_lows, look_claims, look_turns, over_lanes, over_lows, over_claims
                FROM unnest(kept_lanes, kept_lows, kept_claims, kept_turns) AS k (lane, low, claim, turn)
                WHERE k.lane IS NOT NULL;
                over_lanes := coalesce(over_lanes, '{}');
            END IF;
        ELSIF is_trial OR is_full OR free_left <= 0 THEN
            EXIT;
        ELSIF phase = 2 THEN
            -- A pool whose routes are all used up is left to others.
            IF cardinality(permit_routes) > 0 THEN
                pools_now := ARRAY(
                    SELECT DISTINCT r.pool FROM sluice_route_rows AS r
                    WHERE r.worker = me
                      AND coalesce(permits_left[array_position(permit_routes, r.route)], 1) > 0);
            END IF;
            wanted := free_left;
            IF cardinality(pools_now) = 1 THEN
                SELECT array_agg(t.queue_id) INTO look_lanes
                FROM (SELECT l.queue_id FROM sluice_lane_rows AS l
                      WHERE l.pool = pools_now[1] AND l.worker IS NULL AND l.ready_at <= now_at AND NOT l.is_suspect
                      ORDER BY l.ready_at LIMIT wanted FOR NO KEY UPDATE SKIP LOCKED) AS t;
            ELSE
                -- How many of those that are ready longest each pool has; only so many are locked.
                SELECT array_agg(s.pool), array_agg(s.share) INTO share_pools, shares
                FROM (SELECT e.pool, count(*)::integer AS share
                      FROM (SELECT l.pool, l.ready_at
                            FROM unnest(pools_now) AS p (pool)
                            CROSS JOIN LATERAL (
                                SELECT i.pool, i.ready_at FROM sluice_lane_rows AS i
                                WHERE i.pool = p.pool AND i.worker IS NULL AND i.ready_at <= now_at
                                  AND NOT i.is_suspect
                                ORDER BY i.ready_at LIMIT wanted) AS l
                            ORDER BY l.ready_at LIMIT wanted) AS e
                      GROUP BY e.pool) AS s;
                look_lanes := ARRAY(
                    SELECT t.queue_id FROM unnest(share_pools, shares) AS s (pool, share)
                    CROSS JOIN LATERAL (
                        SELECT l.queue_id FROM sluice_lane_rows AS l
                        WHERE l.pool = s.pool AND l.worker IS NULL AND l.ready_at <= now_at AND NOT l.is_suspect
                        ORDER BY l.ready_at LIMIT s.share FOR NO KEY UPDATE SKIP LOCKED) AS t);
                -- Others have locked some: then more of any pool, the one that is ready longest first.
                IF cardinality(look_lanes) < (SELECT sum(s) FROM unnest(shares) AS s) THEN
                    FOR place_now IN
                        SELECT l.pool FROM unnest(pools_now) AS p (pool)
                        CROSS JOIN LATERAL (
                            SELECT i.pool, i.ready_at FROM sluice_lane_rows AS i
                            WHERE i.pool = p.pool AND i.worker IS NULL AND i.ready_at <= now_at AND NOT i.is_suspect
                            ORDER BY i.ready_at LIMIT 1) AS l
                        ORDER BY l.ready_at
                    LOOP
                        EXIT WHEN cardinality(look_lanes) >= wanted;
                        look_lanes := look_lanes || ARRAY(
                            SELECT l.queue_id FROM sluice_lane_rows AS l
                            WHERE l.pool = place_now AND l.worker IS NULL AND l.ready_at <= now_at
                              AND NOT l.is_suspect AND l.queue_id <> ALL (look_lanes)
                            ORDER BY l.ready_at LIMIT wanted - cardinality(look_lanes)
                            FOR NO KEY UPDATE SKIP LOCKED);
                    END LOOP;
                END IF;
            END IF;
            more := more OR coalesce(cardinality(look_lanes) >= wanted, false);
            look_lows := NULL;
            look_claims := NULL;
            look_turns := NULL;
        ELSIF phase = 3 THEN
            look_lanes := sluice_take_from_lines(me, permit_routes, permits_left, free_left, now_at);
        ELSE
            look_lanes := over_lanes;
            look_lows := over_lows;
            look_claims := over_claims;
            over_lanes := '{}';
        END IF;
        CONTINUE WHEN look_lanes IS NULL OR cardinality(look_lanes) = 0;

        FOR head IN
            SELECT u.queue_id, u.low, u.follows, coalesce(u.turn, 0) AS turn,
                   l.pool, l.worker, l.term, l.blocked_by, l.rewind, l.is_suspect AS lane_is_suspect, q.name,
                   q.sort_type = 'arrival' AS is_fifo,
                   a.id, a.sort_key, a.kind, a.version, a.payload, a.trace, a.nonce, a.enqueued_at, a.expires_at,
                   a.gate,
                   s.attempts, s.next_attempt_at, s.retry_delay, s.last_error, s.waits_for_gate,
                   coalesce(s.awaits_trial, false) AS is_suspect, coalesce(s.is_cancelled, false) AS is_cancelled,
                   coalesce(s.crashes, 0) AS crashes,
                   r.route, r.gates, r.crash_limit, r.expired, r.crashed, r.rate, r.rate_interval, r.rate_tolerance,
                   r.kind AS route_kind
            FROM unnest(look_lanes, look_lows, look_claims, look_turns) AS u (queue_id, low, follows, turn)
            -- OFFSET 0 fixes the order of the joins, whatever the statistics say.
            CROSS JOIN LATERAL (SELECT i.* FROM sluice_lane_rows AS i WHERE i.queue_id = u.queue_id OFFSET 0) AS l
            CROSS JOIN LATERAL (SELECT i.* FROM sluice_queue_rows AS i WHERE i.queue_id = u.queue_id OFFSET 0) AS q
            LEFT JOIN LATERAL (
                SELECT i.* FROM sluice_action_rows AS i
                WHERE i.queue_id = u.queue_id AND i.not_before IS NULL
                  AND (i.sort_key, i.id) > (CASE WHEN l.rewind OR q.sort_type <> 'arrival' THEN ''::bytea
                                                 ELSE '\x80' END, greatest(u.low, l.low_id))
                ORDER BY i.sort_key, i.id LIMIT 1) AS a ON true
            LEFT JOIN LATERAL (SELECT i.* FROM sluice_state_rows AS i WHERE i.action_id = a.id OFFSET 0) AS s ON true
            LEFT JOIN LATERAL (
                SELECT i.* FROM sluice_route_rows AS i
                WHERE i.worker = me AND i.pool = l.pool AND coalesce(i.kind, '') = ANY (ARRAY[a.kind, ''])
                ORDER BY coalesce(i.kind, '') DESC LIMIT 1) AS r ON true
        LOOP
            -- What was moved to the front says nothing of the others.
            low_id_now := CASE WHEN head.is_fifo AND head.sort_key = '\x80' THEN head.id - 1 END;
            IF head.id IS NULL AND head.blocked_by IS DISTINCT FROM 'failing' THEN
                empty_lanes := empty_lanes || head.queue_id;
                empty_lows := empty_lows || CASE WHEN head.is_fifo THEN coalesce(head.low, 0) ELSE 0 END;
                CONTINUE;
            END IF;
            IF head.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable') THEN
                UPDATE sluice_lane_rows AS l SET worker = NULL, ready_at = NULL WHERE l.queue_id = head.queue_id;
                CONTINUE;
            END IF;
            IF head.blocked_by = 'failing' THEN
                behind_actions := behind_actions || (SELECT f.behind FROM sluice_fail_batch(head.queue_id) AS f);
                UPDATE sluice_lane_rows AS l SET worker = NULL, ready_at = now_at WHERE l.queue_id = head.queue_id;
                more := true;
                CONTINUE;
            END IF;
            -- A worker has made a more specific pool, to which not all lanes have moved.
            IF moves_lanes AND sluice_pool_of(head.name) <> head.pool THEN
                UPDATE sluice_lane_rows AS l SET pool = sluice_pool_of(head.name), worker = NULL, ready_at = now_at
                WHERE l.queue_id = head.queue_id;
                more := true;
                CONTINUE;
            END IF;
            IF head.is_cancelled THEN
                PERFORM sluice_drop(ARRAY[head.id], false);
                PERFORM sluice_sleep(head.queue_id, now_at, low_id_now);
                more := true;
                CONTINUE;
            END IF;
            IF any_hold THEN
                -- The one that lasts longest. Ending it deletes the row and then wakes the lanes: as for gates.
                SELECT h.id, h.until INTO hold_row FROM sluice_hold_rows AS h
                WHERE (h.until IS NULL OR h.until > now_at) AND sluice_matches(h.scope, head.name)
                ORDER BY h.until DESC NULLS FIRST LIMIT 1;
                IF FOUND THEN
                    PERFORM FROM sluice_hold_rows AS h WHERE h.id = hold_row.id FOR KEY SHARE SKIP LOCKED;
                    IF FOUND THEN
                        PERFORM sluice_sleep(head.queue_id, hold_row.until, low_id_now, 'hold', head.id,
                                             hold_row.id::text);
                    ELSE
                        PERFORM sluice_sleep_for_locked(head.queue_id, low_id_now, 'hold', head.id, hold_row.id::text);
                    END IF;
                    CONTINUE;
                END IF;
            END IF;
            IF head.expires_at <= now_at THEN
                PERFORM sluice_sleep(head.queue_id, now_at, low_id_now);
                what := 'failed';
                claim := NULL;
                action_id := head.id;
                queue := head.name;
                kind := head.kind;
                cause := 'expired';
                policy := coalesce(head.expired, 'skip');
                last_error := 'its time was over before it could start';
                behind_actions := behind_actions
                    || (SELECT f.behind FROM sluice_fail(head.queue_id, action_id, cause, policy, last_error) AS f);
                RETURN NEXT;
                more := true;
                CONTINUE;
            END IF;
            IF head.gate IS NOT NULL OR head.waits_for_gate IS NOT NULL OR cardinality(head.gates) > 0 THEN
                gate_name := NULL;
                SELECT n.name INTO gate_name
                FROM unnest(ARRAY[head.gate, head.waits_for_gate]) WITH ORDINALITY AS n (name, place)
                WHERE n.name IS NOT NULL
                  AND NOT EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = n.name AND g.is_open)
                ORDER BY n.place LIMIT 1;
                IF gate_name IS NULL AND cardinality(head.gates) > 0
                    AND coalesce(head.next_attempt_at <= now_at, true) THEN
                    SELECT n.name INTO gate_name FROM unnest(head.gates) WITH ORDINALITY AS n (name, place)
                    WHERE NOT EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = n.name AND g.is_open)
                    ORDER BY n.place LIMIT 1;
                END IF;
                IF gate_name IS NOT NULL THEN
                    PERFORM sluice_sleep_for_gate(head.queue_id, low_id_now, head.id, gate_name);
                    CONTINUE;
                END IF;
            END IF;
            IF head.next_attempt_at > now_at THEN
                -- Never longer than the delay that was asked: the clock may have been set back (G8).
                PERFORM sluice_sleep(head.queue_id,
                                     now_at + least(head.next_attempt_at - now_at, head.retry_delay), low_id_now);
                CONTINUE;
            END IF;
            IF head.route IS NULL THEN
                IF sluice_sleep_for_route(head.queue_id, low_id_now, head.id, head.pool, head.kind, me) THEN
                    what := 'unrouted';
                    claim := NULL;
                    action_id := head.id;
                    queue := head.name;
                    kind := head.kind;
                    RETURN NEXT;
                END IF;
                CONTINUE;
            END IF;
            IF head.crashes >= head.crash_limit THEN
                PERFORM sluice_sleep(head.queue_id, now_at, low_id_now);
                UPDATE sluice_lane_rows AS l SET is_suspect = false WHERE l.queue_id = head.queue_id;
                what := 'failed';
                claim := NULL;
                action_id := head.id;
                queue := head.name;
                kind := head.kind;
                cause := 'crashed';
                policy := head.crashed;
                last_error := format('its worker was taken off %s times while the action ran alone', head.crashes);
                behind_actions := behind_actions
                    || (SELECT f.behind FROM sluice_fail(head.queue_id, action_id, cause, policy, last_error) AS f);
                RETURN NEXT;
                more := true;
                CONTINUE;
            END IF;
            IF head.is_suspect <> is_trial THEN
                -- To the suspects, or back from them.
                PERFORM sluice_sleep(head.queue_id, now_at, low_id_now);
                UPDATE sluice_lane_rows AS l SET is_suspect = head.is_suspect WHERE l.queue_id = head.queue_id;
                more := true;
                CONTINUE;
            END IF;
            bytes_left := bytes_left - octet_length(head.payload) - coalesce(octet_length(head.trace), 0);
            is_full := is_full OR (bytes_left < 0 AND cardinality(new_claims) > 0);
            IF is_full OR free_left <= 0 THEN
                back_lanes := back_lanes || head.queue_id;
                back_lows := back_lows || coalesce(low_id_now, 0);
                CONTINUE;
            END IF;
            place_now := array_position(permit_routes, head.route);
            IF place_now IS NOT NULL AND permits_left[place_now] <= 0 THEN
                PERFORM sluice_sleep(head.queue_id, NULL, low_id_now, 'permit', head.id,
                                     head.pool || ' ' || coalesce(head.route_kind, ''));
                CONTINUE;
            END IF;
            -- Last, since it counts the start.
            IF head.rate IS NOT NULL AND NOT sluice_start_by_rate(head.rate, head.rate_interval, head.rate_tolerance,
                                                                  is_trial, now_at) THEN
                PERFORM sluice_sleep(head.queue_id, NULL, low_id_now, 'rate', head.id, head.rate);
                CONTINUE;
            END IF;
            IF place_now IS NOT NULL THEN
                permits_left[place_now] := permits_left[place_now] - 1;
            END IF;
            free_left := free_left - 1;
            new_claims := new_claims || next_number;
            new_actions := new_actions || head.id;
            new_queues := new_queues || head.queue_id;
            new_turns := new_turns || head.turn;
            IF head.follows IS NULL THEN
                taken_lanes := taken_lanes || head.queue_id;
            END IF;
            IF head.rewind AND (low_id_now IS NOT NULL OR NOT head.is_fifo) THEN
                UPDATE sluice_lane_rows AS l SET rewind = false, low_id = coalesce(low_id_now, l.low_id)
                WHERE l.queue_id = head.queue_id;
            END IF;
            new_terms := new_terms || CASE WHEN head.worker IS NULL THEN head.term + 1 ELSE head.term END;
            what := 'claimed';
            claim := next_number;
            follows := head.follows;
            action_id := head.id;
            queue_id := head.queue_id;
            queue := head.name;
            kind := head.kind;
            version := head.version;
            payload := head.payload;
            trace := head.trace;
            nonce := head.nonce;
            enqueued_at := head.enqueued_at;
            attempts := coalesce(head.attempts, 0);
            last_error := head.last_error;
            is_alone := is_trial;
            route := head.route;
            cause := NULL;
            policy := NULL;
            RETURN NEXT;
            next_number := next_number + 1;
        END LOOP;
    END LOOP;

    -- 7. What the heads have shown.
    IF cardinality(new_claims) > 0 THEN
        INSERT INTO sluice_claim_rows (claim, action_id, queue_id, worker, term, started_at, opening, trial_size, turn)
        SELECT n.claim, n.action, n.queue, me, n.term, now_at, last_opening,
               CASE WHEN is_trial THEN group_size ELSE 0 END, n.turn
        FROM unnest(new_claims, new_actions, new_queues, new_terms, new_turns) AS n (claim, action, queue, term, turn);
    END IF;
    IF cardinality(taken_lanes) > 0 THEN
        UPDATE sluice_lane_rows AS l
        SET worker = me, term = CASE WHEN l.worker IS NULL THEN l.term + 1 ELSE l.term END, is_suspect = false,
            blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
        WHERE l.queue_id = ANY (taken_lanes);
    END IF;
    IF cardinality(empty_lanes) > 0 THEN
        -- In order, for the binary search.
        SELECT array_agg(t.lane), array_agg(t.low) INTO empty_lanes, empty_lows
        FROM (SELECT u.lane, u.low FROM unnest(empty_lanes, empty_lows) AS u (lane, low) ORDER BY u.lane) AS t;
        UPDATE sluice_lane_rows AS l
        SET worker = NULL, ready_at = NULL, rewind = false, is_suspect = false,
            low_id = greatest(l.low_id, empty_lows[width_bucket(l.queue_id, empty_lanes)]),
            blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
        WHERE l.queue_id = ANY (empty_lanes);
    END IF;
    back_lanes := back_lanes || over_lanes;
    back_lows := back_lows || over_lows;
    IF cardinality(array_remove(back_lanes, NULL)) > 0 THEN
        SELECT array_agg(t.lane), array_agg(t.low) INTO back_lanes, back_lows
        FROM (SELECT u.lane, u.low FROM unnest(back_lanes, back_lows) AS u (lane, low)
              WHERE u.lane IS NOT NULL ORDER BY u.lane) AS t;
        UPDATE sluice_lane_rows AS l
        SET worker = NULL, ready_at = now_at,
            -- A queue in another order has none; a lane that rewinds keeps its own.
            low_id = CASE
                WHEN l.rewind THEN l.low_id
                WHEN (SELECT q.sort_type FROM sluice_queue_rows AS q WHERE q.queue_id = l.queue_id) <> 'arrival'
                    THEN l.low_id
                ELSE greatest(l.low_id, back_lows[width_bucket(l.queue_id, back_lanes)]) END
        WHERE l.queue_id = ANY (back_lanes);
        more := true;
    END IF;

    -- 8. What became dead letters with a whole queue, cancelled claims, and when to look again.
    follows := NULL; claim := NULL;
    action_id := NULL; queue_id := NULL; queue := NULL; kind := NULL; version := NULL; payload := NULL; trace := NULL;
    nonce := NULL; enqueued_at := NULL; attempts := NULL; last_error := NULL; is_alone := NULL; route := NULL;
    cause := NULL; policy := NULL;
    IF behind_actions <> '{}' THEN
        what := 'behind';
        FOR receipt IN SELECT r.* FROM sluice_letters(behind_actions) AS r LOOP
            action_id := receipt.action_id;
            queue := receipt.queue;
            kind := receipt.kind;
            last_error := receipt.error;
            RETURN NEXT;
        END LOOP;
        action_id := NULL; queue := NULL; kind := NULL; last_error := NULL;
    END IF;
    what := 'cancel';
    FOR receipt IN
        SELECT c.claim FROM sluice_state_rows AS s
        CROSS JOIN LATERAL (SELECT i.* FROM sluice_claim_rows AS i WHERE i.action_id = s.action_id OFFSET 0) AS c
        WHERE s.is_cancelled AND c.worker = me AND NOT c.is_settled
    LOOP
        claim := receipt.claim;
        RETURN NEXT;
    END LOOP;
    what := 'next';
    claim := NULL;
    version := coalesce(arrivals.first_block, arrivals_from);
    enqueued_at := now_at;
    due_at := CASE WHEN more AND free_left > 0 AND NOT drains
                        AND (NOT is_trial OR cardinality(new_claims) = 0) THEN now_at
                   WHEN free_left > 0 THEN least(next_due, sluice_next_due(me, pools_now)) ELSE next_due END;
    IF (waits AND free_left > 0 AND due_at IS DISTINCT FROM now_at AND cardinality(new_claims) = 0)
        <> worker_row.waits THEN
        UPDATE sluice_worker_rows AS w SET waits = NOT worker_row.waits WHERE w.epoch = me;
    END IF;
    RETURN NEXT;
END
$$;

-- Whether the action of a claim without an outcome is to run again; its claim is deleted, and its lane is locked. One
-- that was cancelled or deleted while the claim lasted is removed, with its state.
CREATE FUNCTION sluice_remains(held sluice_claim_rows) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM FROM sluice_action_rows AS a
    WHERE a.id = held.action_id
      AND NOT EXISTS (SELECT FROM sluice_state_rows AS s WHERE s.action_id = a.id AND s.is_cancelled);
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM sluice_drop(ARRAY[held.action_id], false);
    RETURN false;
END
$$;

-- Ends a worker: gives back its lanes, and deletes it when none is left. Whoever calls it has locked the worker's row
-- FOR UPDATE, so none of its steps is under way, and none will be. Lanes that others have locked, and those whose claim
-- a transaction of the application settles, are passed over and stay for a later call. Returns whether it did anything.
--
-- What the worker ran becomes suspect (G7). If one action ran alone on trial, and the worker did not renew its lease,
-- the end counts against that action, which is returned in crashed; nobody else loses an attempt.
CREATE FUNCTION sluice_end_worker(gone bigint, reason text, OUT did boolean, OUT crashed bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    now_at timestamptz := sluice_now();
    lanes bigint[] := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.worker = gone
                            LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
    is_trying boolean := EXISTS (SELECT FROM sluice_trial_rows AS t
                                 WHERE t.worker = gone AND t.part_until IS NOT NULL);
    held sluice_claim_rows;
    state sluice_state_rows;
    suspects bigint[] := '{}';
BEGIN
    UPDATE sluice_worker_rows AS w
    SET ending = reason, waits = false, lease_until = least(w.lease_until, now_at)
    WHERE w.epoch = gone AND w.ending IS NULL;
    did := FOUND;
    FOR held IN
        DELETE FROM sluice_claim_rows AS c
        WHERE c.claim = ANY (ARRAY(SELECT o.claim FROM sluice_claim_rows AS o
                                   WHERE o.worker = gone AND o.queue_id = ANY (lanes) FOR UPDATE SKIP LOCKED))
        RETURNING c.*
    LOOP
        CONTINUE WHEN NOT sluice_remains(held);
        INSERT INTO sluice_state_rows AS s (action_id, is_suspect, awaits_trial) VALUES (held.action_id, true, true)
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE
        SET is_suspect = true, awaits_trial = true, suspicion = s.suspicion + s.is_suspect::integer;
        IF held.trial_size = 1 AND is_trying AND reason = 'lost' THEN
            UPDATE sluice_state_rows AS s SET attempts = s.attempts + 1, crashes = s.crashes + 1
            WHERE s.action_id = held.action_id RETURNING s.* INTO state;
            crashed := held.action_id;
            PERFORM sluice_record(held.action_id, held.claim, state.attempts, 'crashed',
                                  'its worker was taken off while the action ran alone', held.started_at);
        END IF;
        IF NOT sluice_carry_out_move(held) THEN
            suspects := suspects || held.queue_id;
        END IF;
    END LOOP;
    lanes := ARRAY(SELECT n FROM unnest(lanes) AS n
                   EXCEPT SELECT c.queue_id FROM sluice_claim_rows AS c WHERE c.worker = gone);
    UPDATE sluice_lane_rows AS l
    SET worker = NULL, is_suspect = l.queue_id = ANY (suspects),
        ready_at = CASE WHEN l.blocked_by IS NULL OR l.blocked_by = 'failing' THEN now_at END
    WHERE l.queue_id = ANY (lanes);
    did := did OR cardinality(lanes) > 0;
    IF NOT EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.worker = gone) THEN
        DELETE FROM sluice_route_rows AS r WHERE r.worker = gone;
        DELETE FROM sluice_worker_rows AS w WHERE w.epoch = gone;
        did := true;
    END IF;
    IF did THEN
        PERFORM sluice_ring();
    END IF;
END
$$;

-- Takes off one worker whose lease is over, and returns whether it did; call it again while it does. crashed: the action
-- that is blamed for the end. Only a worker may judge whose own lease has not lapsed for a whole lease: after a frozen
-- server or a clock set forward all leases lapse together, and nobody is judged. Any worker may give back what is left
-- of one that has ended.
CREATE FUNCTION sluice_take_off(epoch bigint, lease interval, OUT did boolean, OUT crashed bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    now_at timestamptz := sluice_now();
    is_judge boolean := EXISTS (
        SELECT FROM sluice_worker_rows AS w
        WHERE w.epoch = sluice_take_off.epoch AND w.lease_until > now_at AND w.continuous_since <= now_at - lease);
    gone record;
BEGIN
    IF is_judge THEN
        -- The clock was set back by more than a lease: nobody has a longer one.
        UPDATE sluice_worker_rows AS w SET lease_until = now_at + 2 * lease
        WHERE w.epoch IN (SELECT o.epoch FROM sluice_worker_rows AS o
                          WHERE o.lease_until > now_at + 4 * lease FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    FOR gone IN
        SELECT w.epoch, w.ending FROM sluice_worker_rows AS w
        WHERE w.epoch <> sluice_take_off.epoch AND (w.ending IS NOT NULL OR (is_judge AND w.lease_until <= now_at))
        ORDER BY w.epoch FOR UPDATE SKIP LOCKED
    LOOP
        SELECT e.did, e.crashed INTO did, crashed
        FROM sluice_end_worker(gone.epoch, coalesce(gone.ending, 'lost')) AS e;
        EXIT WHEN did;
    END LOOP;
    did := coalesce(did, false);
END
$$;

-- Ends a worker that runs nothing any more. What it could not settle becomes suspect, but is not blamed. Queues that
-- are locked are given back by other workers.
CREATE FUNCTION sluice_leave(epoch bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '1s'
AS $$
BEGIN
    PERFORM FROM sluice_worker_rows AS w WHERE w.epoch = sluice_leave.epoch FOR UPDATE;
    IF FOUND THEN
        WHILE (SELECT e.did FROM sluice_end_worker(sluice_leave.epoch, 'left') AS e) LOOP
            EXIT WHEN NOT EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.epoch = sluice_leave.epoch);
        END LOOP;
    END IF;
END
$$;

-- After a lost connection: gives back what the worker has claimed and does not know of, so has not started; returns
-- which of the claims it knows are gone, and NULL if it has to be called again, since a queue is locked. next_claim:
-- greater than in all calls before. One of those may still come: a network delivers what was sent on a connection that
-- is lost. A late step would claim what the worker does not learn, a late resync would give back what it has started
-- since. So they are refused from now on, and a step under way is waited for.
CREATE FUNCTION sluice_resync(epoch bigint, claims bigint[], next_claim bigint DEFAULT NULL) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '1s'
AS $$
DECLARE
    me CONSTANT bigint := epoch;
    first bigint;
    lanes bigint[];
    held sluice_claim_rows;
BEGIN
    SELECT w.first_claim INTO first FROM sluice_worker_rows AS w
    WHERE w.epoch = me AND w.ending IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE = 'this worker was taken off',
            HINT = 'Register again: its lease was over, and others run its queues.';
    END IF;
    IF next_claim <= first THEN
        RAISE EXCEPTION USING ERRCODE = 'SL004', DETAIL = 'lateCall',
            MESSAGE = 'this resync comes after a later one of its worker',
            HINT = 'Give a greater number with each.';
    END IF;
    UPDATE sluice_worker_rows AS w SET first_claim = sluice_resync.next_claim
    WHERE w.epoch = me AND sluice_resync.next_claim IS NOT NULL;
    lanes := ARRAY(
        SELECT l.queue_id FROM sluice_lane_rows AS l
        WHERE l.queue_id IN (SELECT c.queue_id FROM sluice_claim_rows AS c
                             WHERE c.worker = me AND c.claim <> ALL (coalesce(claims, '{}')))
        ORDER BY l.queue_id FOR NO KEY UPDATE SKIP LOCKED);
    FOR held IN
        DELETE FROM sluice_claim_rows AS c
        WHERE c.worker = me AND c.claim <> ALL (coalesce(claims, '{}')) AND c.queue_id = ANY (lanes)
        RETURNING c.*
    LOOP
        IF sluice_remains(held) THEN
            PERFORM sluice_carry_out_move(held);
        END IF;
    END LOOP;
    UPDATE sluice_lane_rows AS l SET worker = NULL, ready_at = sluice_now()
    WHERE l.worker = me AND l.queue_id = ANY (lanes);
    IF EXISTS (SELECT FROM sluice_claim_rows AS c
               WHERE c.worker = me AND c.claim <> ALL (coalesce(claims, '{}'))) THEN
        RETURN NEXT NULL;
    END IF;
    RETURN QUERY
        SELECT k.claim FROM unnest(claims) AS k (claim)
        WHERE NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.claim = k.claim AND c.worker = me);
END
$$;

-- Settles a claim with success in the transaction of the application, which makes it exactly once with what else that
-- writes. It locks no lane: the broker gives the lane on when the handler has returned. Until this transaction ends,
-- its queue is not taken over.
CREATE FUNCTION sluice_succeed(claim bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
AS $$
DECLARE
    action bigint;
BEGIN
    -- The claim's row decides, which whoever takes the queue over deletes.
    UPDATE sluice_claim_rows AS c SET is_settled = true
    WHERE c.claim = sluice_succeed.claim AND NOT c.is_settled
      AND EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.epoch = c.worker AND w.ending IS NULL)
      AND EXISTS (SELECT FROM sluice_action_rows AS a WHERE a.id = c.action_id)
    RETURNING c.action_id INTO action;
    IF action IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SL004', DETAIL = 'staleReceipt',
            MESSAGE = 'the attempt was settled, or its worker was taken off',
            HINT = 'Roll back: another attempt has run, or will.';
    END IF;
    PERFORM sluice_drop(ARRAY[action], true);
END
$$;

-- Gives up to 1,000 due actions their places. Queues that are locked are passed over, and count for nothing.
CREATE FUNCTION sluice_place_due(now_at timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    most CONSTANT integer := 1000;
    seen integer;
    done integer := 0;
    due bigint[];
    lanes bigint[];
    locked bigint[];
    placed bigint[];
    passed bigint[] := '{}';
BEGIN
    LOOP
        SELECT array_agg(d.id), array_agg(DISTINCT d.queue_id), count(*) INTO due, lanes, seen
        FROM (SELECT a.id, a.queue_id FROM sluice_action_rows AS a
              WHERE a.not_before <= now_at AND passed[width_bucket(a.queue_id, passed)] IS DISTINCT FROM a.queue_id
              ORDER BY a.not_before LIMIT most - done) AS d;
        EXIT WHEN due IS NULL;
        -- Lanes before actions, as everywhere. Those that are locked have a step: their actions are placed later.
        locked := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                        WHERE l.queue_id = ANY (lanes) FOR NO KEY UPDATE SKIP LOCKED);
        locked := ARRAY(SELECT n FROM unnest(lanes) AS n
                        EXCEPT SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (lanes)) || locked;
        WITH changed AS (
            UPDATE sluice_action_rows AS a SET not_before = NULL
            WHERE a.id = ANY (ARRAY(SELECT o.id FROM sluice_action_rows AS o
                                    WHERE o.id = ANY (due) AND o.not_before <= now_at AND o.queue_id = ANY (locked)
                                    FOR NO KEY UPDATE SKIP LOCKED))
            RETURNING a.queue_id)
        SELECT array_agg(c.queue_id) INTO placed FROM changed AS c;
        IF placed IS NOT NULL THEN
            -- At once, so that no newer action is claimed before the arrival is taken in.
            UPDATE sluice_lane_rows AS l SET rewind = true WHERE l.queue_id = ANY (placed) AND NOT l.rewind;
            PERFORM sluice_arrive(placed, true);
            done := done + cardinality(placed);
        END IF;
        EXIT WHEN done >= most OR coalesce(cardinality(placed), 0) = seen;
        passed := ARRAY(SELECT p FROM unnest(passed) AS p
                        UNION SELECT a.queue_id FROM sluice_action_rows AS a
                        WHERE a.id = ANY (due) AND a.not_before IS NOT NULL ORDER BY 1);
    END LOOP;
    RETURN done;
END
$$;

-- Buries expired actions whose route skips them; others are ended when they are heads, and those that run or have
-- parked their queue are left alone. Only what a lane's lock covers: a queue that no step has seen has to wait. Each
-- call goes on where the worker's last one stopped, so that what cannot be ended now is in nobody's way. Returns how much
-- was done, and what became dead letters.
CREATE FUNCTION sluice_expire(me bigint, now_at timestamptz, OUT done integer, OUT expired bigint[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    most CONSTANT integer := 1000;
    from_at timestamptz;
    from_id bigint;
    next_at timestamptz;
    next_id bigint;
    found_actions bigint[];
    lanes bigint[];
    cancelled bigint[];
    scheduled bigint[];
    queues bigint[];
BEGIN
    done := 0;
    SELECT w.swept_at, w.swept_id INTO from_at, from_id FROM sluice_worker_rows AS w WHERE w.epoch = me;
    next_at := from_at;
    next_id := from_id;
    FOR round IN 1 .. 10 LOOP
        SELECT array_agg(e.id), array_agg(DISTINCT e.queue_id) INTO found_actions, queues
        FROM (SELECT a.id, a.queue_id, a.expires_at FROM sluice_action_rows AS a
              WHERE a.expires_at <= now_at AND (a.expires_at, a.id) > (next_at, next_id)
              ORDER BY a.expires_at, a.id LIMIT most) AS e;
        IF coalesce(cardinality(found_actions), 0) < most THEN
            next_at := '-infinity';
            next_id := 0;
        ELSE
            SELECT a.expires_at, a.id INTO next_at, next_id FROM sluice_action_rows AS a
            WHERE a.id = ANY (found_actions) ORDER BY a.expires_at DESC, a.id DESC LIMIT 1;
        END IF;
        EXIT WHEN found_actions IS NULL;
        lanes := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (queues)
                       ORDER BY l.queue_id FOR NO KEY UPDATE SKIP LOCKED);
        SELECT array_agg(e.id) FILTER (WHERE e.policy = 'skip' AND NOT e.is_cancelled),
               array_agg(e.id) FILTER (WHERE e.is_cancelled),
               array_agg(e.id) FILTER (WHERE e.policy <> 'skip' AND NOT e.is_cancelled AND e.not_before IS NOT NULL)
        INTO expired, cancelled, scheduled
        FROM (SELECT a.id, a.not_before,
                     coalesce((SELECT s.is_cancelled FROM sluice_state_rows AS s WHERE s.action_id = a.id), false)
                     AS is_cancelled,
                     coalesce((SELECT r.expired FROM sluice_route_rows AS r
                               WHERE r.worker = me AND r.pool = l.pool
                                 AND coalesce(r.kind, '') = ANY (ARRAY[a.kind, ''])
                               ORDER BY coalesce(r.kind, '') DESC LIMIT 1),
                              -- Another worker may have a route with a policy of its own.
                              CASE WHEN sluice_has_route(l.pool, a.kind, me) THEN 'other' ELSE 'skip' END) AS policy
              FROM sluice_action_rows AS a
              CROSS JOIN LATERAL (SELECT i.* FROM sluice_lane_rows AS i WHERE i.queue_id = a.queue_id OFFSET 0) AS l
              WHERE a.id = ANY (found_actions) AND a.expires_at <= now_at AND a.queue_id = ANY (lanes)
                AND NOT (l.blocked_action_id IS NOT DISTINCT FROM a.id
                         AND l.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable'))
                AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = a.id)) AS e;
        PERFORM sluice_bury(expired, 'expired', 'its time was over before it could start') WHERE expired IS NOT NULL;
        PERFORM sluice_drop(cancelled, false) WHERE cancelled IS NOT NULL;
        -- Their policy is applied when they are heads, so they need a place.
        UPDATE sluice_action_rows AS a SET not_before = NULL WHERE a.id = ANY (scheduled);
        PERFORM sluice_arrive(lanes, true)
        WHERE expired IS NOT NULL OR cancelled IS NOT NULL OR scheduled IS NOT NULL;
        done := coalesce(cardinality(expired), 0) + coalesce(cardinality(cancelled), 0)
            + coalesce(cardinality(scheduled), 0);
        EXIT WHEN done > 0 OR next_id = 0;
    END LOOP;
    UPDATE sluice_worker_rows AS w SET swept_at = next_at, swept_id = next_id
    WHERE w.epoch = me AND (w.swept_at, w.swept_id) <> (next_at, next_id);
END
$$;

-- Shortens what waits longer than was asked, counted from now: the clock was set back (G8). The lanes follow as a task.
CREATE FUNCTION sluice_shorten_waits(now_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE sluice_gate_rows AS g SET opens_at = now_at + g.closed_for
    WHERE g.name IN (SELECT o.name FROM sluice_gate_rows AS o
                     WHERE o.opens_at - o.closed_for > now_at FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE sluice_hold_rows AS h SET since = now_at, until = now_at + (h.until - h.since)
    WHERE h.id IN (SELECT o.id FROM sluice_hold_rows AS o
                   WHERE o.until IS NOT NULL AND o.since > now_at FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE sluice_key_rows AS k SET until = now_at + k.keep
    WHERE (k.queue_id, k.key) IN (SELECT o.queue_id, o.key FROM sluice_key_rows AS o
                                  WHERE o.until - o.keep > now_at FOR NO KEY UPDATE SKIP LOCKED);
    INSERT INTO sluice_task_rows (what) VALUES ('clock') ON CONFLICT DO NOTHING;
END
$$;

-- What has to be done from time to time, in bounded batches, each by the worker that gets the rows. Call it about once a
-- second, when sluice_step says that something is due, and again while it does some.
--
-- Rows, by what: failed, as of sluice_step, an action that became a dead letter as its time was over before its queue came
-- to it; crashed, one whose worker was taken off while it ran alone; done, always and last, with how much was done.
CREATE FUNCTION sluice_chores(epoch bigint, lease interval, trial_limit interval DEFAULT '5 s')
RETURNS TABLE (what text, done integer, action_id bigint, queue text, kind text, attempts integer, last_error text,
               cause text, policy text)
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '200ms'
AS $$
#variable_conflict use_column
DECLARE
    now_at CONSTANT timestamptz := sluice_now();
    me CONSTANT bigint := epoch;
    since timestamptz;
    gate record;
    ended record;
BEGIN
    SELECT w.continuous_since INTO since FROM sluice_worker_rows AS w
    WHERE w.epoch = me AND w.ending IS NULL FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE = 'this worker was taken off',
            HINT = 'Register again: its lease was over, and others run its queues.';
    END IF;
    what := 'done';
    IF since > now_at THEN
        UPDATE sluice_worker_rows AS w SET continuous_since = now_at WHERE w.epoch = me;
        PERFORM sluice_shorten_waits(now_at);
        done := 1 + sluice_do_tasks(now_at);
        RETURN NEXT;
        RETURN;
    END IF;
    ended := sluice_take_off(me, lease);
    IF ended.did THEN
        RETURN QUERY
            SELECT 'crashed', NULL::integer, a.id, q.name, a.kind, s.attempts,
                   'its worker was taken off while the action ran alone', NULL::text, NULL::text
            FROM sluice_action_rows AS a
            JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.id = ended.crashed;
        done := 1;
        RETURN NEXT;
        RETURN;
    END IF;
    -- A closing that has ended; the starts are spread over a tenth of it, so that the first refusal stops the rest.
    FOR gate IN
        SELECT g.name, g.closed_for FROM sluice_gate_rows AS g WHERE g.opens_at <= now_at
        ORDER BY g.opens_at LIMIT 1 FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM sluice_open_gate(gate.name, greatest(interval '1 s', least(interval '60 s', gate.closed_for / 10)));
        done := 1;
        RETURN NEXT;
        RETURN;
    END LOOP;
    done := sluice_do_tasks(now_at) + sluice_place_due(now_at);
    ended := sluice_expire(me, now_at);
    RETURN QUERY
        SELECT 'failed', NULL::integer, r.action_id, r.queue, r.kind, r.attempts, r.error, 'expired', 'skip'
        FROM sluice_letters(ended.expired) AS r;
    done := done + ended.done + sluice_tidy(now_at, trial_limit);
    RETURN NEXT;
END
$$;

-- Deletes what is over, and releases suspects for whose trial no worker could drain; returns how many rows.
CREATE FUNCTION sluice_tidy(now_at timestamptz, trial_limit interval) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    done integer := 0;
    count integer;
BEGIN
    IF NOT EXISTS (SELECT FROM sluice_trial_rows AS t JOIN sluice_worker_rows AS w ON w.epoch = t.worker
                   WHERE w.ending IS NULL AND now_at BETWEEN t.since AND t.until + interval '1 s') THEN
        done := sluice_release_suspects(now_at - trial_limit - interval '1 s', now_at);
    END IF;
    -- The lanes wake by themselves at this time.
    DELETE FROM sluice_hold_rows AS h
    WHERE h.id IN (SELECT o.id FROM sluice_hold_rows AS o WHERE o.until <= now_at FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS count = ROW_COUNT;
    done := done + count;
    DELETE FROM sluice_key_rows AS k
    WHERE k.ctid = ANY (ARRAY(SELECT o.ctid FROM sluice_key_rows AS o WHERE o.until <= now_at
                              ORDER BY o.until LIMIT 1000 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS count = ROW_COUNT;
    done := done + count;
    DELETE FROM sluice_token_rows AS t
    WHERE t.token = ANY (ARRAY(SELECT o.token FROM sluice_token_rows AS o WHERE o.at <= now_at - interval '1 hour'
                               ORDER BY o.at LIMIT 1000 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS count = ROW_COUNT;
    done := done + count;
    -- No row says the same as one that has recovered.
    DELETE FROM sluice_rate_rows AS r
    WHERE r.name IN (SELECT o.name FROM sluice_rate_rows AS o WHERE o.next_at <= now_at - interval '1 minute'
                     FOR UPDATE SKIP LOCKED);
    RETURN done;
END
$$;
