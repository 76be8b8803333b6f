-- What an operator does: to an action, to queues, to gates, with holds and with dead letters. Each function is one act.
-- It locks the lane before it reads the action, so the act and a step come one after the other.
--
-- The answers are words: see each function. An act on many actions handles at most 1,000 in a call, so that a queue is
-- not locked for long; its answer says how to call it again. Sessions keep plans: those of acts on one action must be
-- good for large tables too, and those of acts on many are made for each call.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- The names from low on and before high are those that match a pattern.
CREATE FUNCTION sluice_bounds(pattern text, OUT low text, OUT high text)
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF coalesce(octet_length(pattern), 0) NOT BETWEEN 1 AND 512 THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidPattern',
            MESSAGE = format('the pattern %L must have 1 to 512 bytes', left(pattern, 100)),
            HINT = 'Write it as mail, mail/* or *.';
    ELSIF strpos(pattern, '*') = 0 THEN
        low := pattern;
        high := pattern || chr(1);
    ELSIF pattern = '*' THEN
        low := '';
        -- Greater than each name: it is longer than a name may be, of the greatest character.
        high := repeat(chr(1114111), 129);
    ELSIF strpos(pattern, '*') = length(pattern) AND right(pattern, 2) = '/*' THEN
        low := left(pattern, -1);
        -- The byte after the slash.
        high := left(pattern, -2) || '0';
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidPattern',
            MESSAGE = format('the pattern %L is neither a queue name nor a prefix that ends in /*, nor *', pattern),
            HINT = 'Write it as mail, mail/* or *.';
    END IF;
END
$$;

-- Waits until all lanes of some queues that there are could be locked in a moment, and locks them. While it waits for
-- one that another transaction has, it has none itself. Raises 55P03 after ten seconds, or the caller's lock_timeout if
-- that is shorter.
CREATE FUNCTION sluice_await_lanes(queues bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    before text := sluice_limit_waits();
    deadline timestamptz := clock_timestamp() + current_setting('lock_timeout')::interval;
    missing bigint;
BEGIN
    LOOP
        BEGIN
            -- Steps have lanes for a moment.
            PERFORM set_config('lock_timeout', '200ms', true);
            PERFORM FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (queues) ORDER BY l.queue_id FOR NO KEY UPDATE;
            PERFORM set_config('lock_timeout', before, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
        IF clock_timestamp() >= deadline THEN
            RAISE EXCEPTION USING ERRCODE = 'lock_not_available', DETAIL = 'databaseLocked',
                MESSAGE = 'another transaction holds one of the queues', HINT = 'End it, or try again.';
        END IF;
        BEGIN
            SELECT l.queue_id INTO missing FROM sluice_lane_rows AS l
            WHERE l.queue_id = ANY (queues)
              AND l.queue_id <> ALL (ARRAY(SELECT o.queue_id FROM sluice_lane_rows AS o
                                           WHERE o.queue_id = ANY (queues) FOR NO KEY UPDATE SKIP LOCKED))
            ORDER BY l.queue_id LIMIT 1;
            RAISE EXCEPTION USING ERRCODE = 'SL000';
        EXCEPTION WHEN SQLSTATE 'SL000' THEN
            NULL;
        END;
        BEGIN
            PERFORM set_config('lock_timeout', greatest(1, extract(epoch FROM deadline - clock_timestamp()) * 1000)
                                               ::integer || 'ms', true);
            PERFORM FROM sluice_lane_rows AS l WHERE l.queue_id = missing FOR NO KEY UPDATE;
            RAISE EXCEPTION USING ERRCODE = 'SL000';
        EXCEPTION WHEN SQLSTATE 'SL000' OR lock_not_available THEN
            NULL;
        END;
    END LOOP;
END
$$;

-- Locks the lanes of queues, the smallest number first, and makes those that are missing.
CREATE FUNCTION sluice_lock_lanes(queues bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    next_queue bigint;
    before text := sluice_limit_waits();
BEGIN
    -- With one snapshot for all statements, the act would not see the claims made before it got the lock.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION USING ERRCODE = 'SL005',
            MESSAGE = 'the act needs the isolation level READ COMMITTED, and the transaction has '
                      || upper(current_setting('transaction_isolation')),
            HINT = 'Call the function in a transaction of its own.';
    END IF;
    -- Many at once, if they are free in a moment. Whoever waits for one must not hold the others: the wait is alone,
    -- and what it locked is free again after it.
    IF cardinality(queues) > 1 THEN
        PERFORM sluice_await_lanes(queues);
    END IF;
    -- One by one: a row that is inserted is locked too.
    FOR next_queue IN SELECT DISTINCT e.queue_id FROM unnest(queues) AS e (queue_id) ORDER BY e.queue_id LOOP
        PERFORM FROM sluice_lane_rows AS l WHERE l.queue_id = next_queue FOR NO KEY UPDATE;
        CONTINUE WHEN FOUND;
        INSERT INTO sluice_lane_rows (queue_id, pool)
        SELECT q.queue_id, sluice_pool_of(q.name) FROM sluice_queue_rows AS q WHERE q.queue_id = next_queue
        ON CONFLICT DO NOTHING;
        -- The transaction may stay open while a worker makes a pool, which must not wait for it and does not see the
        -- lane. So its pool is computed again, by who sees both.
        INSERT INTO sluice_task_rows (what, detail)
        SELECT 'pool', q.name FROM sluice_queue_rows AS q WHERE FOUND AND q.queue_id = next_queue;
        PERFORM FROM sluice_lane_rows AS l WHERE l.queue_id = next_queue FOR NO KEY UPDATE;
    END LOOP;
    PERFORM set_config('lock_timeout', before, true);
END
$$;

-- Locks those of the queues that no other transaction has, and returns them; if others have all, waits for the first.
-- So an act on many queues is done for those that are free, and the next call is for the rest. With appends it locks
-- them for an append too.
CREATE FUNCTION sluice_lock_free(queues bigint[], appends boolean DEFAULT false) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    before text := current_setting('lock_timeout');
    wanted bigint[] := ARRAY(SELECT DISTINCT q FROM unnest(queues) AS q ORDER BY q);
    free bigint[] := wanted;
    missing bigint[];
BEGIN
    IF wanted = '{}' THEN RETURN wanted; END IF;
    -- For its check of the isolation level.
    PERFORM sluice_lock_lanes('{}');
    BEGIN
        IF appends THEN
            free := ARRAY(SELECT q.queue_id FROM sluice_queue_rows AS q WHERE q.queue_id = ANY (free)
                          ORDER BY q.queue_id FOR NO KEY UPDATE SKIP LOCKED);
        END IF;
        missing := ARRAY(SELECT f FROM unnest(free) AS f
                         WHERE NOT EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.queue_id = f) ORDER BY f);
        free := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (free)
                      ORDER BY l.queue_id FOR NO KEY UPDATE SKIP LOCKED);
        BEGIN
            -- Another transaction may make one of them, and may stay open.
            PERFORM set_config('lock_timeout', '20ms', true);
            PERFORM sluice_lock_lanes(missing);
            PERFORM set_config('lock_timeout', before, true);
            free := ARRAY(SELECT f FROM unnest(free || missing) AS f ORDER BY f);
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
        -- Whoever waits has nothing locked.
        IF free = '{}' THEN RAISE EXCEPTION USING ERRCODE = 'SL000'; END IF;
        RETURN free;
    EXCEPTION WHEN SQLSTATE 'SL000' THEN
        NULL;
    END;
    IF appends THEN PERFORM sluice_lock_queues(wanted[1:1]); END IF;
    PERFORM sluice_lock_lanes(wanted[1:1]);
    RETURN wanted[1:1];
END
$$;

-- Waits while the application settles an action in a transaction of its own, which has the claim. Whoever waited for it
-- with the lane's lock would keep the worker's step waiting too. Nothing is locked afterwards.
CREATE FUNCTION sluice_await_claim(action bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    before text;
BEGIN
    IF NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = action) THEN RETURN; END IF;
    before := sluice_limit_waits();
    BEGIN
        PERFORM FROM sluice_claim_rows AS c WHERE c.action_id = action FOR SHARE;
        -- A step that has the lane may delete the claim, so the lock is given back.
        RAISE EXCEPTION USING ERRCODE = 'SL000';
    EXCEPTION WHEN SQLSTATE 'SL000' THEN
        NULL;
    END;
    PERFORM set_config('lock_timeout', before, true);
END
$$;

-- Locks the claim of an action whose lane is locked, so that the application does not settle it during the act.
CREATE FUNCTION sluice_lock_claim(action bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM FROM sluice_claim_rows AS c WHERE c.action_id = action FOR SHARE NOWAIT;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available', DETAIL = 'databaseLocked',
        MESSAGE = format('action %s is settled by a transaction of the application', action), HINT = 'Try again.';
END
$$;

-- Locks the lane and the claim of an action, and returns its queue; NULL if there is no such action.
CREATE FUNCTION sluice_lock_action(action bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    seen   bigint;
    locked bigint;
BEGIN
    PERFORM sluice_await_claim(action);
    LOOP
        SELECT a.queue_id INTO seen FROM sluice_action_rows AS a WHERE a.id = action;
        -- The action may have moved before the lock was got.
        EXIT WHEN seen IS NULL OR seen = locked;
        PERFORM sluice_lock_lanes(ARRAY[seen]);
        locked := seen;
    END LOOP;
    PERFORM sluice_lock_claim(action);
    RETURN seen;
END
$$;

-- Lets workers look at the heads of queues whose lanes are locked, after a change. A parked queue stays parked, unless
-- one of the actions `lifted` has parked it.
--
-- `rewinds`: an action has a place that may be before the lane's low_id. The act says so in the lane, which it has
-- locked. An arrival would say so only when a step takes it in, and a later action could be claimed before.
CREATE FUNCTION sluice_touch(queues bigint[], rewinds boolean, lifted bigint[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    now_ timestamptz := sluice_now();
BEGIN
    IF rewinds THEN
        UPDATE sluice_lane_rows AS l SET rewind = true WHERE l.queue_id = ANY (queues) AND NOT l.rewind;
    END IF;
    -- What parked the queue is gone.
    UPDATE sluice_lane_rows AS l
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
    WHERE l.queue_id = ANY (queues) AND l.blocked_action_id = ANY (lifted) AND l.blocked_by <> 'failing';
    -- A worker that has the lane looks at the next head by itself. What the head waits for stays in the lane: if a step
    -- finds the same again, the queue keeps its place in the line.
    UPDATE sluice_lane_rows AS l
    SET ready_at = now_,
        -- The act may have changed the head.
        is_suspect = EXISTS (SELECT FROM sluice_state_rows AS s
                             WHERE s.awaits_trial
                               AND s.action_id = (SELECT a.id FROM sluice_first_action(l.queue_id) AS a (id)))
    WHERE l.queue_id = ANY (queues) AND l.worker IS NULL
      AND (l.blocked_by IS NULL
           OR NOT (sluice_parks(l.blocked_by) OR l.blocked_by = 'failing'));
    PERFORM sluice_ring();
END
$$;

-- Marks actions that enter failing queues from elsewhere: their numbers may be smaller than fail_through_id, and they
-- are spared.
CREATE FUNCTION sluice_spare(actions bigint[], queues bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO sluice_state_rows (action_id, spared_through)
    SELECT a.id, l.fail_through_id
    FROM sluice_lane_rows AS l JOIN sluice_action_rows AS a ON a.queue_id = l.queue_id
    WHERE l.queue_id = ANY (queues) AND l.blocked_by = 'failing' AND a.id = ANY (actions)
    ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET spared_through = excluded.spared_through;
END
$$;

-- Cancels actions whose lanes are locked: removes those that wait, marks those that run, and returns the latter.
CREATE FUNCTION sluice_cancel_locked(actions bigint[], queues bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    running bigint[];
    waiting bigint[];
BEGIN
    -- Without those that the application settles now: their success counts.
    running := ARRAY(
        SELECT c.action_id FROM sluice_claim_rows AS c
        WHERE c.action_id = ANY (actions) AND c.queue_id = ANY (queues) AND NOT c.is_settled
        ORDER BY c.action_id FOR SHARE SKIP LOCKED);
    waiting := ARRAY(
        SELECT a.id FROM sluice_action_rows AS a WHERE a.id = ANY (actions) AND a.queue_id = ANY (queues)
          AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = a.id) ORDER BY a.id);
    INSERT INTO sluice_state_rows (action_id, is_cancelled) SELECT e.id, true FROM unnest(running) AS e (id)
    ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET is_cancelled = true;
    PERFORM sluice_drop(waiting, false);
    PERFORM sluice_touch(queues, false, waiting);
    RETURN running;
END
$$;

-- Cancels an action. 'removed': it waited. 'signalled': it runs; its worker cancels the handler, and any outcome but
-- success removes the action. 'tooLate': there is no such action.
CREATE FUNCTION sluice_cancel(action bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked bigint := sluice_lock_action(action);
BEGIN
    IF locked IS NULL THEN RETURN 'tooLate'; END IF;
    RETURN CASE sluice_cancel_locked(ARRAY[action], ARRAY[locked]) WHEN '{}' THEN 'removed' ELSE 'signalled' END;
END
$$;

-- Cancels at most 1,000 actions with a tag. If `next` is not NULL, call it again with `next` as `after` and the same
-- `last` as `through`, which spares the actions enqueued since the first call.
CREATE FUNCTION sluice_cancel_tag(tag text, after bigint DEFAULT 0, through bigint DEFAULT NULL)
RETURNS TABLE (removed integer, signalled bigint[], last bigint, next bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    found   bigint[];
    queues  bigint[];
    skipped bigint;
BEGIN
    last := coalesce(through, (SELECT max(a.id) FROM sluice_action_rows AS a), 0);
    SELECT coalesce(array_agg(t.id), '{}'), coalesce(array_agg(DISTINCT t.queue_id), '{}') INTO found, queues
    FROM (SELECT a.id, a.queue_id FROM sluice_action_rows AS a
          WHERE a.tag = sluice_cancel_tag.tag AND a.id > after AND a.id <= last
            -- The call before has marked it.
            AND NOT (through IS NOT NULL AND EXISTS (SELECT FROM sluice_state_rows AS s
                                                     WHERE s.action_id = a.id AND s.is_cancelled))
          ORDER BY a.id LIMIT 1000) AS t;
    queues := sluice_lock_free(queues);
    -- In a queue that another transaction has, or moved to another queue before the lock was got: the next call finds
    -- it.
    SELECT min(a.id) INTO skipped FROM sluice_action_rows AS a
    WHERE a.id = ANY (found) AND NOT (a.queue_id = ANY (queues));
    IF skipped IS NOT NULL THEN
        next := skipped - 1;
    ELSIF cardinality(found) = 1000 THEN
        next := found[1000];
    END IF;
    found := ARRAY(SELECT a.id FROM sluice_action_rows AS a WHERE a.id = ANY (found) AND a.queue_id = ANY (queues)
                   ORDER BY a.id);
    signalled := sluice_cancel_locked(found, queues);
    removed := cardinality(found) - (SELECT count(*) FROM sluice_action_rows AS a WHERE a.id = ANY (found));
    RETURN NEXT;
END
$$;

-- Cancels at most 1,000 actions in the queues of a pattern. If `next` is not NULL, call it again with `next` as `start`
-- and the same `last` as `through`, which spares the actions enqueued since the first call.
CREATE FUNCTION sluice_cancel_queues(pattern text, start text DEFAULT NULL, through bigint DEFAULT NULL)
RETURNS TABLE (removed integer, signalled bigint[], last bigint, next text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    bounds record;
    found  bigint[];
    queues bigint[];
    wanted bigint[];
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    last := coalesce(through, (SELECT max(a.id) FROM sluice_action_rows AS a), 0);
    SELECT coalesce(array_agg(t.id), '{}'), coalesce(array_agg(DISTINCT t.queue_id), '{}'),
           CASE WHEN count(*) = 1000 THEN max(t.name) END
    INTO found, queues, next
    FROM (SELECT w.id, q.queue_id, q.name
          FROM sluice_queue_rows AS q
          CROSS JOIN LATERAL (
              (SELECT a.id FROM sluice_action_rows AS a
               WHERE a.queue_id = q.queue_id AND a.not_before IS NULL AND a.id <= last
                 -- The call before has marked it.
                 AND NOT (through IS NOT NULL AND EXISTS (SELECT FROM sluice_state_rows AS s
                                                          WHERE s.action_id = a.id AND s.is_cancelled))
               ORDER BY a.sort_key, a.id LIMIT 1000)
              UNION ALL
              (SELECT a.id FROM sluice_action_rows AS a
               WHERE a.queue_id = q.queue_id AND a.not_before IS NOT NULL AND a.id <= last
               ORDER BY a.not_before LIMIT 1000)) AS w
          WHERE q.name >= coalesce(start, bounds.low) AND q.name >= bounds.low AND q.name < bounds.high
          ORDER BY q.name LIMIT 1000) AS t;
    wanted := queues;
    queues := sluice_lock_free(queues);
    -- The next call begins at the first of those that another transaction has.
    SELECT least(next, min(q.name)) INTO next FROM sluice_queue_rows AS q
    WHERE q.queue_id = ANY (wanted) AND q.queue_id <> ALL (queues);
    found := ARRAY(SELECT a.id FROM sluice_action_rows AS a WHERE a.id = ANY (found) AND a.queue_id = ANY (queues));
    signalled := sluice_cancel_locked(found, queues);
    removed := cardinality(found) - (SELECT count(*) FROM sluice_action_rows AS a WHERE a.id = ANY (found));
    RETURN NEXT;
END
$$;

-- Gives an action that does not run to another queue. Both lanes and the target's row are locked.
CREATE FUNCTION sluice_relocate(action bigint, source bigint, target bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    UPDATE sluice_action_rows AS a SET queue_id = target WHERE a.id = action;
    UPDATE sluice_state_rows AS s SET moves_to = NULL WHERE s.action_id = action AND s.moves_to IS NOT NULL;
    PERFORM sluice_move_key(action, target);
    PERFORM sluice_spare(ARRAY[action], ARRAY[target]);
    PERFORM sluice_touch(ARRAY[source], false, ARRAY[action]);
    PERFORM sluice_touch(ARRAY[target], true);
END
$$;

-- Gives a queue whose row is locked a type of sort key, and returns whether it has that type. A queue with actions, or
-- to which one moves, keeps its own.
CREATE FUNCTION sluice_take_sort_type(queue bigint, wanted text) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF EXISTS (SELECT FROM sluice_queue_rows AS q WHERE q.queue_id = queue AND q.sort_type = wanted) THEN
        RETURN true;
    END IF;
    IF sluice_depth(queue, 1) > 0 OR EXISTS (SELECT FROM sluice_state_rows AS s WHERE s.moves_to = queue) THEN
        RETURN false;
    END IF;
    UPDATE sluice_queue_rows AS q SET sort_type = wanted WHERE q.queue_id = queue;
    RETURN FOUND;
END
$$;

-- Moves an action to another queue, to the place of its sort key and number; attempts and wait stay. 'done'.
-- 'deferred': it runs, and moves when its attempt ends, unless it succeeds. 'missing': there is no such action.
--
-- max_depth and sort_type: what the application's options say of the other queue.
CREATE FUNCTION sluice_move(action bigint, queue text, max_depth integer DEFAULT NULL, sort_type text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    source record;
    target record;
    seen   bigint;
BEGIN
    SELECT a.queue_id, q.name, q.sort_type INTO source
    FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id WHERE a.id = action;
    IF NOT FOUND THEN RETURN 'missing'; END IF;
    IF source.name = queue THEN
        IF sluice_lock_action(action) IS NULL THEN RETURN 'missing'; END IF;
        UPDATE sluice_state_rows AS s SET moves_to = NULL WHERE s.action_id = action AND s.moves_to IS NOT NULL;
        RETURN 'done';
    END IF;
    IF sluice_move.sort_type <> source.sort_type THEN
        RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = 'sortKeyMismatch',
            MESSAGE = format('the queue %L is ordered by %s, as its options say; the key of action %s is %s', queue,
                             sluice_move.sort_type, action, source.sort_type),
            HINT = 'Move it to a queue of its own type of key.';
    END IF;
    PERFORM sluice_await_claim(action);
    -- As an enqueue: first the queue's row, which counts its actions and has the type of their keys.
    SELECT f.queue_id, f.sort_type INTO target FROM sluice_queues_for(ARRAY[queue], ARRAY[source.sort_type]) AS f;
    PERFORM sluice_lock_lanes(ARRAY[source.queue_id, target.queue_id]);
    PERFORM sluice_lock_claim(action);
    SELECT a.queue_id INTO seen FROM sluice_action_rows AS a WHERE a.id = action;
    IF NOT FOUND THEN RETURN 'missing'; END IF;
    IF seen <> source.queue_id THEN
        RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
            MESSAGE = format('action %s was moved at the same time', action), HINT = 'Try again.';
    END IF;
    IF sluice_depth(target.queue_id, max_depth) >= max_depth THEN
        RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = 'queueFull',
            MESSAGE = format('the queue %L is full: it holds %s actions', queue, max_depth),
            HINT = 'Move the action later, or raise the limit.';
    END IF;
    IF NOT sluice_take_sort_type(target.queue_id, source.sort_type) THEN
        RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = 'sortKeyMismatch',
            MESSAGE = format('the queue %L is ordered by %s; the key of action %s is %s', queue, target.sort_type,
                             action, source.sort_type),
            HINT = 'Move it to a queue of its own type of key, or wait until that queue is empty.';
    END IF;
    IF EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = action) THEN
        INSERT INTO sluice_state_rows (action_id, moves_to) VALUES (action, target.queue_id)
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET moves_to = excluded.moves_to;
        RETURN 'deferred';
    END IF;
    PERFORM sluice_relocate(action, source.queue_id, target.queue_id);
    RETURN 'done';
END
$$;

-- Returns a key that is just before another one of its type, or NULL if no key is. In a composite key, the last part
-- that can be changed is.
CREATE FUNCTION sluice_smaller_key(sort_type text, key bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    bits  bigint;
    parts text[];
    types text[];
    part  text;
    place integer;
BEGIN
    IF sort_type = 'arrival' THEN
        -- The place of arrival; actions before it have numbers below zero, as in the file.
        IF key = '\x80' THEN RETURN int8send(9223372036854775807); END IF;
        IF octet_length(key) < 8 THEN RETURN NULL; END IF;
    END IF;
    IF sort_type IN ('arrival', 'integer', 'date', 'real') THEN
        bits := ('x' || encode(key, 'hex'))::bit(64)::bigint;
        -- The smallest integer, and minus infinity.
        IF bits = 0 OR (sort_type = 'real' AND bits = x'000fffffffffffff'::bigint) THEN RETURN NULL; END IF;
        -- The bytes are an unsigned number.
        bits := CASE bits WHEN -9223372036854775808 THEN 9223372036854775807 ELSE bits - 1 END;
        -- Minus zero is no key of its own.
        IF sort_type = 'real' AND bits = 9223372036854775807 THEN bits := bits - 1; END IF;
        RETURN int8send(bits);
    END IF;
    IF sort_type = 'text' THEN
        IF key = '' THEN RETURN NULL; END IF;
        -- A prefix of a text sorts before it.
        RETURN convert_to(left(convert_from(key, 'UTF8'), -1), 'UTF8');
    END IF;
    parts := string_to_array(convert_from(key, 'UTF8'), chr(9));
    types := string_to_array(substr(sort_type, 11), ',');
    FOR place IN REVERSE cardinality(types) .. 1 LOOP
        part := parts[place];
        parts[place] := CASE types[place]
            -- Each line feed escapes the character after it.
            WHEN 'text' THEN CASE WHEN part = '' THEN NULL
                               WHEN left(right(part, 2), 1) = chr(10) THEN left(part, -2)
                               ELSE left(part, -1) END
            WHEN 'real' THEN CASE WHEN part = '000fffffffffffff' THEN NULL
                               -- As above: the number before zero is not minus zero.
                               WHEN part = '8000000000000000' THEN '7ffffffffffffffe'
                               ELSE lpad(to_hex(CASE ('x' || part)::bit(64)::bigint
                                                    WHEN -9223372036854775808 THEN 9223372036854775807
                                                    ELSE ('x' || part)::bit(64)::bigint - 1 END), 16, '0') END
            ELSE CASE WHEN part ~ '^[1-9]\d{3}-\d\d-\d\dT' AND part > '1000-01-01T00:00:00.000000Z'
                          THEN to_char((part::timestamptz - interval '1 microsecond') AT TIME ZONE 'UTC',
                                       'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
                      WHEN part ~ '^-\d{19}$' AND part <> '-' || repeat('0', 19)
                          THEN '-' || lpad((substr(part, 2)::numeric - 1)::text, 19, '0')
                      WHEN part ~ '^\d{19}$' AND part <> repeat('0', 19) THEN lpad((part::numeric - 1)::text, 19, '0')
                      WHEN part = repeat('0', 19) AND types[place] = 'integer' THEN '-9223372036854775807' END
        END;
        IF parts[place] IS NOT NULL THEN RETURN convert_to(array_to_string(parts, chr(9)), 'UTF8'); END IF;
        parts[place] := part;
    END LOOP;
    RETURN NULL;
END
$$;

-- Makes a waiting action the next to start in its queue; a scheduled one is due at once. A wait for a retry stays, and
-- the queue then waits for it. 'done'; 'running': nothing was changed; 'missing'.
CREATE FUNCTION sluice_move_to_front(action bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked  bigint := sluice_lock_action(action);
    own     record;
    ahead   record;
    new_key bytea;
BEGIN
    IF locked IS NULL THEN RETURN 'missing'; END IF;
    IF EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = action) THEN RETURN 'running'; END IF;
    SELECT a.sort_key, a.not_before, q.sort_type INTO own
    FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id WHERE a.id = action;
    IF NOT FOUND THEN RETURN 'missing'; END IF;
    -- A running action is the first in its queue, and the next one starts after it.
    SELECT a.sort_key, a.id INTO ahead FROM sluice_action_rows AS a
    WHERE a.queue_id = locked AND a.not_before IS NULL
      AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = a.id)
    ORDER BY a.sort_key, a.id LIMIT 1;
    new_key := own.sort_key;
    IF FOUND AND (ahead.sort_key, ahead.id) < (own.sort_key, action) THEN
        new_key := CASE WHEN action < ahead.id THEN ahead.sort_key
                        ELSE sluice_smaller_key(own.sort_type, ahead.sort_key) END;
        IF new_key IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = 'noSmallerSortKey',
                MESSAGE = format('no sort key is smaller than that of action %s, the first of its queue', ahead.id),
                HINT = 'Move that action back, or use another type of key.';
        END IF;
    END IF;
    IF own.not_before IS NOT NULL OR new_key <> own.sort_key THEN
        UPDATE sluice_action_rows AS a SET sort_key = new_key, not_before = NULL WHERE a.id = action;
        PERFORM sluice_touch(ARRAY[locked], true);
    END IF;
    RETURN 'done';
END
$$;

-- Raises SL003 if a value is not as an enqueue would take it.
CREATE FUNCTION sluice_check_edit(kind text, payload text, version integer, not_before timestamptz DEFAULT NULL,
                                  expires_at timestamptz DEFAULT NULL, tag text DEFAULT NULL, gate text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM sluice_check_actions(
        kinds => ARRAY[kind], versions => ARRAY[version], payloads => ARRAY[coalesce(payload, '')], sort_types => NULL,
        sort_keys => NULL, not_before => ARRAY[not_before], expires_at => ARRAY[expires_at], tags => ARRAY[tag],
        gates => ARRAY[gate], keys => NULL, key_policies => NULL, key_keep => NULL, depths => NULL);
END
$$;

-- Replaces the payload of an action, and its kind and version if they are given; queue, place and attempts stay. If it
-- was parked because its payload did not decode or its kind was unknown, it is tried again. 'done'. 'deferred': it
-- runs, and the edit is for its next attempt. 'running': it runs, and if_running is 'refuse'. 'conflict': not `old` is
-- stored, but another payload. 'missing'.
CREATE FUNCTION sluice_edit(action bigint, kind text, payload text, version integer, if_running text DEFAULT 'next',
                            old text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked  bigint;
    claimed bigint;
BEGIN
    IF if_running NOT IN ('next', 'refuse') THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = format('if_running is %L', if_running), HINT = 'Give next or refuse.';
    END IF;
    PERFORM sluice_check_edit(coalesce(kind, '-'), payload, version);
    locked := sluice_lock_action(action);
    IF locked IS NULL THEN RETURN 'missing'; END IF;
    IF EXISTS (SELECT FROM sluice_action_rows AS a WHERE a.id = action AND a.payload <> old) THEN
        RETURN 'conflict';
    END IF;
    SELECT c.claim INTO claimed FROM sluice_claim_rows AS c WHERE c.action_id = action;
    IF claimed IS NOT NULL AND if_running = 'refuse' THEN RETURN 'running'; END IF;
    UPDATE sluice_action_rows AS a
    SET kind = coalesce(sluice_edit.kind, a.kind), payload = sluice_edit.payload,
        version = coalesce(sluice_edit.version, a.version)
    WHERE a.id = action;
    -- The application may have settled it in a transaction of its own.
    IF NOT FOUND THEN RETURN 'missing'; END IF;
    IF claimed IS NOT NULL THEN
        -- So that a success tells that it has not seen the edit.
        INSERT INTO sluice_state_rows (action_id, edited_claim) VALUES (action, claimed)
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE SET edited_claim = excluded.edited_claim;
        RETURN 'deferred';
    END IF;
    PERFORM sluice_touch(ARRAY[locked], false, ARRAY(
        SELECT l.blocked_action_id FROM sluice_lane_rows AS l
        WHERE l.queue_id = locked AND l.blocked_action_id = action AND l.blocked_by = 'undecodable'));
    RETURN 'done';
END
$$;

-- Schedules an action for later, or makes it due now, with NULL or a time in the past. A wait for a retry stays, and so
-- does a parking that the action has caused. 'done'; 'running': nothing was changed; 'missing'.
CREATE FUNCTION sluice_reschedule(action bigint, not_before timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked bigint;
    due_at timestamptz := CASE WHEN sluice_reschedule.not_before > sluice_now() THEN sluice_reschedule.not_before END;
BEGIN
    PERFORM sluice_check_time('not_before', due_at);
    locked := sluice_lock_action(action);
    IF locked IS NULL THEN RETURN 'missing'; END IF;
    IF EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = action) THEN RETURN 'running'; END IF;
    UPDATE sluice_action_rows AS a SET not_before = due_at WHERE a.id = action AND a.not_before IS DISTINCT FROM due_at;
    PERFORM sluice_touch(ARRAY[locked], due_at IS NULL);
    RETURN 'done';
END
$$;

-- Sets or clears the time after which an action does not start. 'done'; 'deferred': it runs, and the running attempt is
-- not affected; 'missing'.
CREATE FUNCTION sluice_set_expiry(action bigint, expires_at timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked bigint;
BEGIN
    PERFORM sluice_check_time('expires_at', sluice_set_expiry.expires_at);
    locked := sluice_lock_action(action);
    UPDATE sluice_action_rows AS a SET expires_at = sluice_set_expiry.expires_at WHERE a.id = action;
    IF locked IS NULL OR NOT FOUND THEN RETURN 'missing'; END IF;
    IF EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = action) THEN RETURN 'deferred'; END IF;
    PERFORM sluice_touch(ARRAY[locked], false);
    RETURN 'done';
END
$$;

-- Sets or clears the tag of an action at once, also while it runs. 'done' or 'missing'.
CREATE FUNCTION sluice_set_tag(action bigint, tag text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF octet_length(tag) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'the tag must have 1 to 255 bytes', HINT = 'Give another tag, or NULL for none.';
    END IF;
    IF sluice_lock_action(action) IS NULL THEN RETURN 'missing'; END IF;
    UPDATE sluice_action_rows AS a SET tag = sluice_set_tag.tag WHERE a.id = action;
    RETURN CASE WHEN FOUND THEN 'done' ELSE 'missing' END;
END
$$;

-- Makes the action that has parked a queue a dead letter, or else the head, and lets the queue continue. 'skipped' with
-- the action, its kind and the letter's error; 'running' with the action that runs: nothing was changed; 'empty';
-- 'other' with the action that would be skipped, if it is not the one of `expected`: nothing was changed. Without a
-- reason the dead letter keeps the action's last error.
CREATE FUNCTION sluice_skip_head(queue text, reason text DEFAULT NULL, expected bigint DEFAULT NULL)
RETURNS TABLE (result text, action bigint, kind text, error text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked bigint := (SELECT q.queue_id FROM sluice_queue_rows AS q WHERE q.name = queue);
BEGIN
    result := 'empty';
    IF locked IS NOT NULL THEN
        PERFORM sluice_lock_lanes(ARRAY[locked]);
        -- It need not be the first: an action that sorts before it may have arrived since.
        SELECT a.id INTO action
        FROM sluice_lane_rows AS l
        JOIN sluice_action_rows AS a ON a.id = l.blocked_action_id AND a.queue_id = l.queue_id
        WHERE l.queue_id = locked AND l.worker IS NULL
          AND sluice_parks(l.blocked_by);
        IF action IS NULL THEN
            SELECT c.action_id INTO action
            FROM sluice_lane_rows AS l JOIN sluice_claim_rows AS c ON c.worker = l.worker AND c.queue_id = l.queue_id
            WHERE l.queue_id = locked;
            IF FOUND THEN
                result := 'running';
                RETURN NEXT;
                RETURN;
            END IF;
            SELECT a.id INTO action FROM sluice_first_action(locked) AS a (id);
        END IF;
        IF action <> expected THEN
            result := 'other';
        ELSIF action IS NOT NULL THEN
            PERFORM sluice_bury(
                ARRAY[action],
                'skipped',
                coalesce(reason, (SELECT s.last_error FROM sluice_state_rows AS s WHERE s.action_id = action),
                         'skipped')
            );
            PERFORM sluice_touch(ARRAY[locked], false, ARRAY[action]);
            SELECT 'skipped', d.kind, d.error INTO result, kind, error FROM sluice_dead_rows AS d WHERE d.id = action;
        END IF;
    END IF;
    RETURN NEXT;
END
$$;

-- Ends the retry waits of queues and unparks them, at most 1,000 of each; `changed` counts the queues. It overrides
-- neither a hold nor a gate. If `again` is not NULL, call it again with `again` as `before`, which spares the waits
-- begun since the first call.
CREATE FUNCTION sluice_retry_now(pattern text, before timestamptz DEFAULT NULL)
RETURNS TABLE (changed integer, again timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    now_    timestamptz := sluice_now();
    bounds  record;
    waiting bigint[];
    parked  bigint[];
    queues  bigint[];
    locked  bigint[];
    is_full boolean;
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    SELECT coalesce(array_agg(t.id), '{}'), coalesce(array_agg(t.queue_id), '{}'), count(*) = 1000
    INTO waiting, queues, is_full
    FROM (SELECT a.id, a.queue_id
          FROM sluice_state_rows AS s
          JOIN sluice_action_rows AS a ON a.id = s.action_id
          JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
          WHERE s.next_attempt_at IS NOT NULL
            AND (before IS NULL OR s.next_attempt_at - coalesce(s.retry_delay, interval '0') <= before)
            AND q.name >= bounds.low AND q.name < bounds.high
            AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = a.id)
          LIMIT 1000) AS t;
    SELECT coalesce(array_agg(t.queue_id), '{}'), is_full OR count(*) = 1000 INTO parked, is_full
    FROM (SELECT l.queue_id
          FROM sluice_lane_rows AS l JOIN sluice_queue_rows AS q ON q.queue_id = l.queue_id
          WHERE l.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable', 'unknown kind', 'no route',
                                 'gate')
            AND (before IS NULL OR l.blocked_at <= before)
            AND q.name >= bounds.low AND q.name < bounds.high
          LIMIT 1000) AS t;
    locked := sluice_lock_free(queues || parked);
    is_full := is_full OR cardinality(locked) < (SELECT count(DISTINCT q) FROM unnest(queues || parked) AS q);
    queues := ARRAY(SELECT q FROM unnest(queues) AS q WHERE q = ANY (locked));
    parked := ARRAY(SELECT q FROM unnest(parked) AS q WHERE q = ANY (locked));
    waiting := ARRAY(SELECT a.id FROM sluice_action_rows AS a
                     WHERE a.id = ANY (waiting) AND a.queue_id = ANY (queues)
                       AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = a.id));
    parked := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                    WHERE l.queue_id = ANY (parked) AND l.worker IS NULL
                      AND l.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable', 'unknown kind',
                                           'no route', 'gate'));
    -- With its crash count the action would be parked again untried. It stays a suspect, and runs alone.
    UPDATE sluice_state_rows AS s SET crashes = 0
    FROM sluice_lane_rows AS l
    WHERE l.queue_id = ANY (parked) AND l.blocked_by = 'crashed' AND s.action_id = l.blocked_action_id;
    WITH ended AS (
        UPDATE sluice_state_rows AS s SET next_attempt_at = NULL, retry_delay = NULL
        WHERE s.action_id = ANY (waiting) AND s.next_attempt_at IS NOT NULL
        RETURNING s.action_id
    )
    SELECT coalesce(array_agg(DISTINCT a.queue_id), '{}') INTO queues
    FROM ended AS e JOIN sluice_action_rows AS a ON a.id = e.action_id;
    PERFORM sluice_touch(queues || parked, false, ARRAY(
        SELECT l.blocked_action_id FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (parked)));
    changed := (SELECT count(DISTINCT e.queue_id) FROM unnest(queues || parked) AS e (queue_id));
    again := CASE WHEN is_full THEN coalesce(before, now_) END;
    RETURN NEXT;
END
$$;

-- Wakes some of the lanes that sleep for a gate or a hold; they start spread over a time. Returns those that it woke.
--
-- The row of the gate or hold was locked before: a step that puts a lane to sleep for it holds that row FOR KEY SHARE,
-- so this statement sees the lane. It waits for no lane: a step that has one may wait for the row. Such a lane gets an
-- arrival, which is taken in when the lane is free.
CREATE FUNCTION sluice_wake_some(reason text, detail text, spread interval, most integer, now_at timestamptz)
RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
DECLARE
    free bigint[];
BEGIN
    free := ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                  WHERE l.blocked_by = reason AND l.blocked_error = detail AND l.worker IS NULL
                  LIMIT most FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE sluice_lane_rows AS l
    SET ready_at = now_at + random() * greatest(spread, interval '0'), blocked_by = NULL, blocked_action_id = NULL,
        blocked_at = NULL, blocked_error = NULL
    WHERE l.queue_id = ANY (free);
    IF cardinality(free) < most THEN
        PERFORM sluice_arrive(ARRAY(SELECT l.queue_id FROM sluice_lane_rows AS l
                                    WHERE l.blocked_by = reason AND l.blocked_error = detail), true);
    END IF;
    RETURN free;
END
$$;

-- Wakes the lanes that sleep for a gate or a hold: a thousand now, more of them by the workers' chores.
CREATE FUNCTION sluice_wake_blocked(reason text, detail text, spread interval) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF cardinality(sluice_wake_some(reason, detail, spread, 1000, sluice_now())) = 1000 THEN
        INSERT INTO sluice_task_rows (what, detail, spread) VALUES (reason, detail, greatest(spread, interval '0'));
    END IF;
    PERFORM sluice_ring();
END
$$;

-- Locks the row of a gate, and makes it if it is missing; refuses a name that is none.
CREATE FUNCTION sluice_lock_gate(gate text) RETURNS sluice_gate_rows
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    found_gate sluice_gate_rows;
    before text := sluice_limit_waits();
BEGIN
    IF coalesce(octet_length(gate), 0) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidGate',
            MESSAGE = 'the name of the gate must have 1 to 255 bytes', HINT = 'Give another name.';
    END IF;
    IF NOT EXISTS (SELECT FROM sluice_gate_rows AS g WHERE g.name = gate) THEN
        -- The row cannot be seen before the commit; this lock can, by a step.
        PERFORM pg_advisory_xact_lock(sluice_gate_number(gate));
        INSERT INTO sluice_gate_rows (name, is_open) VALUES (gate, false) ON CONFLICT DO NOTHING;
    END IF;
    SELECT * INTO found_gate FROM sluice_gate_rows AS g WHERE g.name = gate FOR UPDATE;
    PERFORM set_config('lock_timeout', before, true);
    RETURN found_gate;
END
$$;

-- Opens a gate, so that the actions that wait for it may start, spread over a time; returns whether it was closed. A
-- gate of a fleet is always kept.
CREATE FUNCTION sluice_open_gate(name text, spread interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    known sluice_gate_rows := sluice_lock_gate(name);
BEGIN
    IF known.is_open THEN RETURN false; END IF;
    UPDATE sluice_gate_rows AS g
    SET is_open = true, opening = nextval('sluice_opening'), changed_at = sluice_now(), opens_at = NULL,
        closed_for = NULL
    WHERE g.name = sluice_open_gate.name;
    PERFORM sluice_wake_blocked('gate', name, spread);
    RETURN true;
END
$$;

-- Closes a gate, so that no action that needs it starts; a step that has begun may still start one. With a duration it
-- opens by itself. If it is closed already, the later end counts, and no end is the latest.
CREATE FUNCTION sluice_close_gate(name text, duration interval DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    known  sluice_gate_rows := sluice_lock_gate(name);
    now_   timestamptz := sluice_now();
    length interval := least(greatest(duration, interval '0'), interval '36600 days');
BEGIN
    IF duration IS NULL THEN
        UPDATE sluice_gate_rows AS g
        SET changed_at = CASE WHEN g.is_open OR g.changed_at IS NULL THEN now_ ELSE g.changed_at END,
            is_open = false, opens_at = NULL, closed_for = NULL
        WHERE g.name = sluice_close_gate.name;
    -- One without changed_at is only waited for: nobody has closed it.
    ELSIF known.is_open OR known.changed_at IS NULL OR known.opens_at < now_ + length THEN
        UPDATE sluice_gate_rows AS g
        SET changed_at = CASE WHEN g.is_open OR g.changed_at IS NULL THEN now_ ELSE g.changed_at END,
            is_open = false, opens_at = now_ + length, closed_for = length
        WHERE g.name = sluice_close_gate.name;
        -- A worker that waits must learn the end.
        PERFORM sluice_ring();
    END IF;
END
$$;

-- Holds the queues of a pattern, also those that do not exist yet, and returns the number of the hold. Running actions
-- continue, and a step that has begun may still start one.
CREATE FUNCTION sluice_hold(pattern text, holder text, reason text DEFAULT '', duration interval DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    now_    timestamptz := sluice_now();
    hold_id bigint;
BEGIN
    PERFORM sluice_bounds(pattern);
    IF coalesce(length(holder), 256) > 255 OR coalesce(length(reason), 1001) > 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'the holder of a hold must have at most 255 characters, and its reason at most 1,000',
            HINT = 'Shorten them.';
    END IF;
    INSERT INTO sluice_hold_rows (scope, holder, reason, since, until)
    VALUES (pattern, holder, reason, now_,
            now_ + CASE WHEN duration > interval '36600 days' THEN interval '36600 days' ELSE duration END)
    RETURNING id INTO hold_id;
    RETURN hold_id;
END
$$;

-- Ends a hold, so that queues without another hold continue; returns whether there was such a hold.
CREATE FUNCTION sluice_end_hold(hold bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    before  text := sluice_limit_waits();
    is_over boolean;
BEGIN
    DELETE FROM sluice_hold_rows AS h WHERE h.id = hold;
    is_over := FOUND;
    PERFORM set_config('lock_timeout', before, true);
    IF is_over THEN PERFORM sluice_wake_blocked('hold', hold::text, interval '0'); END IF;
    RETURN is_over;
END
$$;

-- Ends the holds of a holder, or of all, that have exactly this pattern; returns how many there were.
CREATE FUNCTION sluice_end_holds(pattern text, holder text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    hold  bigint;
    ended integer := 0;
BEGIN
    FOR hold IN SELECT h.id FROM sluice_hold_rows AS h
                WHERE h.scope = pattern AND (sluice_end_holds.holder IS NULL OR h.holder = sluice_end_holds.holder)
                ORDER BY h.id LOOP
        IF sluice_end_hold(hold) THEN ended := ended + 1; END IF;
    END LOOP;
    RETURN ended;
END
$$;

-- Adds what an operator did to the audit log, which keeps the last 10,000.
CREATE FUNCTION sluice_audit_add(operator text, act text, result text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO sluice_audit_rows (at, operator, act, result) VALUES (sluice_now(), operator, act, result);
    DELETE FROM sluice_audit_rows AS a WHERE a.id <= (SELECT max(x.id) FROM sluice_audit_rows AS x) - 10000;
END
$$;

-- Puts dead letters back whose queues and lanes are locked, and returns those that were there. The others stay: their
-- queues have another type of sort key now.
CREATE FUNCTION sluice_requeue_locked(letters bigint[], queues bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    of_queue bigint;
    fitting  bigint[];
    back     bigint[];
    before   text := sluice_limit_waits();
BEGIN
    -- The first of each queue says the type of an empty one.
    FOR of_queue IN SELECT e.queue_id FROM unnest(queues) AS e (queue_id) LOOP
        PERFORM sluice_take_sort_type(of_queue, d.sort_type)
        FROM sluice_dead_rows AS d WHERE d.id = ANY (letters) AND d.queue_id = of_queue ORDER BY d.id LIMIT 1;
    END LOOP;
    fitting := ARRAY(
        SELECT d.id FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
        WHERE d.id = ANY (letters) AND d.queue_id = ANY (queues) AND d.sort_type = q.sort_type);
    WITH taken AS (
        DELETE FROM sluice_dead_rows AS d WHERE d.id = ANY (fitting) RETURNING d.*
    ), put AS (
        INSERT INTO sluice_action_rows (id, queue_id, sort_key, enqueued_at, nonce, kind, version, payload, tag, gate,
                                        trace)
        OVERRIDING SYSTEM VALUE
        SELECT t.id, t.queue_id, t.sort_key, t.enqueued_at, t.nonce, t.kind, t.version, t.payload, t.tag, t.gate,
               t.trace
        FROM taken AS t RETURNING id
    )
    SELECT coalesce(array_agg(p.id), '{}') INTO back FROM put AS p;
    -- An action with a history has a state.
    INSERT INTO sluice_state_rows (action_id)
    SELECT DISTINCT t.action_id FROM sluice_attempt_rows AS t WHERE t.action_id = ANY (back)
    ON CONFLICT DO NOTHING;
    PERFORM sluice_spare(back, queues);
    UPDATE sluice_key_rows AS k SET until = NULL WHERE k.action_id = ANY (back);
    PERFORM sluice_touch(queues, true);
    PERFORM set_config('lock_timeout', before, true);
    RETURN back;
END
$$;

-- Puts a dead letter back at its old place, due at once, with no attempt spent and no expiry; returns whether there was
-- one.
CREATE FUNCTION sluice_requeue(action bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    letter record;
BEGIN
    SELECT d.queue_id, d.sort_type INTO letter FROM sluice_dead_rows AS d WHERE d.id = action;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM sluice_lock_queues(ARRAY[letter.queue_id]);
    PERFORM sluice_lock_lanes(ARRAY[letter.queue_id]);
    IF sluice_requeue_locked(ARRAY[action], ARRAY[letter.queue_id]) <> '{}' THEN RETURN true; END IF;
    IF NOT EXISTS (SELECT FROM sluice_dead_rows AS d WHERE d.id = action) THEN RETURN false; END IF;
    RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = 'sortKeyMismatch',
        MESSAGE = (SELECT format('the queue %L is ordered by %s; the key of dead letter %s is %s', q.name, q.sort_type,
                                 action, letter.sort_type)
                   FROM sluice_queue_rows AS q WHERE q.queue_id = letter.queue_id),
        HINT = 'Wait until the queue is empty.';
END
$$;

-- Puts a dead letter back at the end of its queue, with no attempt spent and no expiry. In the order of arrival the
-- number is the place, so the action gets a new number, which is returned, and a new idempotency key. If the queue has
-- larger sort keys, the action gets the largest of them. NULL: there is no such dead letter.
CREATE FUNCTION sluice_requeue_at_end(action bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    of_queue bigint;
    largest  bytea;
    new_id   bigint;
BEGIN
    SELECT d.queue_id INTO of_queue FROM sluice_dead_rows AS d WHERE d.id = action;
    IF NOT FOUND THEN RETURN NULL; END IF;
    PERFORM sluice_lock_queues(ARRAY[of_queue]);
    PERFORM sluice_lock_lanes(ARRAY[of_queue]);
    SELECT a.sort_key INTO largest FROM sluice_action_rows AS a
    WHERE a.queue_id = of_queue AND a.not_before IS NULL ORDER BY a.sort_key DESC, a.id DESC LIMIT 1;
    IF NOT sluice_requeue(action) THEN RETURN NULL; END IF;
    UPDATE sluice_action_rows AS a
    SET id = DEFAULT, nonce = hashtextextended(gen_random_uuid()::text, 0),
        sort_key = greatest(a.sort_key, largest)
    WHERE a.id = action
    RETURNING a.id INTO new_id;
    UPDATE sluice_state_rows AS s SET action_id = new_id WHERE s.action_id = action;
    UPDATE sluice_attempt_rows AS t SET action_id = new_id WHERE t.action_id = action;
    UPDATE sluice_key_rows AS k SET action_id = new_id WHERE k.action_id = action;
    PERFORM sluice_touch(ARRAY[of_queue], true);
    RETURN new_id;
END
$$;

-- Puts at most 1,000 dead letters of a pattern back, each at its old place; `kept` counts those that stay because their
-- queue has another type of sort key now, and first_kept is one of them. If `next` is not NULL, call it again with
-- `next` as `after` and the same `last` as `through`, which spares those that died since the first call.
CREATE FUNCTION sluice_requeue_all(pattern text, cause text DEFAULT NULL, after bigint DEFAULT 0,
                                   through bigint DEFAULT NULL)
RETURNS TABLE (requeued integer, kept integer, first_kept bigint, last bigint, next bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    bounds record;
    found  bigint[];
    queues bigint[];
    back   bigint[];
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    last := coalesce(through, (SELECT max(d.id) FROM sluice_dead_rows AS d), 0);
    SELECT coalesce(array_agg(t.id ORDER BY t.id), '{}'), coalesce(array_agg(DISTINCT t.queue_id), '{}')
    INTO found, queues
    FROM (SELECT d.id, d.queue_id
          FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
          WHERE d.id > after AND d.id <= last AND q.name >= bounds.low AND q.name < bounds.high
            AND (sluice_requeue_all.cause IS NULL OR d.cause = sluice_requeue_all.cause)
          ORDER BY d.id LIMIT 1000) AS t;
    queues := sluice_lock_free(queues, true);
    back := sluice_requeue_locked(found, queues);
    requeued := cardinality(back);
    -- The next call begins at the first one in a queue that another transaction has.
    SELECT min(d.id) - 1 INTO next FROM sluice_dead_rows AS d
    WHERE d.id = ANY (found) AND d.queue_id <> ALL (queues);
    SELECT count(*), min(d.id) INTO kept, first_kept FROM sluice_dead_rows AS d
    WHERE d.id = ANY (found) AND d.id <= coalesce(next, d.id);
    next := coalesce(next, CASE WHEN cardinality(found) = 1000 THEN found[1000] END);
    RETURN NEXT;
END
$$;

-- Deletes a dead letter with its history; returns whether there was one.
CREATE FUNCTION sluice_purge(action bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    before text := sluice_limit_waits();
    is_gone boolean;
BEGIN
    DELETE FROM sluice_dead_rows AS d WHERE d.id = action;
    is_gone := FOUND;
    IF is_gone THEN DELETE FROM sluice_attempt_rows AS t WHERE t.action_id = action; END IF;
    PERFORM set_config('lock_timeout', before, true);
    RETURN is_gone;
END
$$;

-- Deletes at most 1,000 dead letters of a pattern with their histories, the oldest first: those that died before a
-- time, besides the newest `keep`. If `last` is not NULL, call it again with `last_died_at` and `last` as
-- through_died_at and through: then letters that died since the first call count neither as newest nor as old.
CREATE FUNCTION sluice_purge_all(pattern text, cause text DEFAULT NULL, died_before timestamptz DEFAULT NULL,
                                 keep bigint DEFAULT 0, through_died_at timestamptz DEFAULT NULL,
                                 through bigint DEFAULT NULL)
RETURNS TABLE (purged integer, last_died_at timestamptz, last bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    bounds record;
    found  bigint[];
    gone   bigint[];
    before text := sluice_limit_waits();
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    purged := 0;
    last_died_at := through_died_at;
    last := through;
    IF last IS NULL THEN
        SELECT d.died_at, d.id INTO last_died_at, last
        FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
        WHERE q.name >= bounds.low AND q.name < bounds.high
          AND (sluice_purge_all.cause IS NULL OR d.cause = sluice_purge_all.cause)
        ORDER BY d.died_at DESC, d.id DESC OFFSET greatest(keep, 0) LIMIT 1;
    END IF;
    found := ARRAY(
        SELECT d.id FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
        WHERE (d.died_at, d.id) <= (last_died_at, last) AND (died_before IS NULL OR d.died_at < died_before)
          AND q.name >= bounds.low AND q.name < bounds.high
          AND (sluice_purge_all.cause IS NULL OR d.cause = sluice_purge_all.cause)
        ORDER BY d.died_at, d.id LIMIT 1000);
    WITH deleted AS (DELETE FROM sluice_dead_rows AS d WHERE d.id = ANY (found) RETURNING d.id)
    SELECT coalesce(array_agg(d.id), '{}') INTO gone FROM deleted AS d;
    DELETE FROM sluice_attempt_rows AS t WHERE t.action_id = ANY (gone);
    purged := cardinality(gone);
    PERFORM set_config('lock_timeout', before, true);
    IF cardinality(found) < 1000 THEN
        last := NULL;
        last_died_at := NULL;
    END IF;
    RETURN NEXT;
END
$$;
