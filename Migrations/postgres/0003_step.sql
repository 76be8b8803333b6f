-- What workers call: register, step, take off, chores. A worker is a process that runs queues; a lane says which worker
-- has a queue. The broker calls sluice_step again and again: it settles attempts, takes in arrivals and claims heads.
--
-- Rules that hold for all functions here:
--   Functions that sluice_step alone calls have no settings of their own, since a SET clause takes longer than most of
--   them: those that get the state of a step, sluice_sleep and the like. They run with its path, its planner settings
--   and its lock_timeout. They are in PL/pgSQL, which keeps their plans: a function in SQL is planned at each call,
--   unless it is part of the query that names it.
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
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE sluice_lane_rows AS l
    SET worker = NULL, ready_at = due, low_id = coalesce(low, l.low_id), rewind = l.rewind AND low IS NULL,
        blocked_by = cause, blocked_action_id = action, blocked_error = sluice_bounded(error),
        -- Of a queue that waits for the same again, the time stays: its place in a line.
        blocked_at = CASE WHEN cause IS NULL THEN NULL
                          WHEN l.blocked_by = cause AND l.blocked_action_id = action THEN l.blocked_at
                          ELSE sluice_now() END,
        fail_through_id = NULL, fail_key = NULL
    WHERE l.queue_id = queue;
END
$$;

-- Puts a lane to sleep for a gate or a hold that a transaction has locked, which may change it at any time: the lane is
-- looked at again when half as long as it has waited is over, at most five seconds, so that thousands of them do not
-- keep the others from their turns.
CREATE FUNCTION sluice_sleep_for_locked(queue bigint, low bigint, cause text, action bigint, detail text) RETURNS void
LANGUAGE plpgsql
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
LANGUAGE plpgsql
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
-- on; otherwise its lane is parked, or due for the next batch of a failing queue. Returns also what was buried behind
-- it.
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
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO sluice_attempt_rows (action_id, claim, number, outcome, error, started_at, ended_at)
    VALUES (action, sluice_record.claim, sluice_record.number, sluice_record.outcome,
            sluice_bounded(coalesce(sluice_record.error, '')), began, sluice_now())
    ON CONFLICT DO NOTHING;
    DELETE FROM sluice_attempt_rows AS t
    WHERE t.action_id = action
      AND t.claim <= (SELECT o.claim FROM sluice_attempt_rows AS o WHERE o.action_id = action
                      ORDER BY o.claim DESC LIMIT 1 OFFSET 50);
END
$$;

-- The route of a worker for a kind in a pool: that of the kind, else the one for any kind. A query that names this
-- function contains its text.
CREATE FUNCTION sluice_route_for(me bigint, pool integer, kind text) RETURNS SETOF sluice_route_rows
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.* FROM sluice_route_rows AS r
    WHERE r.worker = me AND r.pool = sluice_route_for.pool
      AND coalesce(r.kind, '') = ANY (ARRAY[sluice_route_for.kind, ''])
    ORDER BY coalesce(r.kind, '') DESC LIMIT 1;
END;

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

-- Raises the error of a call by a worker that has no row any more.
CREATE FUNCTION sluice_refuse_worker() RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE = 'this worker was taken off',
        HINT = 'Register again: its lease was over, and others run its queues.';
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
        PERFORM sluice_refuse_worker();
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
-- register, whose epoch is 0, is noted as a worker whose lease is over, which the others take off. Of those the last
-- one is kept: they may be started again and again while nobody can take them off (G12).
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

-- The next lanes of a task, and how far it has come then: NULL at its end.
CREATE FUNCTION sluice_lanes_of_task(job sluice_task_rows, most integer, now_at timestamptz,
                                     OUT lanes bigint[], OUT after bigint, OUT after_name text)
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    bounds record;
BEGIN
    after_name := job.after_name;
    IF job.what = 'route' THEN
        lanes := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                       WHERE l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate', 'undecodable')
                         AND l.pool = job.pool AND l.queue_id > job.after ORDER BY l.queue_id LIMIT most);
        after := lanes[cardinality(lanes)];
    ELSIF job.what = 'released' THEN
        SELECT array_agg(DISTINCT s.queue_id), max(s.action_id) INTO lanes, after
        FROM (SELECT i.action_id, a.queue_id FROM sluice_state_rows AS i
              CROSS JOIN LATERAL (SELECT o.queue_id FROM sluice_action_rows AS o WHERE o.id = i.action_id OFFSET 0) AS a
              WHERE i.is_released AND i.action_id > job.after ORDER BY i.action_id LIMIT most) AS s;
    ELSIF job.what = 'pool' THEN
        SELECT b.low, b.high INTO bounds FROM sluice_bounds(job.detail) AS b;
        SELECT array_agg(q.queue_id), max(q.name) INTO lanes, after_name
        FROM (SELECT i.queue_id, i.name FROM sluice_queue_rows AS i
              WHERE i.name > job.after_name AND i.name >= bounds.low AND i.name < bounds.high
              ORDER BY i.name LIMIT most) AS q;
        after := CASE WHEN lanes IS NOT NULL THEN 0 END;
    ELSE
        lanes := ARRAY(
            SELECT l.queue_id FROM sluice_lane_rows AS l
            WHERE l.queue_id > job.after
              AND (l.ready_at > now_at
                   OR l.queue_id = ANY (ARRAY(
                       SELECT a.queue_id FROM sluice_state_rows AS s
                       CROSS JOIN LATERAL (SELECT o.queue_id FROM sluice_action_rows AS o
                                           WHERE o.id = s.action_id OFFSET 0) AS a
                       WHERE s.next_attempt_at - s.retry_delay > now_at)))
            ORDER BY l.queue_id LIMIT most);
        after := lanes[cardinality(lanes)];
    END IF;
    lanes := coalesce(lanes, '{}');
END
$$;

-- Wakes lanes that may have a route now. Those that are locked are woken by a step, when their transaction has ended;
-- but that does not unpark: returns those that have to be unparked later.
CREATE FUNCTION sluice_wake_routed(job sluice_task_rows, locked bigint[], now_at timestamptz) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM sluice_arrive(ARRAY(
        SELECT l.queue_id FROM sluice_lane_rows AS l
        WHERE l.queue_id = ANY (job.passed)
          AND l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate')), true);
    UPDATE sluice_lane_rows AS l
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL, ready_at = now_at
    WHERE l.queue_id = ANY (locked) AND l.pool = job.pool
      AND l.blocked_by IN ('unknown kind', 'no route', 'permit', 'rate', 'undecodable');
    RETURN ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                 WHERE l.queue_id = ANY (job.passed) AND l.blocked_by = 'undecodable');
END
$$;

-- Ends the waits of released heads in the pools of a worker that has started; returns the lanes.
CREATE FUNCTION sluice_end_releases(job sluice_task_rows, locked bigint[], now_at timestamptz) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    lanes bigint[] := ARRAY(
        SELECT l.queue_id FROM sluice_lane_rows AS l
        WHERE l.queue_id = ANY (locked) AND l.worker IS NULL
          AND l.pool IN (SELECT r.pool FROM sluice_route_rows AS r WHERE r.worker = job.worker));
BEGIN
    UPDATE sluice_state_rows AS s
    SET next_attempt_at = NULL, retry_delay = NULL, waits_for_gate = NULL, is_released = false
    FROM sluice_action_rows AS a
    WHERE s.is_released AND s.action_id <= coalesce(job.after, s.action_id) AND a.id = s.action_id
      AND a.queue_id = ANY (lanes);
    UPDATE sluice_lane_rows AS l SET ready_at = now_at
    WHERE l.queue_id = ANY (lanes) AND (l.blocked_by IS NULL OR l.blocked_by IN ('gate', 'hold'));
    RETURN lanes;
END
$$;

-- Moves lanes and queues to the pools of their names.
CREATE FUNCTION sluice_move_to_pools(lanes bigint[], locked bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    pools integer[];
BEGIN
    SELECT array_agg(q.queue_id ORDER BY q.queue_id), array_agg(sluice_pool_of(q.name) ORDER BY q.queue_id)
    INTO lanes, pools
    FROM sluice_queue_rows AS q WHERE q.queue_id = ANY (lanes);
    UPDATE sluice_lane_rows AS l SET pool = pools[width_bucket(l.queue_id, lanes)]
    WHERE l.queue_id = ANY (locked) AND l.pool <> pools[width_bucket(l.queue_id, lanes)];
    -- A row that an enqueue has locked stays: the lane's pool counts, and the next one is computed again.
    UPDATE sluice_queue_rows AS q SET pool = pools[width_bucket(q.queue_id, lanes)]
    WHERE q.queue_id = ANY (ARRAY(SELECT o.queue_id FROM sluice_queue_rows AS o
                                  WHERE o.queue_id = ANY (lanes)
                                    AND o.pool <> pools[width_bucket(o.queue_id, lanes)]
                                  FOR NO KEY UPDATE SKIP LOCKED));
END
$$;

-- Does a batch of one task; returns how many lanes it has handled. Whoever calls it has locked the task's row. The
-- functions above are called by it alone, and have its planner settings.
CREATE FUNCTION sluice_do_task(job sluice_task_rows, most integer, now_at timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off
AS $$
DECLARE
    next record;
    lanes bigint[];
    locked bigint[];
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
    next := sluice_lanes_of_task(job, most, now_at);
    job.after := next.after;
    job.after_name := next.after_name;
    lanes := next.lanes || job.passed;
    locked := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (lanes)
                    FOR NO KEY UPDATE SKIP LOCKED);
    job.passed := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                        WHERE l.queue_id = ANY (lanes) AND l.queue_id <> ALL (locked));
    IF job.what = 'route' THEN
        job.passed := sluice_wake_routed(job, locked, now_at);
    ELSIF job.what = 'released' THEN
        locked := sluice_end_releases(job, locked, now_at);
    ELSIF job.what = 'pool' THEN
        PERFORM sluice_move_to_pools(lanes, locked);
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

-- Counts a start by a rate limit, if it allows one now. The algorithm is GCRA, as in the file: a limit is one time, to
-- which each start adds the interval. Never waits: while another step has the limit, the queue waits in line.
CREATE FUNCTION sluice_start_by_rate(name text, rate_interval interval, tolerance interval, is_forced boolean,
                                     now_at timestamptz) RETURNS boolean
LANGUAGE plpgsql
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

-- The first action of a queue. A query that names this function contains its text.
CREATE FUNCTION sluice_first_action(queue bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT a.id FROM sluice_action_rows AS a
    WHERE a.queue_id = queue AND a.not_before IS NULL ORDER BY a.sort_key, a.id LIMIT 1;
END;

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
          CROSS JOIN LATERAL sluice_first_action(k.queue_id) AS a (id)
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
        CROSS JOIN LATERAL sluice_first_action(n.queue_id) AS a (id)));
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

-- The step, from here to sluice_step, which calls its phases one after the other and hands its state from each to the
-- next. A phase reads and writes the state's values; what it appends to often is in variables of its own, since
-- appending to an array within a composite value copies all of it.

-- An answer of sluice_step, which describes the rows.
CREATE TYPE sluice_answer AS (
    what text, claim bigint, follows bigint, action_id bigint, queue_id bigint, queue text, kind text, version integer,
    payload text, trace text, nonce bigint, enqueued_at timestamptz, attempts integer, last_error text,
    is_alone boolean, route integer, due_at timestamptz, cause text, policy text);

-- What a worker says of attempts that have ended: the arrays of sluice_step, one element for each receipt.
CREATE TYPE sluice_receipts AS (
    claims bigint[], outcomes text[], delays interval[], gates text[], closes boolean[], errors text[], causes text[],
    policies text[]);

-- The same of one attempt.
CREATE TYPE sluice_outcome AS (
    outcome text, delay interval, gate text, closes boolean, error text, cause text, policy text);

-- What the phases of a step hand on to each other. The first part is from the call and from what the beginning of the
-- step reads; phases write the second.
CREATE TYPE sluice_step_state AS (
    worker      bigint,
    -- The time of the step. Read once: a condition with a function of the clock uses no index.
    now_at      timestamptz,
    -- The highest opening of a gate, for the claims.
    opening     bigint,
    any_hold    boolean,
    -- A worker has made a more specific pool, to which not all lanes have moved.
    moves_lanes boolean,
    trial_limit interval,
    -- The worker's row says that it waits for the doorbell; the caller asks that it does.
    was_waiting boolean,
    waits       boolean,
    -- The routes with a limit of their own.
    limited     integer[],

    -- The pools whose queues the worker may run.
    pools       integer[],
    -- How many more actions may start; of the routes with a limit of their own, how many of each.
    free        integer,
    permits     integer[],
    -- How long the payloads of the answer may still be. is_full: a head was left since it would be too long.
    bytes_left  bigint,
    is_full     boolean,
    -- The number of the next claim.
    next_claim  bigint,
    -- The block of the table from which arrivals are read: in this step, and at the end in the next.
    arrivals_from integer,
    -- There is more to do now.
    more        boolean,
    -- This step starts suspects, so many together and with nothing beside them.
    is_trial    boolean,
    trial_size  integer,
    -- The worker starts nothing: suspects run, or wait for the end of other actions.
    drains      boolean,
    -- When something is due for a trial.
    next_due    timestamptz,
    -- The lanes that the worker keeps after settling: up to which id nothing waits in each, the claim that was settled,
    -- and how much of the queue's turn is used. At the end the worker gives back those that are still here.
    kept_lanes  bigint[],
    kept_lows   bigint[],
    kept_claims bigint[],
    kept_turns  integer[],
    -- The same of the lanes whose heads are read next. All are locked.
    look_lanes  bigint[],
    look_lows   bigint[],
    look_claims bigint[],
    look_turns  integer[],
    -- To be written for all heads together: claims, lanes that the worker did not have before, and lanes without a
    -- head, with the id up to which nothing waits.
    new_claims  sluice_claim_rows[],
    taken_lanes bigint[],
    empty_lanes bigint[],
    empty_lows  bigint[],
    -- Actions that became dead letters with their whole queue.
    behind      bigint[],
    answers     sluice_answer[]);

-- What a step says of a receipt or a claim.
CREATE FUNCTION sluice_answer_on(what text, claim bigint) RETURNS sluice_answer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(what, claim, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL)::sluice_answer;

-- What a step says of an action that does not start.
CREATE FUNCTION sluice_answer_about(what text, action bigint, queue text, kind text, error text,
                                    cause text DEFAULT NULL, policy text DEFAULT NULL) RETURNS sluice_answer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(what, NULL, NULL, action, NULL, queue, kind, NULL, NULL, NULL, NULL, NULL, NULL, error, NULL, NULL, NULL,
           cause, policy)::sluice_answer;

-- Begins a step: locks the worker's row, which keeps others from taking the worker off until the step has committed,
-- and makes a resync wait for it. Renews the lease.
CREATE FUNCTION sluice_begin_step(step sluice_step_state, lease interval) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    me CONSTANT bigint := step.worker;
    now_at CONSTANT timestamptz := sluice_now();
    lease_until timestamptz;
    first_claim bigint;
    refused_at timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'SL005',
            MESSAGE = 'sluice_step needs the isolation level READ COMMITTED: set default_transaction_isolation for '
                      'the role',
            HINT = 'Each of its statements needs a new snapshot. The setting may be that of the role or of the '
                   'database.';
    END IF;
    SELECT w.lease_until, w.first_claim, w.refused_at, now_at, w.waits,
           ARRAY(SELECT DISTINCT r.pool FROM sluice_route_rows AS r WHERE r.worker = me),
           EXISTS (SELECT FROM sluice_hold_rows),
           EXISTS (SELECT FROM sluice_task_rows AS t WHERE t.what = 'pool'),
           coalesce((SELECT max(g.opening) FROM sluice_gate_rows AS g), 0)
    INTO lease_until, first_claim, refused_at, step.now_at, step.was_waiting, step.pools, step.any_hold,
         step.moves_lanes, step.opening
    FROM sluice_worker_rows AS w WHERE w.epoch = me AND w.ending IS NULL FOR NO KEY UPDATE OF w;
    IF NOT FOUND THEN
        PERFORM sluice_refuse_worker();
    END IF;
    IF step.next_claim < first_claim THEN
        RAISE EXCEPTION USING ERRCODE = 'SL004', DETAIL = 'lateCall',
            MESSAGE = 'this step comes after a resync of its worker',
            HINT = 'Its worker has given it up, and would not know of the claims.';
    END IF;
    -- Renewed often enough that five sixths are left after each step: the broker stops its handlers when it has had no
    -- answer for two thirds of the lease, and does not know which step has renewed it.
    IF lease_until - now_at NOT BETWEEN lease * 5 / 6 AND lease + interval '1 s'
        OR refused_at IS NOT NULL THEN
        UPDATE sluice_worker_rows AS w
        SET lease_until = now_at + lease, refusal = NULL, refused_at = NULL,
            continuous_since = CASE
                WHEN w.lease_until <= now_at THEN now_at
                -- The clock was set back; see sluice_chores.
                WHEN w.lease_until > now_at + lease + interval '1 s' THEN 'infinity'
                ELSE w.continuous_since END
        WHERE w.epoch = me;
    END IF;
    RETURN step;
END
$$;

-- Locks the lanes of receipts; returns the claims whose lane another transaction has locked, perhaps for long.
CREATE FUNCTION sluice_lock_lanes_of(claims bigint[]) RETURNS bigint[]
LANGUAGE plpgsql
AS $$
DECLARE
    lanes bigint[];
    locked_lanes bigint[];
BEGIN
    lanes := ARRAY(SELECT c.queue_id FROM sluice_claim_rows AS c WHERE c.claim = ANY (claims));
    locked_lanes := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (lanes)
                          ORDER BY l.queue_id FOR NO KEY UPDATE SKIP LOCKED);
    IF cardinality(locked_lanes) = cardinality(lanes) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(SELECT c.claim FROM sluice_claim_rows AS c
                 WHERE c.claim = ANY (claims) AND c.queue_id <> ALL (locked_lanes));
END
$$;

-- Settles attempts, and notes which lanes the worker keeps. It writes nothing for a receipt whose lane is locked
-- (busy), nor for one whose claim is gone (stale, G6).
CREATE FUNCTION sluice_settle_receipts(step sluice_step_state, receipts sluice_receipts) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    me CONSTANT bigint := step.worker;
    now_at CONSTANT timestamptz := step.now_at;
    claims bigint[] := receipts.claims;
    outcomes CONSTANT text[] := receipts.outcomes;
    busy CONSTANT bigint[] := sluice_lock_lanes_of(receipts.claims);
    sorted_claims bigint[];
    sorted_places integer[];
    others sluice_claim_rows[];
    other_places integer[];
    done_claims bigint[];
    done_actions bigint[];
BEGIN
    IF busy <> '{}' THEN
        step.answers := step.answers || ARRAY(SELECT sluice_answer_on('busy', b) FROM unnest(busy) AS b);
        claims := ARRAY(SELECT CASE WHEN i.claim <> ALL (busy) THEN i.claim END
                        FROM unnest(claims) WITH ORDINALITY AS i (claim, place) ORDER BY i.place);
    END IF;
    -- For the binary search by which a claim finds its receipt. One receipt, as of a single deep queue, needs no
    -- query.
    IF cardinality(claims) = 1 THEN
        sorted_claims := claims;
        sorted_places := '{1}';
    ELSE
        SELECT array_agg(i.claim ORDER BY i.claim), array_agg(i.place::integer ORDER BY i.claim)
        INTO sorted_claims, sorted_places
        FROM unnest(claims) WITH ORDINALITY AS i (claim, place) WHERE i.claim IS NOT NULL;
    END IF;
    WITH gone AS (
        DELETE FROM sluice_claim_rows AS c
        WHERE c.claim = ANY (claims) AND c.worker IS NOT DISTINCT FROM me
        RETURNING c AS held, c.claim, c.action_id, c.queue_id, c.is_settled,
                  sorted_places[width_bucket(c.claim, sorted_claims)] AS place,
                  c.turn + greatest(1, least(16, extract(epoch FROM now_at - c.started_at) * 320))::integer AS turn
    ), sorted AS (
        SELECT g.*, g.is_settled OR outcomes[g.place] IS DISTINCT FROM 'success' AS is_other FROM gone AS g)
    SELECT array_agg(g.queue_id), array_agg(g.action_id), array_agg(g.claim), array_agg(g.turn),
           array_agg(g.held) FILTER (WHERE g.is_other), array_agg(g.place) FILTER (WHERE g.is_other)
    INTO step.kept_lanes, step.kept_lows, step.kept_claims, step.kept_turns, others, other_places
    FROM sorted AS g;
    IF coalesce(cardinality(step.kept_claims), 0) < cardinality(claims) THEN
        step.answers := step.answers || ARRAY(SELECT sluice_answer_on('stale', c) FROM unnest(claims) AS c
                                              WHERE c <> ALL (coalesce(step.kept_claims, '{}')));
    END IF;
    IF others IS NULL AND step.kept_claims IS NOT NULL THEN
        RETURN sluice_settle_successes(step, step.kept_claims, step.kept_lows);
    ELSIF cardinality(others) < cardinality(step.kept_claims) THEN
        SELECT array_agg(k.claim), array_agg(k.action) INTO done_claims, done_actions
        FROM unnest(step.kept_claims, step.kept_lows) AS k (claim, action)
        WHERE k.claim <> ALL (ARRAY(SELECT o.claim FROM unnest(others) AS o));
        step := sluice_settle_successes(step, done_claims, done_actions);
    END IF;
    RETURN sluice_settle_others(step, others, other_places, receipts);
END
$$;

-- Settles successes; an action that is not there was deleted during the attempt.
CREATE FUNCTION sluice_settle_successes(step sluice_step_state, claims bigint[], actions bigint[])
RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    deleted bigint[];
    edited bigint[];
    removed bigint[];
    claim bigint;
    answers sluice_answer[] := '{}';
BEGIN
    WITH gone AS (DELETE FROM sluice_action_rows AS a WHERE a.id = ANY (actions) RETURNING a.id)
    SELECT array_agg(g.id) INTO deleted FROM gone AS g;
    WITH gone AS (DELETE FROM sluice_state_rows AS s WHERE s.action_id = ANY (actions) RETURNING s.edited_claim)
    SELECT array_agg(g.edited_claim) INTO edited FROM gone AS g;
    -- An action without state has no attempts.
    IF edited IS NOT NULL THEN
        DELETE FROM sluice_attempt_rows AS t WHERE t.action_id = ANY (actions);
        step.answers := step.answers || ARRAY(SELECT sluice_answer_on('editLost', c) FROM unnest(claims) AS c
                                              WHERE c = ANY (edited));
    END IF;
    UPDATE sluice_key_rows AS k SET until = now_at + k.keep, has_succeeded = true WHERE k.action_id = ANY (actions);
    IF cardinality(deleted) IS DISTINCT FROM cardinality(actions) THEN
        removed := ARRAY(SELECT c.claim FROM unnest(claims, actions) AS c (claim, action)
                         WHERE c.action <> ALL (coalesce(deleted, '{}')));
        step.answers := step.answers || ARRAY(SELECT sluice_answer_on('removed', c) FROM unnest(removed) AS c);
        claims := ARRAY(SELECT c FROM unnest(claims) AS c WHERE c <> ALL (removed));
    END IF;
    FOREACH claim IN ARRAY claims LOOP
        answers := answers || sluice_answer_on('settled', claim);
    END LOOP;
    step.answers := step.answers || answers;
    RETURN step;
END
$$;

-- Settles attempts one after the other: those that did not succeed, or that the application has settled. places: the
-- places of their receipts.
CREATE FUNCTION sluice_settle_others(step sluice_step_state, others sluice_claim_rows[], places integer[],
                                     receipts sluice_receipts) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    -- An element of an array within a composite value takes as long as the array is long; one of a variable does not.
    outcomes CONSTANT text[] := receipts.outcomes;
    delays CONSTANT interval[] := receipts.delays;
    gates CONSTANT text[] := receipts.gates;
    closes CONSTANT boolean[] := receipts.closes;
    errors CONSTANT text[] := receipts.errors;
    causes CONSTANT text[] := receipts.causes;
    policies CONSTANT text[] := receipts.policies;
    lanes bigint[] := step.kept_lanes;
    lows bigint[] := step.kept_lows;
    answers sluice_answer[] := '{}';
    held sluice_claim_rows;
    place integer;
    kept_place integer;
    ended record;
BEGIN
    FOR number IN 1 .. coalesce(cardinality(others), 0) LOOP
        held := others[number];
        IF held.is_settled THEN
            answers := answers || sluice_answer_on('byApplication', held.claim);
            CONTINUE;
        END IF;
        place := places[number];
        ended := sluice_settle(step, held, ROW(outcomes[place], delays[place], gates[place], closes[place],
                                               errors[place], causes[place], policies[place]));
        answers := answers || sluice_answer_on(CASE WHEN ended.removed THEN 'removed' ELSE 'settled' END, held.claim);
        step.behind := step.behind || ended.behind;
        kept_place := array_position(step.kept_claims, held.claim);
        IF ended.goes_on THEN
            -- The action may still be the head.
            lows[kept_place] := held.action_id - 1;
        ELSE
            lanes[kept_place] := NULL;
        END IF;
    END LOOP;
    step.kept_lanes := lanes;
    step.kept_lows := lows;
    step.answers := step.answers || answers;
    RETURN step;
END
$$;

-- Settles an attempt that did not succeed; its claim is deleted, and its lane is locked. Returns whether the lane goes
-- on, whether the action was removed, and what was buried behind it.
CREATE FUNCTION sluice_settle(step sluice_step_state, held sluice_claim_rows, said sluice_outcome,
                              OUT goes_on boolean, OUT removed boolean, OUT behind bigint[])
LANGUAGE plpgsql
AS $$
DECLARE
    action bigint := held.action_id;
    state sluice_state_rows;
    failed record;
BEGIN
    goes_on := true;
    PERFORM FROM sluice_action_rows AS a WHERE a.id = action;
    removed := NOT FOUND;
    SELECT s.* INTO state FROM sluice_state_rows AS s WHERE s.action_id = action;
    IF removed OR state.is_cancelled THEN
        removed := true;
        -- The server is busy, whatever becomes of the action.
        IF said.closes AND said.gate IS NOT NULL THEN
            PERFORM sluice_close_for(said.gate, greatest(said.delay, interval '0'));
        END IF;
        PERFORM sluice_drop(ARRAY[action], false);
        RETURN;
    END IF;
    state.attempts := coalesce(state.attempts, 0);
    CASE
    WHEN said.outcome IN ('retry', 'release') THEN
        PERFORM sluice_wait_again(step, held, said, state);
    WHEN said.outcome = 'stop' THEN
        UPDATE sluice_state_rows AS s SET is_suspect = false, awaits_trial = false, suspicion = 0, crashes = 0
        WHERE s.action_id = action AND (s.is_suspect OR s.crashes > 0);
    WHEN said.outcome = 'fail' THEN
        PERFORM sluice_record(action, held.claim, state.attempts + 1, said.cause, said.error, held.started_at);
        INSERT INTO sluice_state_rows AS s (action_id, attempts, last_error)
        VALUES (action, CASE WHEN said.cause = 'undecodable' THEN 0 ELSE 1 END, sluice_bounded(said.error))
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET
            attempts = s.attempts + excluded.attempts, last_error = excluded.last_error, is_suspect = false,
            awaits_trial = false, suspicion = 0, crashes = 0;
        -- An edit during the attempt has replaced what could not be read.
        IF NOT (said.cause = 'undecodable' AND state.edited_claim IS NOT DISTINCT FROM held.claim)
            AND NOT (said.policy = 'block' AND state.moves_to IS NOT NULL) THEN
            failed := sluice_fail(held.queue_id, action, said.cause, said.policy, said.error);
            goes_on := failed.goes_on;
            behind := failed.behind;
        END IF;
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOutcome',
            MESSAGE = format('%s is not an outcome', said.outcome),
            HINT = 'Outcomes are success, retry, fail, release and stop.';
    END CASE;
    IF state.moves_to IS NOT NULL THEN
        PERFORM sluice_carry_out_move(held);
    END IF;
END
$$;

-- Has an action wait for its next attempt, after a retry or a release: for a delay, for a gate, or both.
CREATE FUNCTION sluice_wait_again(step sluice_step_state, held sluice_claim_rows, said sluice_outcome,
                                  state sluice_state_rows) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    waits interval := greatest(said.delay, interval '0');
    gate_opening bigint;
    gate_open boolean;
BEGIN
    IF said.outcome = 'retry' THEN
        state.attempts := state.attempts + 1;
        PERFORM sluice_record(held.action_id, held.claim, state.attempts, 'retry', said.error, held.started_at);
    END IF;
    IF said.gate IS NOT NULL AND said.closes THEN
        -- A gate that nobody has set is closed already, and nothing opens it: the action waits for the delay.
        IF NOT sluice_close_for(said.gate, waits) THEN
            said.gate := NULL;
        END IF;
    ELSIF said.gate IS NOT NULL THEN
        SELECT g.is_open, g.opening INTO gate_open, gate_opening FROM sluice_gate_rows AS g WHERE g.name = said.gate;
        waits := CASE WHEN gate_open IS NOT TRUE THEN NULL
                      -- It has opened during the attempt.
                      WHEN gate_opening > held.opening THEN interval '0'
                      ELSE waits END;
        -- A release by an open gate spends no attempt, so nothing else would slow it down.
        IF said.outcome = 'release' AND waits > interval '0' AND state.is_released THEN
            waits := greatest(waits, least(state.retry_delay * 2, interval '60 s'));
        END IF;
    END IF;
    INSERT INTO sluice_state_rows AS s (action_id, attempts, next_attempt_at, retry_delay, is_released, last_error,
                                        waits_for_gate)
    VALUES (held.action_id, state.attempts, step.now_at + waits, waits, said.outcome = 'release',
            coalesce(sluice_bounded(said.error), state.last_error), said.gate)
    ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET
        attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at, retry_delay = excluded.retry_delay,
        is_released = excluded.is_released, last_error = excluded.last_error,
        waits_for_gate = excluded.waits_for_gate, is_suspect = false, awaits_trial = false, suspicion = 0, crashes = 0;
END
$$;

-- Takes in up to 1,000 arrivals from a block of the table on: wakes their lanes, and makes those that are missing.
-- Queues whose lane is locked are passed over and count for nothing, and their arrivals stay for a later step: who has
-- locked one queue keeps no other from being seen. Taking an arrival in needs the lane's lock, and so does giving a
-- lane back as empty: so either that look sees the action, or the arrival is still there (G11). Notes the block from
-- which the next step reads, and whether there may be more.
CREATE FUNCTION sluice_take_arrivals(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    most CONSTANT integer := 1000;
    start tid := format('(%s,0)', step.arrivals_from)::tid;
    places tid[];
    arrived bigint[];
    gone_lanes bigint[];
    gone_rewinds boolean[];
    locked bigint[];
    passed bigint[] := '{}';
    taken integer := 0;
BEGIN
    step.more := true;
    -- Each round passes over the queues that were locked in those before. The next step goes on where this one stops.
    FOR round IN 1 .. 10 LOOP
        SELECT array_agg(t.place), array_agg(t.queue_id) INTO places, arrived
        FROM (SELECT a.ctid AS place, a.queue_id FROM sluice_arrival_rows AS a
              WHERE a.ctid > start AND passed[width_bucket(a.queue_id, passed)] IS DISTINCT FROM a.queue_id
              LIMIT most - taken) AS t;
        IF places IS NULL THEN
            step.more := false;
            EXIT;
        END IF;
        -- Arrivals that are left stay in sight, unless they are so many that they fill a round.
        IF round = 1 THEN
            step.arrivals_from := split_part(ltrim(places[1]::text, '('), ',', 1)::integer;
        ELSE
            step.arrivals_from := split_part(ltrim(start::text, '('), ',', 1)::integer;
        END IF;
        start := places[cardinality(places)];
        locked := sluice_lock_arrived(step, arrived);
        -- Only what is deleted here is taken in: another step may have had it before the lanes were locked, and its
        -- place may have another arrival. width_bucket is a binary search: a join with unnest could be planned the
        -- wrong way around while the table's statistics say that it is empty.
        WITH gone AS (
            DELETE FROM sluice_arrival_rows AS a
            WHERE a.ctid = ANY (places) AND locked[width_bucket(a.queue_id, locked)] = a.queue_id
            RETURNING a.queue_id, a.rewind)
        SELECT array_agg(g.queue_id), array_agg(g.rewind) INTO gone_lanes, gone_rewinds FROM gone AS g;
        IF gone_lanes IS NOT NULL THEN
            taken := taken + cardinality(gone_lanes);
            PERFORM sluice_wake_arrived(step, gone_lanes, gone_rewinds);
        END IF;
        EXIT WHEN taken >= most;
        passed := ARRAY(SELECT DISTINCT p FROM unnest(passed || arrived) AS p
                        WHERE locked[width_bucket(p, locked)] IS DISTINCT FROM p ORDER BY p);
    END LOOP;
    RETURN step;
END
$$;

-- Locks the lanes of queues in which actions have arrived, and makes those that are missing; returns which, sorted.
-- Lanes that others have locked are left out.
CREATE FUNCTION sluice_lock_arrived(step sluice_step_state, arrived bigint[]) RETURNS bigint[]
LANGUAGE plpgsql
AS $$
DECLARE
    named bigint[];
    locked bigint[];
    missing bigint[];
    made bigint[];
    queue bigint;
BEGIN
    named := ARRAY(SELECT DISTINCT n FROM unnest(arrived) AS n ORDER BY n);
    SELECT coalesce(array_agg(t.queue_id), '{}') INTO locked
    FROM (SELECT l.queue_id FROM sluice_lane_rows AS l
          WHERE l.queue_id = ANY (named) FOR NO KEY UPDATE SKIP LOCKED) AS t;
    IF cardinality(locked) < cardinality(named) THEN
        missing := ARRAY(SELECT n FROM unnest(named) AS n
                         EXCEPT SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (named)
                         ORDER BY 1);
        IF cardinality(missing) > 0 THEN
            made := sluice_make_lanes(missing, step.now_at);
            IF made IS NULL THEN
                -- One by one, some in each step, and not the same in each: many savepoints slow all other
                -- transactions down, and some of these lanes may be made by a transaction that stays open.
                FOREACH queue IN ARRAY ARRAY(SELECT m FROM unnest(missing) AS m ORDER BY random() LIMIT 30) LOOP
                    made := made || sluice_make_lanes(ARRAY[queue], step.now_at);
                END LOOP;
            END IF;
            locked := locked || made;
        END IF;
    END IF;
    RETURN ARRAY(SELECT k FROM unnest(locked) AS k ORDER BY k);
END
$$;

-- Has lanes looked at again in which actions have arrived. What parks a queue stays. In the order of arrival, a new
-- action does not change the head, and what the head waits for still holds; with another order it may be the head.
CREATE FUNCTION sluice_wake_arrived(step sluice_step_state, lanes bigint[], rewinds boolean[]) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    named bigint[];
    named_rewinds boolean[];
BEGIN
    SELECT array_agg(t.queue_id), array_agg(t.rewind) INTO named, named_rewinds
    FROM (SELECT u.queue_id, bool_or(u.rewind) AS rewind
          FROM unnest(lanes, rewinds) AS u (queue_id, rewind) GROUP BY u.queue_id ORDER BY u.queue_id) AS t;
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
END
$$;

-- Decides whether this step tries suspects, which start with nothing beside them on their worker: one worker of the
-- fleet tries them, half of the most suspect at a time, as in the file.
CREATE FUNCTION sluice_try_suspects(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    me CONSTANT bigint := step.worker;
    now_at CONSTANT timestamptz := step.now_at;
    trial sluice_trial_rows;
    chosen record;
BEGIN
    SELECT t.* INTO trial FROM sluice_trial_rows AS t WHERE t.is_only;
    IF trial.worker = me THEN
        step := sluice_continue_trial(step, trial);
    ELSIF step.free > 0 AND EXISTS (
        SELECT FROM sluice_lane_rows AS l WHERE l.worker IS NULL AND l.ready_at <= now_at AND l.is_suspect
    ) THEN
        step := sluice_begin_trial(step);
    END IF;
    IF NOT step.is_trial THEN
        RETURN step;
    END IF;
    chosen := sluice_take_suspects(step.pools, step.free, now_at);
    IF chosen.lanes = '{}' THEN
        -- All are tried; one that is locked is tried later.
        UPDATE sluice_trial_rows AS t SET worker = NULL WHERE t.worker = me;
        step.is_trial := false;
        RETURN step;
    END IF;
    step.look_lanes := chosen.lanes;
    step.trial_size := chosen.size;
    UPDATE sluice_trial_rows AS t
    SET part_until = CASE WHEN chosen.is_long THEN t.until ELSE least(t.until, now_at + step.trial_limit / 5) END
    WHERE t.worker = me RETURNING t.part_until INTO step.next_due;
    RETURN step;
END
$$;

-- Goes on with the worker's trial: ends it when its time is over, waits while suspects or other actions run, or has the
-- next suspects tried.
CREATE FUNCTION sluice_continue_trial(step sluice_step_state, trial sluice_trial_rows) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    running_now CONSTANT integer := (SELECT count(*) FROM sluice_claim_rows AS c WHERE c.worker = step.worker);
BEGIN
    IF step.trial_limit <= interval '0' OR now_at NOT BETWEEN trial.since AND trial.until
        OR (running_now > 0 AND now_at >= trial.part_until) THEN
        PERFORM sluice_end_trial(step.worker, now_at);
    ELSIF running_now = 0 AND step.free > 0 THEN
        step.is_trial := true;
    ELSE
        step.drains := true;
        step.next_due := coalesce(trial.part_until, trial.until);
    END IF;
    RETURN step;
END
$$;

-- Begins a trial, if there are suspects to try and no worker tries any. An idle worker begins at once; if there is
-- none, a busy one drains after a second, unless it runs something long.
CREATE FUNCTION sluice_begin_trial(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    trial_limit CONSTANT interval := step.trial_limit;
    running_now integer;
    oldest_start timestamptz;
BEGIN
    IF trial_limit <= interval '0' THEN
        PERFORM sluice_release_suspects(now_at, now_at);
        RETURN step;
    END IF;
    SELECT count(*), min(c.started_at) INTO running_now, oldest_start
    FROM sluice_claim_rows AS c WHERE c.worker = step.worker;
    -- A queue that is locked is no reason to drain.
    PERFORM FROM sluice_lane_rows AS l
    WHERE l.worker IS NULL AND l.is_suspect AND l.pool = ANY (step.pools)
      AND l.ready_at <= now_at - CASE WHEN running_now = 0 THEN interval '0'
                                      WHEN oldest_start > now_at - trial_limit THEN interval '1 s' END
    ORDER BY l.ready_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        -- A clock that was set, or a worker that hangs, ends the trial of another too.
        PERFORM FROM sluice_trial_rows AS t
        WHERE NOT EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.epoch = t.worker AND w.ending IS NULL)
           OR now_at NOT BETWEEN t.since AND t.until + interval '1 s'
        FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
            UPDATE sluice_trial_rows AS t
            SET worker = step.worker, since = now_at, until = now_at + trial_limit, part_until = NULL;
            step.is_trial := running_now = 0;
            step.drains := NOT step.is_trial;
            step.next_due := now_at + trial_limit;
        END IF;
    END IF;
    RETURN step;
END
$$;

-- Has the step look at the heads of lanes that the worker keeps and whose turn is shorter than that. The others stay.
-- A turn that is over begins again: nobody else had a permit for the queue.
CREATE FUNCTION sluice_look_at_kept(step sluice_step_state, longest integer) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT array_agg(k.lane) FILTER (WHERE k.turn < longest), array_agg(k.low) FILTER (WHERE k.turn < longest),
           array_agg(k.claim) FILTER (WHERE k.turn < longest),
           array_agg(CASE WHEN k.turn < 16 THEN k.turn ELSE 0 END) FILTER (WHERE k.turn < longest),
           array_agg(k.lane) FILTER (WHERE k.turn >= longest), array_agg(k.low) FILTER (WHERE k.turn >= longest),
           array_agg(k.claim) FILTER (WHERE k.turn >= longest), array_agg(k.turn) FILTER (WHERE k.turn >= longest)
    INTO step.look_lanes, step.look_lows, step.look_claims, step.look_turns,
         step.kept_lanes, step.kept_lows, step.kept_claims, step.kept_turns
    FROM unnest(step.kept_lanes, step.kept_lows, step.kept_claims, step.kept_turns) AS k (lane, low, claim, turn)
    WHERE k.lane IS NOT NULL;
    RETURN step;
END
$$;

-- Has the step look at the heads of lanes that are ready, as many as may start; locks them. Those that are ready
-- longest are first, in whatever pool. A pool whose routes are all used up is left to others.
CREATE FUNCTION sluice_look_at_ready(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    wanted CONSTANT integer := step.free;
BEGIN
    IF cardinality(step.limited) > 0 THEN
        step.pools := ARRAY(
            SELECT DISTINCT r.pool FROM sluice_route_rows AS r
            WHERE r.worker = step.worker
              AND coalesce(step.permits[array_position(step.limited, r.route)], 1) > 0);
    END IF;
    IF cardinality(step.pools) = 1 THEN
        step.look_lanes := sluice_take_ready(step.pools[1], wanted, step.now_at);
    ELSE
        step.look_lanes := sluice_take_ready_of_pools(step);
    END IF;
    step.look_lows := NULL;
    step.look_claims := NULL;
    step.look_turns := NULL;
    step.more := step.more OR cardinality(step.look_lanes) >= wanted;
    RETURN step;
END
$$;

-- Locks lanes of a pool that are ready, those that are ready longest first; not those that are taken already.
CREATE FUNCTION sluice_take_ready(pool integer, wanted integer, now_at timestamptz, taken bigint[] DEFAULT '{}')
RETURNS bigint[]
LANGUAGE plpgsql
AS $$
BEGIN
    RETURN ARRAY(
        SELECT l.queue_id FROM sluice_lane_rows AS l
        WHERE l.pool = sluice_take_ready.pool AND l.worker IS NULL AND l.ready_at <= now_at AND NOT l.is_suspect
          AND l.queue_id <> ALL (taken)
        ORDER BY l.ready_at LIMIT wanted FOR NO KEY UPDATE SKIP LOCKED);
END
$$;

-- The same of all pools of the worker.
CREATE FUNCTION sluice_take_ready_of_pools(step sluice_step_state) RETURNS bigint[]
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    wanted CONSTANT integer := step.free;
    share_pools integer[];
    shares integer[];
    taken bigint[] := '{}';
    next_pool integer;
BEGIN
    -- How many of those that are ready longest each pool has; only so many are locked.
    SELECT array_agg(s.pool), array_agg(s.share) INTO share_pools, shares
    FROM (SELECT e.pool, count(*)::integer AS share
          FROM (SELECT l.pool, l.ready_at
                FROM unnest(step.pools) AS p (pool)
                CROSS JOIN LATERAL (
                    SELECT i.pool, i.ready_at FROM sluice_lane_rows AS i
                    WHERE i.pool = p.pool AND i.worker IS NULL AND i.ready_at <= now_at AND NOT i.is_suspect
                    ORDER BY i.ready_at LIMIT wanted) AS l
                ORDER BY l.ready_at LIMIT wanted) AS e
          GROUP BY e.pool) AS s;
    taken := ARRAY(
        SELECT t.queue_id FROM unnest(share_pools, shares) AS s (pool, share)
        CROSS JOIN LATERAL (
            SELECT l.queue_id FROM sluice_lane_rows AS l
            WHERE l.pool = s.pool AND l.worker IS NULL AND l.ready_at <= now_at AND NOT l.is_suspect
            ORDER BY l.ready_at LIMIT s.share FOR NO KEY UPDATE SKIP LOCKED) AS t);
    -- Others have locked some: then more of any pool, the one that is ready longest first.
    IF cardinality(taken) < (SELECT sum(s) FROM unnest(shares) AS s) THEN
        FOR next_pool IN
            SELECT l.pool FROM unnest(step.pools) AS p (pool)
            CROSS JOIN LATERAL (
                SELECT i.pool, i.ready_at FROM sluice_lane_rows AS i
                WHERE i.pool = p.pool AND i.worker IS NULL AND i.ready_at <= now_at AND NOT i.is_suspect
                ORDER BY i.ready_at LIMIT 1) AS l
            ORDER BY l.ready_at
        LOOP
            EXIT WHEN cardinality(taken) >= wanted;
            taken := taken || sluice_take_ready(next_pool, wanted - cardinality(taken), now_at, taken);
        END LOOP;
    END IF;
    RETURN taken;
END
$$;

-- Locks lanes that wait for a permit of a route, or for a rate limit, as many as may start now; the longest waiting
-- first.
CREATE FUNCTION sluice_take_from_lines(step sluice_step_state) RETURNS bigint[]
LANGUAGE plpgsql
AS $$
DECLARE
    me CONSTANT bigint := step.worker;
    now_at CONSTANT timestamptz := step.now_at;
    free CONSTANT integer := step.free;
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
                LIMIT least(free, greatest(0, coalesce(step.permits[array_position(step.limited, r.route)], free)))
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

-- A lane with its head, and the facts that decide whether the head starts.
CREATE TYPE sluice_head AS (
    queue_id    bigint,
    -- The claim that was settled before, and how much of the queue's turn is used.
    follows     bigint,
    turn        integer,
    pool        integer,
    -- The lane's number if the worker claims the head.
    term        bigint,
    blocked_by  text,
    name        text,
    -- Nothing waits up to this id, if there is no head; and if there is. NULL: unknown.
    empty_low   bigint,
    low         bigint,
    -- The lane begins at its low_id again.
    ends_rewind boolean,
    id bigint, kind text, version integer, payload text, trace text, nonce bigint, enqueued_at timestamptz,
    expires_at timestamptz, gate text, size bigint,
    attempts integer, next_attempt_at timestamptz, retry_delay interval, last_error text, waits_for_gate text,
    is_suspect boolean, is_cancelled boolean, crashes integer,
    route integer, route_kind text, gates text[], crash_limit integer, expired text, crashed text,
    rate text, rate_interval interval, rate_tolerance interval,
    -- None of these facts is in the way. If they are not all known to be so, sluice_judge_head decides.
    is_free     boolean);

-- The heads of the lanes that a step looks at, with what the worker's routes say of them. A query that names this
-- function contains its text, so it has the snapshot of that query, taken after the lanes were locked (G11).
CREATE FUNCTION sluice_heads(me bigint, now_at timestamptz, is_trial boolean, held text[], lanes bigint[],
                             lows bigint[], claims bigint[], turns integer[]) RETURNS SETOF sluice_head
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT u.queue_id, u.follows, coalesce(u.turn, 0), l.pool,
           CASE WHEN l.worker IS NULL THEN l.term + 1 ELSE l.term END, l.blocked_by, q.name,
           CASE WHEN q.sort_type = 'arrival' THEN coalesce(u.low, 0) ELSE 0 END,
           -- What was moved to the front says nothing of the others.
           CASE WHEN q.sort_type = 'arrival' AND a.sort_key = '\x80' THEN a.id - 1 END,
           l.rewind AND (q.sort_type <> 'arrival' OR a.sort_key = '\x80'),
           a.id, a.kind, a.version, a.payload, a.trace, a.nonce, a.enqueued_at, a.expires_at, a.gate,
           octet_length(a.payload)::bigint + coalesce(octet_length(a.trace), 0),
           coalesce(s.attempts, 0), s.next_attempt_at, s.retry_delay, s.last_error, s.waits_for_gate,
           coalesce(s.awaits_trial, false), coalesce(s.is_cancelled, false), coalesce(s.crashes, 0),
           r.route, r.kind, r.gates, r.crash_limit, r.expired, r.crashed, r.rate, r.rate_interval, r.rate_tolerance,
           r.route IS NOT NULL AND r.gates = '{}' AND a.gate IS NULL
           AND (a.expires_at IS NULL OR a.expires_at > now_at)
           AND (s.action_id IS NULL
                OR (NOT s.is_cancelled AND s.waits_for_gate IS NULL AND s.crashes = 0
                    AND (s.next_attempt_at IS NULL OR s.next_attempt_at <= now_at)))
           AND coalesce(s.awaits_trial, false) = is_trial
           AND (l.blocked_by IS NULL OR l.blocked_by IN ('gate', 'hold', 'permit', 'rate'))
           AND (held IS NULL
                OR NOT EXISTS (SELECT FROM unnest(held) AS h (scope) WHERE sluice_matches(h.scope, q.name)))
    FROM unnest(lanes, lows, claims, turns) AS u (queue_id, low, follows, turn)
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
    LEFT JOIN LATERAL sluice_route_for(me, l.pool, a.kind) AS r ON true;
END;

-- Starts the heads of the lanes that the step looks at, as far as permits go, and notes what is to be written. A head
-- that may not start has its lane sleep.
CREATE FUNCTION sluice_start_heads(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    head sluice_head;
    verdict record;
    line text;
    place integer;
    answers sluice_answer[] := '{}';
    claims sluice_claim_rows[] := '{}';
    taken bigint[] := '{}';
    empty_lanes bigint[] := '{}';
    empty_lows bigint[] := '{}';
    held text[];
BEGIN
    IF step.any_hold THEN
        held := ARRAY(SELECT h.scope FROM sluice_hold_rows AS h WHERE h.until IS NULL OR h.until > step.now_at);
    END IF;
    FOR head IN SELECT h.* FROM sluice_heads(step.worker, step.now_at, step.is_trial, held, step.look_lanes,
                                             step.look_lows, step.look_claims, step.look_turns) AS h
    LOOP
        IF head.id IS NULL AND head.blocked_by IS DISTINCT FROM 'failing' THEN
            empty_lanes := empty_lanes || head.queue_id;
            empty_lows := empty_lows || head.empty_low;
            CONTINUE;
        END IF;
        IF head.is_free IS NOT TRUE OR step.moves_lanes THEN
            verdict := sluice_judge_head(step, head);
            step.more := step.more OR verdict.more;
            step.behind := step.behind || verdict.behind;
            IF (verdict.answer).what IS NOT NULL THEN
                answers := answers || verdict.answer;
            END IF;
            CONTINUE WHEN NOT verdict.may_start;
        END IF;
        step.bytes_left := step.bytes_left - head.size;
        step.is_full := step.is_full
            OR (step.bytes_left < 0 AND cardinality(claims) + cardinality(step.new_claims) > 0);
        IF step.is_full OR step.free <= 0 THEN
            step.kept_lanes := step.kept_lanes || head.queue_id;
            step.kept_lows := step.kept_lows || coalesce(head.low, 0);
            CONTINUE;
        END IF;
        place := array_position(step.limited, head.route);
        line := CASE WHEN step.permits[place] <= 0 THEN 'permit'
                     -- Last, since it counts the start.
                     WHEN head.rate IS NOT NULL
                          AND NOT sluice_start_by_rate(head.rate, head.rate_interval, head.rate_tolerance,
                                                       step.is_trial, step.now_at) THEN 'rate' END;
        IF line IS NOT NULL THEN
            PERFORM sluice_wait_in_line(step, head, line);
            CONTINUE;
        END IF;
        IF place IS NOT NULL THEN
            step.permits[place] := step.permits[place] - 1;
        END IF;
        IF head.ends_rewind THEN
            UPDATE sluice_lane_rows AS l SET rewind = false, low_id = coalesce(head.low, l.low_id)
            WHERE l.queue_id = head.queue_id;
        END IF;
        IF head.follows IS NULL THEN
            taken := taken || head.queue_id;
        END IF;
        claims := claims || ROW(step.next_claim, head.id, head.queue_id, step.worker, head.term, step.now_at,
                                step.opening, head.turn, step.trial_size, false)::sluice_claim_rows;
        answers := answers || ROW('claimed', step.next_claim, head.follows, head.id, head.queue_id, head.name,
                                  head.kind, head.version, head.payload, head.trace, head.nonce, head.enqueued_at,
                                  head.attempts, head.last_error, step.is_trial, head.route, NULL, NULL,
                                  NULL)::sluice_answer;
        step.free := step.free - 1;
        step.next_claim := step.next_claim + 1;
    END LOOP;
    step.answers := step.answers || answers;
    step.new_claims := step.new_claims || claims;
    step.taken_lanes := step.taken_lanes || taken;
    step.empty_lanes := step.empty_lanes || empty_lanes;
    step.empty_lows := step.empty_lows || empty_lows;
    RETURN step;
END
$$;

-- Finds out what keeps a head from its start. If anything does, its lane sleeps, or a later step looks at it again
-- (more); or the head is a dead letter, and others behind it.
CREATE FUNCTION sluice_judge_head(step sluice_step_state, head sluice_head, OUT may_start boolean, OUT more boolean,
                                  OUT answer sluice_answer, OUT behind bigint[])
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    failed record;
BEGIN
    may_start := false;
    more := true;
    IF sluice_parks(head.blocked_by) THEN
        UPDATE sluice_lane_rows AS l SET worker = NULL, ready_at = NULL WHERE l.queue_id = head.queue_id;
        more := false;
    ELSIF head.blocked_by = 'failing' THEN
        behind := (SELECT f.behind FROM sluice_fail_batch(head.queue_id) AS f);
        UPDATE sluice_lane_rows AS l SET worker = NULL, ready_at = now_at WHERE l.queue_id = head.queue_id;
    ELSIF step.moves_lanes AND sluice_pool_of(head.name) <> head.pool THEN
        UPDATE sluice_lane_rows AS l SET pool = sluice_pool_of(head.name), worker = NULL, ready_at = now_at
        WHERE l.queue_id = head.queue_id;
    ELSIF head.is_cancelled THEN
        PERFORM sluice_drop(ARRAY[head.id], false);
        PERFORM sluice_sleep(head.queue_id, now_at, head.low);
    ELSIF step.any_hold AND sluice_sleep_if_held(step, head) THEN
        more := false;
    ELSIF head.expires_at <= now_at THEN
        failed := sluice_fail_head(step, head, 'expired', coalesce(head.expired, 'skip'),
                                   'its time was over before it could start');
        answer := failed.answer;
        behind := failed.behind;
    ELSIF sluice_sleep_if_closed(step, head) THEN
        more := false;
    ELSIF head.next_attempt_at > now_at THEN
        -- Never longer than the delay that was asked: the clock may have been set back (G8).
        PERFORM sluice_sleep(head.queue_id, now_at + least(head.next_attempt_at - now_at, head.retry_delay), head.low);
        more := false;
    ELSIF head.route IS NULL THEN
        IF sluice_sleep_for_route(head.queue_id, head.low, head.id, head.pool, head.kind, step.worker) THEN
            answer := sluice_answer_about('unrouted', head.id, head.name, head.kind, NULL);
        END IF;
        more := false;
    ELSIF head.crashes >= head.crash_limit THEN
        failed := sluice_fail_head(
            step, head, 'crashed', head.crashed,
            format('its worker was taken off %s times while the action ran alone', head.crashes));
        answer := failed.answer;
        behind := failed.behind;
    ELSIF head.is_suspect <> step.is_trial THEN
        -- To the suspects, or back from them.
        PERFORM sluice_sleep(head.queue_id, now_at, head.low);
        UPDATE sluice_lane_rows AS l SET is_suspect = head.is_suspect WHERE l.queue_id = head.queue_id;
    ELSE
        may_start := true;
        more := false;
    END IF;
END
$$;

-- Puts a lane to sleep that is held, by the hold that lasts longest; returns whether it is. Ending a hold deletes the
-- row and then wakes the lanes: as for gates.
CREATE FUNCTION sluice_sleep_if_held(step sluice_step_state, head sluice_head) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    now_at CONSTANT timestamptz := step.now_at;
    hold record;
BEGIN
    SELECT h.id, h.until INTO hold FROM sluice_hold_rows AS h
    WHERE (h.until IS NULL OR h.until > now_at) AND sluice_matches(h.scope, head.name)
    ORDER BY h.until DESC NULLS FIRST LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM sluice_hold_rows AS h WHERE h.id = hold.id FOR KEY SHARE SKIP LOCKED;
    IF FOUND THEN
        PERFORM sluice_sleep(head.queue_id, hold.until, head.low, 'hold', head.id, hold.id::text);
    ELSE
        PERFORM sluice_sleep_for_locked(head.queue_id, head.low, 'hold', head.id, hold.id::text);
    END IF;
    RETURN true;
END
$$;

-- Puts a lane to sleep whose head waits for a closed gate; returns whether it does. The action's own gate is first,
-- then the one that its last attempt named, then those of its route, if its retry is due.
CREATE FUNCTION sluice_sleep_if_closed(step sluice_step_state, head sluice_head) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    names text[] := ARRAY[head.gate, head.waits_for_gate];
    closed text;
BEGIN
    IF coalesce(head.next_attempt_at <= step.now_at, true) THEN
        names := names || head.gates;
    END IF;
    IF array_remove(names, NULL) = '{}' THEN
        RETURN false;
    END IF;
    SELECT n.name INTO closed FROM unnest(names) WITH ORDINALITY AS n (name, place)
    WHERE n.name IS NOT NULL
      AND NOT EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = n.name AND g.is_open)
    ORDER BY n.place LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM sluice_sleep_for_gate(head.queue_id, head.low, head.id, closed);
    RETURN true;
END
$$;

-- Applies a failure policy to a head that may not start any more, and makes the answer.
CREATE FUNCTION sluice_fail_head(step sluice_step_state, head sluice_head, cause text, policy text, error text,
                                 OUT answer sluice_answer, OUT behind bigint[])
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM sluice_sleep(head.queue_id, step.now_at, head.low);
    IF cause = 'crashed' THEN
        UPDATE sluice_lane_rows AS l SET is_suspect = false WHERE l.queue_id = head.queue_id;
    END IF;
    behind := (SELECT f.behind FROM sluice_fail(head.queue_id, head.id, cause, policy, error) AS f);
    answer := sluice_answer_about('failed', head.id, head.name, head.kind, error, cause, policy);
END
$$;

-- Puts a lane in line for a permit of its head's route, or for the route's rate limit. No time wakes it: see
-- sluice_take_from_lines.
CREATE FUNCTION sluice_wait_in_line(step sluice_step_state, head sluice_head, line text) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM sluice_sleep(
        head.queue_id, NULL, head.low, line, head.id,
        CASE line WHEN 'permit' THEN head.pool || ' ' || coalesce(head.route_kind, '') ELSE head.rate END);
END
$$;

-- Writes the claims of a step, and gives back lanes: those without a head, at which nobody looks before an arrival, and
-- those that are kept still.
CREATE FUNCTION sluice_write_lanes(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    lanes bigint[];
    lows bigint[];
BEGIN
    IF step.new_claims <> '{}' THEN
        INSERT INTO sluice_claim_rows SELECT c.* FROM unnest(step.new_claims) AS c;
    END IF;
    IF step.taken_lanes <> '{}' THEN
        UPDATE sluice_lane_rows AS l
        SET worker = step.worker, term = CASE WHEN l.worker IS NULL THEN l.term + 1 ELSE l.term END,
            is_suspect = false, blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
        WHERE l.queue_id = ANY (step.taken_lanes);
    END IF;
    IF step.empty_lanes <> '{}' THEN
        -- In order, for the binary search.
        SELECT array_agg(t.lane), array_agg(t.low) INTO lanes, lows
        FROM (SELECT u.lane, u.low FROM unnest(step.empty_lanes, step.empty_lows) AS u (lane, low)
              ORDER BY u.lane) AS t;
        UPDATE sluice_lane_rows AS l
        SET worker = NULL, ready_at = NULL, rewind = false, is_suspect = false,
            low_id = greatest(l.low_id, lows[width_bucket(l.queue_id, lanes)]),
            blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
        WHERE l.queue_id = ANY (lanes);
    END IF;
    IF array_remove(step.kept_lanes, NULL) <> '{}' THEN
        SELECT array_agg(t.lane), array_agg(t.low) INTO lanes, lows
        FROM (SELECT u.lane, u.low FROM unnest(step.kept_lanes, step.kept_lows) AS u (lane, low)
              WHERE u.lane IS NOT NULL ORDER BY u.lane) AS t;
        UPDATE sluice_lane_rows AS l
        SET worker = NULL, ready_at = step.now_at,
            -- A queue in another order has none; a lane that rewinds keeps its own.
            low_id = CASE
                WHEN l.rewind THEN l.low_id
                WHEN (SELECT q.sort_type FROM sluice_queue_rows AS q WHERE q.queue_id = l.queue_id) <> 'arrival'
                    THEN l.low_id
                ELSE greatest(l.low_id, lows[width_bucket(l.queue_id, lanes)]) END
        WHERE l.queue_id = ANY (lanes);
        step.more := true;
    END IF;
    RETURN step;
END
$$;

-- When something is due next for a worker; NULL: nothing is known. At the time, call sluice_chores, then step.
CREATE FUNCTION sluice_next_due(me bigint, pools integer[]) RETURNS timestamptz
LANGUAGE plpgsql
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

-- Ends a step: answers which actions became dead letters with their queue, which claims were cancelled, and when to
-- look again, which is now if there is more to do. Notes whether the worker waits for the doorbell until then.
CREATE FUNCTION sluice_end_step(step sluice_step_state) RETURNS sluice_step_state
LANGUAGE plpgsql
AS $$
DECLARE
    has_claims CONSTANT boolean := cardinality(step.new_claims) > 0;
    due_at timestamptz := step.next_due;
BEGIN
    IF step.behind <> '{}' THEN
        step.answers := step.answers || ARRAY(
            SELECT sluice_answer_about('behind', d.action_id, d.queue, d.kind, d.error)
            FROM sluice_letters(step.behind) AS d);
    END IF;
    step.answers := step.answers || ARRAY(
        SELECT sluice_answer_on('cancel', c.claim)
        FROM sluice_state_rows AS s
        CROSS JOIN LATERAL (SELECT i.* FROM sluice_claim_rows AS i WHERE i.action_id = s.action_id OFFSET 0) AS c
        WHERE s.is_cancelled AND c.worker = step.worker AND NOT c.is_settled);
    IF step.free > 0 THEN
        due_at := CASE WHEN step.more AND NOT step.drains AND NOT (step.is_trial AND has_claims) THEN step.now_at
                       ELSE least(due_at, sluice_next_due(step.worker, step.pools)) END;
    END IF;
    IF (step.waits AND step.free > 0 AND due_at IS DISTINCT FROM step.now_at AND NOT has_claims) <> step.was_waiting
    THEN
        UPDATE sluice_worker_rows AS w SET waits = NOT step.was_waiting WHERE w.epoch = step.worker;
    END IF;
    step.answers := step.answers
        || ROW('next', NULL, NULL, NULL, NULL, NULL, NULL, step.arrivals_from, NULL, NULL, NULL, step.now_at, NULL,
               NULL, NULL, NULL, due_at, NULL, NULL)::sluice_answer;
    RETURN step;
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
-- the worker's row first, so that nobody takes the worker off before the step has committed (G6); then lanes; heads are
-- read after locking.
CREATE FUNCTION sluice_step(
    epoch bigint, lease interval, claims bigint[], outcomes text[], delays interval[], gates text[], closes boolean[],
    errors text[], causes text[], policies text[], routes integer[], permits integer[], free integer,
    next_claim bigint, waits boolean, arrivals_from integer DEFAULT 0, trial_limit interval DEFAULT '5 s',
    most_bytes bigint DEFAULT 16777216)
RETURNS SETOF sluice_answer
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '1s' SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_memoize = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    step sluice_step_state;
    answer sluice_answer;
BEGIN
    SELECT epoch, next_claim, free, coalesce(routes, '{}'), permits, waits, arrivals_from, trial_limit, most_bytes,
           false, false, false, 0, '{}', '{}', '{}'
    INTO step.worker, step.next_claim, step.free, step.limited, step.permits, step.waits, step.arrivals_from,
         step.trial_limit, step.bytes_left,
         step.is_trial, step.drains, step.is_full, step.trial_size, step.new_claims, step.behind, step.answers;
    step := sluice_begin_step(step, lease);
    IF cardinality(claims) > 0 THEN
        step := sluice_settle_receipts(step, ROW(claims, outcomes, delays, gates, closes, errors, causes, policies));
    END IF;
    -- Before the heads of the lanes that are kept, so that an action with an earlier place counts.
    step := sluice_take_arrivals(step);
    step := sluice_try_suspects(step);
    -- Kept lanes or suspects; ready lanes; lanes in line; and if permits are left, kept lanes whose turn is over: it
    -- lasts 16 actions, or 16 times a sixteenth of 50 ms.
    FOR phase IN 1 .. 4 LOOP
        EXIT WHEN step.free <= 0 OR step.drains OR phase > 1 AND (step.is_trial OR step.is_full);
        IF phase = 1 THEN
            IF NOT step.is_trial AND step.kept_lanes IS NOT NULL THEN
                step := sluice_look_at_kept(step, 16);
            END IF;
        ELSIF phase = 2 THEN
            step := sluice_look_at_ready(step);
        ELSIF phase = 3 THEN
            step.look_lanes := sluice_take_from_lines(step);
        ELSE
            EXIT WHEN step.kept_lanes IS NULL;
            step := sluice_look_at_kept(step, 2147483647);
        END IF;
        CONTINUE WHEN step.look_lanes IS NULL OR step.look_lanes = '{}';
        step := sluice_start_heads(step);
        FOREACH answer IN ARRAY step.answers LOOP
            RETURN NEXT answer;
        END LOOP;
        step.answers := '{}';
    END LOOP;
    step := sluice_write_lanes(step);
    step := sluice_end_step(step);
    FOREACH answer IN ARRAY step.answers LOOP
        RETURN NEXT answer;
    END LOOP;
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

-- Takes off one worker whose lease is over, and returns whether it did; call it again while it does. crashed: the
-- action that is blamed for the end. Only a worker may judge whose own lease has not lapsed for a whole lease: after a
-- frozen server or a clock set forward all leases lapse together, and nobody is judged. Any worker may give back what
-- is left of one that has ended.
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
        PERFORM sluice_refuse_worker();
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
-- call goes on where the worker's last one stopped, so that what cannot be ended now is in nobody's way. Returns how
-- much was done, and what became dead letters.
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
                     coalesce((SELECT r.expired FROM sluice_route_for(me, l.pool, a.kind) AS r),
                              -- Another worker may have a route with a policy of its own.
                              CASE WHEN sluice_has_route(l.pool, a.kind, me) THEN 'other' ELSE 'skip' END) AS policy
              FROM sluice_action_rows AS a
              CROSS JOIN LATERAL (SELECT i.* FROM sluice_lane_rows AS i WHERE i.queue_id = a.queue_id OFFSET 0) AS l
              WHERE a.id = ANY (found_actions) AND a.expires_at <= now_at AND a.queue_id = ANY (lanes)
                AND NOT (l.blocked_action_id IS NOT DISTINCT FROM a.id
                         AND sluice_parks(l.blocked_by))
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

-- What has to be done from time to time, in bounded batches, each by the worker that gets the rows. Call it about once
-- a second, when sluice_step says that something is due, and again while it does some.
--
-- Rows, by what: failed, as of sluice_step, an action that became a dead letter as its time was over before its queue
-- came to it; crashed, one whose worker was taken off while it ran alone; done, always and last, with how much was
-- done.
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
        PERFORM sluice_refuse_worker();
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
