-- The views: for people with psql, with the columns and the words of the file's. Some are writable. Then the reads of
-- brokers, and last the rights. Times are timestamptz; within texts, ISO 8601 in UTC with microseconds.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE FUNCTION sluice_time_text(at timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT sluice_date_text((extract(epoch FROM at) * 1000000)::bigint)
$$;

-- One row for each action that waits or runs. INSERT enqueues, DELETE removes, UPDATE edits: see below. It has two
-- parts, those that have a place and those that are scheduled: each has its own index by the queue.
--
-- A statement that changes many rows locks their queues one after the other until its transaction ends, in any order:
-- workers wait, and it may deadlock with a step, which the broker then repeats. For many actions call
-- sluice_cancel_tag, sluice_cancel_queues and the like.
CREATE VIEW sluice_actions AS
SELECT a.id,
       a.name AS queue,
       -- The key that orders the queue: NULL for the order of arrival, a time for dates.
       sluice_sort_text(a.sort_type, a.sort_key) AS sort_key,
       a.kind,
       a.payload,
       -- Claims that count, including the running one.
       coalesce(s.attempts, 0) + (c.claim IS NOT NULL)::integer AS attempts,
       -- The next attempt does not start before this time.
       s.next_attempt_at,
       -- The time for which the action is scheduled: until then it has no place in the order.
       a.not_before,
       c.started_at AS running_since,
       a.enqueued_at,
       s.last_error,
       a.version,
       a.tag,
       -- The gate that the action waits for: its own, or the one that its last attempt named.
       coalesce(a.gate, s.waits_for_gate) AS gate,
       a.expires_at
FROM (SELECT p.*, q.name, q.sort_type
      FROM sluice_action_rows AS p JOIN sluice_queue_rows AS q ON q.queue_id = p.queue_id
      WHERE p.not_before IS NULL
      UNION ALL
      SELECT p.*, q.name, q.sort_type
      FROM sluice_action_rows AS p JOIN sluice_queue_rows AS q ON q.queue_id = p.queue_id
      WHERE p.not_before IS NOT NULL) AS a
LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
LEFT JOIN sluice_claim_rows AS c ON c.action_id = a.id;

-- The type of a sort key that SQL gives as text: that of the queue if the key fits, or if the queue has actions; else
-- an integer, a real or a text. Call sluice_enqueue to say the type, as of the first date of a queue.
CREATE FUNCTION sluice_type_of_key(queue text, key text) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    known record;
BEGIN
    SELECT q.queue_id, q.sort_type INTO known FROM sluice_queue_rows AS q WHERE q.name = queue;
    IF FOUND AND known.sort_type <> 'arrival' THEN
        IF sluice_depth(known.queue_id, 1) > 0 THEN RETURN known.sort_type; END IF;
        BEGIN
            PERFORM sluice_sort_bytes(known.sort_type, key);
            RETURN known.sort_type;
        EXCEPTION WHEN SQLSTATE 'SL003' THEN
            NULL;
        END;
    END IF;
    RETURN CASE WHEN key IS NULL THEN 'arrival'
                WHEN key ~ '^-?[0-9]{1,18}$' THEN 'integer'
                WHEN key ~ '^-?[0-9]+\.[0-9]+$' THEN 'real'
                ELSE 'text' END;
END
$$;

-- INSERT INTO sluice_actions (queue, kind, payload) VALUES (...) enqueues. Optional columns: sort_key, not_before,
-- expires_at, tag, gate and version.
CREATE FUNCTION sluice_actions_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    key_type text;
BEGIN
    IF num_nonnulls(NEW.id, NEW.attempts, NEW.next_attempt_at, NEW.running_since, NEW.enqueued_at, NEW.last_error) > 0
    THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_actions: id, attempts, next_attempt_at, running_since, enqueued_at and last_error cannot '
                      'be given', HINT = 'Leave them out.';
    END IF;
    -- A text that is no JSON must not be cast: the error would repeat it.
    PERFORM sluice_check_edit(NEW.kind, NEW.payload, NEW.version);
    key_type := CASE WHEN NEW.sort_key IS NULL THEN 'arrival' ELSE sluice_type_of_key(NEW.queue, NEW.sort_key) END;
    NEW.id := sluice_enqueue(NEW.queue, NEW.kind, NEW.payload::json, sort_key => NEW.sort_key, sort_type => key_type,
                             not_before => NEW.not_before, expires_at => NEW.expires_at, tag => NEW.tag,
                             gate => NEW.gate, version => NEW.version);
    RETURN NEW;
END
$$;

CREATE TRIGGER sluice_actions_insert INSTEAD OF INSERT ON sluice_actions
    FOR EACH ROW EXECUTE FUNCTION sluice_actions_insert();

-- DELETE FROM sluice_actions removes an action, and unblocks a queue that the action parked. The slot of a running
-- action is free when its handler has returned; its worker cancels the handler.
CREATE FUNCTION sluice_actions_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off AS $$
DECLARE
    locked bigint := sluice_lock_action(OLD.id);
BEGIN
    IF locked IS NULL THEN RETURN NULL; END IF;
    PERFORM sluice_drop(ARRAY[OLD.id], false);
    -- Signals the worker, and is deleted when the attempt is settled.
    INSERT INTO sluice_state_rows (action_id, is_cancelled)
    SELECT c.action_id, true FROM sluice_claim_rows AS c WHERE c.action_id = OLD.id AND NOT c.is_settled;
    PERFORM sluice_touch(ARRAY[locked], false, ARRAY[OLD.id]);
    RETURN OLD;
END
$$;

CREATE TRIGGER sluice_actions_delete INSTEAD OF DELETE ON sluice_actions
    FOR EACH ROW EXECUTE FUNCTION sluice_actions_delete();

-- Raises SL003 if an UPDATE of sluice_actions sets a column that cannot be set, or gives a value that is refused.
CREATE FUNCTION sluice_check_update(before sluice_actions, after sluice_actions) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF ROW(after.id, after.attempts, after.enqueued_at, after.running_since, after.last_error)
       IS DISTINCT FROM ROW(before.id, before.attempts, before.enqueued_at, before.running_since, before.last_error)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_actions: id, attempts, enqueued_at, running_since and last_error cannot be set',
            HINT = 'Set other columns.';
    END IF;
    PERFORM sluice_check_edit(after.kind, after.payload, after.version, after.not_before, after.expires_at, after.tag,
                              after.gate);
    PERFORM sluice_check_time('sluice_actions.next_attempt_at', after.next_attempt_at);
END
$$;

-- Locks what an UPDATE of sluice_actions changes, and moves the action if its queue alone changes; returns the queue of
-- the action, NULL if it is not there, and the queue that a new key is for.
CREATE FUNCTION sluice_lock_update(before sluice_actions, after sluice_actions, OUT source bigint, OUT target bigint,
                                   OUT sort_type text)
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off AS $$
BEGIN
    -- The queue's row before the lanes, as in an enqueue.
    IF after.sort_key IS DISTINCT FROM before.sort_key THEN
        PERFORM sluice_await_claim(before.id);
        SELECT f.queue_id, f.sort_type INTO target, sort_type
        FROM sluice_queues_for(ARRAY[after.queue], ARRAY[sluice_type_of_key(after.queue, after.sort_key)]) AS f;
        SELECT a.queue_id INTO source FROM sluice_action_rows AS a WHERE a.id = before.id;
        PERFORM sluice_lock_lanes(ARRAY[source, target]);
        PERFORM sluice_lock_claim(before.id);
        IF (SELECT a.queue_id FROM sluice_action_rows AS a WHERE a.id = before.id) IS DISTINCT FROM source THEN
            RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
                MESSAGE = format('action %s was moved or settled at the same time', before.id), HINT = 'Try again.';
        END IF;
    ELSIF after.queue IS DISTINCT FROM before.queue AND sluice_move(before.id, after.queue) = 'missing' THEN
        RETURN;
    ELSE
        source := sluice_lock_action(before.id);
    END IF;
END
$$;

-- UPDATE sluice_actions SET column = value edits queue, sort_key, kind, payload, version, tag, gate, expires_at,
-- next_attempt_at or not_before. If the action runs, the edit applies to its next attempt, and a move to another queue
-- when the attempt ends.
--
-- Setting next_attempt_at also clears the parking that the action caused, even if the value does not change: a parked
-- head usually has none, and `next_attempt_at = NULL` means "now". PostgreSQL does not say which columns an UPDATE of a
-- view names, so one that changes no value counts as that.
CREATE FUNCTION sluice_actions_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off AS $$
DECLARE
    now_     timestamptz := sluice_now();
    is_moved boolean := NEW.queue IS DISTINCT FROM OLD.queue;
    is_keyed boolean := NEW.sort_key IS DISTINCT FROM OLD.sort_key;
    locked   record;
    source   bigint;
    claimed  bigint;
    new_key  bytea;
BEGIN
    PERFORM sluice_check_update(OLD, NEW);
    locked := sluice_lock_update(OLD, NEW);
    source := locked.source;
    IF source IS NULL THEN RETURN NULL; END IF;
    SELECT c.claim INTO claimed FROM sluice_claim_rows AS c WHERE c.action_id = OLD.id;
    IF claimed IS NOT NULL AND NEW.not_before IS DISTINCT FROM OLD.not_before THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_actions.not_before cannot be set while the action runs', HINT = 'Set it later.';
    ELSIF claimed IS NOT NULL AND is_keyed AND is_moved THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_actions: queue and sort_key cannot both be set while the action runs',
            HINT = 'Set the queue now, and the key later.';
    END IF;

    IF is_keyed THEN
        IF NOT sluice_take_sort_type(locked.target, sluice_type_of_key(NEW.queue, NEW.sort_key)) THEN
            RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = 'sortKeyMismatch',
                MESSAGE = format('sluice_actions.sort_key must be of the type %s, like those of the other actions in '
                                 'the queue', locked.sort_type), HINT = 'Give a key of that type.';
        END IF;
        new_key := sluice_sort_bytes((SELECT q.sort_type FROM sluice_queue_rows AS q
                                      WHERE q.queue_id = locked.target), NEW.sort_key);
        IF is_moved THEN PERFORM sluice_relocate(OLD.id, source, locked.target); END IF;
        UPDATE sluice_action_rows AS a SET sort_key = new_key WHERE a.id = OLD.id;
        source := locked.target;
    END IF;

    IF NEW.kind IS DISTINCT FROM OLD.kind OR NEW.payload IS DISTINCT FROM OLD.payload
       OR NEW.version IS DISTINCT FROM OLD.version THEN
        PERFORM sluice_edit(OLD.id, NEW.kind, NEW.payload, NEW.version);
    END IF;
    UPDATE sluice_action_rows AS a
    SET tag = NEW.tag, expires_at = NEW.expires_at,
        -- The view may show the gate that the last attempt named.
        gate = CASE WHEN NEW.gate IS NOT DISTINCT FROM OLD.gate THEN a.gate ELSE NEW.gate END
    WHERE a.id = OLD.id
      AND (NEW.tag IS DISTINCT FROM OLD.tag OR NEW.expires_at IS DISTINCT FROM OLD.expires_at
           OR NEW.gate IS DISTINCT FROM OLD.gate);
    UPDATE sluice_state_rows AS s SET waits_for_gate = NULL
    WHERE s.action_id = OLD.id AND NEW.gate IS DISTINCT FROM OLD.gate;
    IF NEW.not_before IS DISTINCT FROM OLD.not_before THEN
        PERFORM sluice_reschedule(OLD.id, NEW.not_before);
    END IF;
    IF NEW.next_attempt_at IS DISTINCT FROM OLD.next_attempt_at THEN
        INSERT INTO sluice_state_rows (action_id, next_attempt_at, retry_delay)
        VALUES (OLD.id, NEW.next_attempt_at, greatest(NEW.next_attempt_at - now_, interval '0'))
        ON CONFLICT ON CONSTRAINT sluice_state_rows_pkey DO UPDATE
        SET next_attempt_at = excluded.next_attempt_at,
            retry_delay = CASE WHEN excluded.next_attempt_at IS NOT NULL THEN excluded.retry_delay END;
    END IF;
    PERFORM sluice_touch(ARRAY[source], is_keyed, CASE
        WHEN NEW.next_attempt_at IS DISTINCT FROM OLD.next_attempt_at OR NEW IS NOT DISTINCT FROM OLD
        THEN ARRAY[OLD.id] ELSE '{}' END);
    RETURN NEW;
END
$$;

CREATE TRIGGER sluice_actions_update INSTEAD OF UPDATE ON sluice_actions
    FOR EACH ROW EXECUTE FUNCTION sluice_actions_update();

-- One row for each queue that an action has named: its number of actions, the oldest one's time, and its first action.
CREATE VIEW sluice_queue_depths AS
SELECT q.queue_id, q.name, q.pool, placed.depth + later.depth AS depth, least(placed.oldest, later.oldest) AS oldest,
       coalesce((SELECT a.id FROM sluice_action_rows AS a WHERE a.queue_id = q.queue_id AND a.not_before IS NULL
                 ORDER BY a.sort_key, a.id LIMIT 1),
                (SELECT a.id FROM sluice_action_rows AS a WHERE a.queue_id = q.queue_id AND a.not_before IS NOT NULL
                 ORDER BY a.not_before, a.sort_key, a.id LIMIT 1)) AS first_id
FROM sluice_queue_rows AS q
CROSS JOIN LATERAL (SELECT count(*) AS depth, min(a.enqueued_at) AS oldest FROM sluice_action_rows AS a
                    WHERE a.queue_id = q.queue_id AND a.not_before IS NULL) AS placed
CROSS JOIN LATERAL (SELECT count(*) AS depth, min(a.enqueued_at) AS oldest FROM sluice_action_rows AS a
                    WHERE a.queue_id = q.queue_id AND a.not_before IS NOT NULL) AS later;

-- One row for each queue with work: its head, and the workers and routes that may run it. A claim counts while its
-- worker's lease lasts.
CREATE VIEW sluice_head_facts AS
WITH clock AS MATERIALIZED (
    SELECT sluice_now() AS now
), living AS MATERIALIZED (
    SELECT w.epoch, w.name, w.refusal, w.refused_at,
           EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.worker = w.epoch) AS is_busy
    FROM sluice_worker_rows AS w CROSS JOIN clock WHERE w.lease_until > clock.now AND w.ending IS NULL
), refused AS MATERIALIZED (
    -- A worker whose steps fail for long has no lease any more.
    SELECT w.refusal, w.refused_at FROM sluice_worker_rows AS w
    WHERE w.refusal IS NOT NULL AND w.ending IS NULL AND NOT EXISTS (SELECT FROM living)
    ORDER BY w.epoch LIMIT 1
), pooled AS MATERIALIZED (
    SELECT r.pool FROM sluice_route_rows AS r JOIN living AS w ON w.epoch = r.worker GROUP BY r.pool
), routed AS MATERIALIZED (
    -- Of the workers that can run a kind, one whose steps succeed and whose gates are open, or else the one that has
    -- run queues longest.
    SELECT DISTINCT ON (r.pool, coalesce(r.kind, ''))
           r.pool, coalesce(r.kind, '') AS kind, r.worker, w.name AS worker_name, w.refusal, w.refused_at, r.gates,
           r.rate, r.rate_interval, r.rate_tolerance,
           bool_or(w.is_busy) OVER (PARTITION BY r.pool, coalesce(r.kind, '')) AS is_busy
    FROM sluice_route_rows AS r JOIN living AS w ON w.epoch = r.worker CROSS JOIN clock
    ORDER BY r.pool, coalesce(r.kind, ''), w.refused_at IS NOT NULL,
             (SELECT count(*) FROM unnest(r.gates) AS n (name)
              WHERE NOT EXISTS (SELECT FROM sluice_gate_rows AS g
                                WHERE g.name = n.name AND (g.is_open OR g.opens_at <= clock.now))),
             r.worker
), tried AS MATERIALIZED (
    -- The first of the actions that are tried after a crash, and with which worker, on which others wait.
    SELECT c.action_id, q.name, c.worker, count(*) OVER () AS count
    FROM sluice_trial_rows AS t
    JOIN living AS w ON w.epoch = t.worker
    JOIN sluice_claim_rows AS c ON c.worker = t.worker AND c.trial_size > 0
    JOIN sluice_queue_rows AS q ON q.queue_id = c.queue_id
    WHERE t.part_until IS NOT NULL ORDER BY c.queue_id LIMIT 1
)
SELECT d.queue_id, d.name, clock.now, coalesce(l.pool, d.pool) AS pool, d.depth, d.oldest,
       c.claim, c.started_at AS running_since, c.worker AS running_worker, runner.name AS running_name,
       h.id AS head_id, h.kind AS head_kind, h.gate AS head_gate, h.not_before, h.expires_at,
       coalesce(s.attempts, 0) AS attempts, s.next_attempt_at, s.last_error, s.waits_for_gate,
       coalesce(s.awaits_trial, false) AS is_suspect,
       l.blocked_by, l.blocked_action_id, l.blocked_at, l.blocked_error,
       EXISTS (SELECT FROM living) AS has_worker,
       EXISTS (SELECT FROM pooled AS p WHERE p.pool = coalesce(l.pool, d.pool)) AS has_route,
       coalesce(r.worker, anykind.worker) AS route_worker,
       coalesce(r.worker_name, anykind.worker_name) AS route_name,
       coalesce(r.refusal, anykind.refusal, refused.refusal) AS refusal,
       coalesce(r.refused_at, anykind.refused_at, refused.refused_at) AS refused_at,
       CASE WHEN r.worker IS NOT NULL THEN r.is_busy ELSE coalesce(anykind.is_busy, false) END AS is_busy,
       CASE WHEN r.worker IS NOT NULL THEN r.rate ELSE anykind.rate END AS rate,
       CASE WHEN r.worker IS NOT NULL THEN r.rate_interval ELSE anykind.rate_interval END AS rate_interval,
       CASE WHEN r.worker IS NOT NULL THEN r.rate_tolerance ELSE anykind.rate_tolerance END AS rate_tolerance,
       CASE WHEN r.worker IS NOT NULL THEN r.gates
            WHEN anykind.worker IS NOT NULL THEN anykind.gates
            WHEN l.blocked_by = 'gate' AND l.blocked_action_id = h.id THEN ARRAY[l.blocked_error]
       END AS route_gates,
       tried.action_id AS tried_id, tried.name AS tried_queue, tried.count AS tried_count
FROM clock
CROSS JOIN sluice_queue_depths AS d
LEFT JOIN sluice_lane_rows AS l ON l.queue_id = d.queue_id
LEFT JOIN (sluice_claim_rows AS c JOIN living AS runner ON runner.epoch = c.worker)
    ON c.worker = l.worker AND c.queue_id = d.queue_id
LEFT JOIN sluice_action_rows AS h ON h.id = coalesce(c.action_id, d.first_id)
LEFT JOIN sluice_state_rows AS s ON s.action_id = h.id
LEFT JOIN routed AS r ON r.pool = coalesce(l.pool, d.pool) AND r.kind = h.kind
LEFT JOIN routed AS anykind ON anykind.pool = coalesce(l.pool, d.pool) AND anykind.kind = ''
LEFT JOIN refused ON true
LEFT JOIN tried
    ON c.claim IS NULL AND (coalesce(s.awaits_trial, false) OR coalesce(r.worker, anykind.worker) = tried.worker)
WHERE c.claim IS NOT NULL OR d.depth > 0;

-- The facts of sluice_head_facts with all holds and closed gates that concern the queue, in arrays: the oldest hold
-- first, of the gates the action's own. And the queue's state; sluice_queues shows a part, with its text. From the time
-- at which a gate opens by itself, it counts as open.
CREATE VIEW sluice_queue_facts AS
SELECT f.*,
       holds.ids AS hold_ids, holds.holders AS hold_holders, holds.reasons AS hold_reasons,
       holds.untils AS hold_untils,
       closed.names AS gates, closed.untils AS gate_untils,
       -- When the rate limit of the head's route allows the next start; NULL if that is now.
       CASE WHEN f.claim IS NULL AND rate.until > f.now THEN rate.until END AS rate_until,
       (SELECT p.pattern FROM sluice_pool_rows AS p WHERE p.pool = f.pool) AS pool_pattern,
       CASE
           WHEN f.claim IS NOT NULL THEN 'running'
           WHEN f.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'failing') THEN 'parked'
           WHEN f.blocked_by = 'undecodable' THEN 'undecodable'
           -- The living workers' routes say more than what the last step has found.
           WHEN f.has_worker AND f.route_worker IS NULL
               THEN CASE WHEN f.has_route THEN 'unknown kind' ELSE 'no route' END
           WHEN NOT f.has_worker AND f.blocked_by IN ('unknown kind', 'no route') AND f.blocked_action_id = f.head_id
               THEN f.blocked_by
           WHEN holds.ids IS NOT NULL THEN 'held'
           WHEN closed.names IS NOT NULL THEN 'gate'
           WHEN f.next_attempt_at > f.now THEN 'retry'
           WHEN f.not_before > f.now THEN 'scheduled'
           WHEN f.has_worker THEN 'ready'
           ELSE 'stopped'
       END AS state
FROM sluice_head_facts AS f
LEFT JOIN LATERAL (
    SELECT array_agg(x.id ORDER BY x.id) AS ids, array_agg(x.holder ORDER BY x.id) AS holders,
           array_agg(x.reason ORDER BY x.id) AS reasons, array_agg(x.until ORDER BY x.id) AS untils
    FROM sluice_hold_rows AS x
    WHERE (x.until IS NULL OR x.until > f.now)
      AND (x.scope = f.name OR (right(x.scope, 1) = '*' AND starts_with(f.name, left(x.scope, -1))))) AS holds
    ON true
LEFT JOIN LATERAL (
    SELECT array_agg(n.name ORDER BY n.place) AS names, array_agg(g.opens_at ORDER BY n.place) AS untils
    FROM (SELECT e.name, min(e.place) AS place
          FROM unnest(ARRAY[f.head_gate, f.waits_for_gate] || f.route_gates) WITH ORDINALITY AS e (name, place)
          WHERE e.name IS NOT NULL GROUP BY e.name) AS n
    LEFT JOIN sluice_gate_rows AS g ON g.name = n.name
    WHERE f.claim IS NULL AND (g.is_open OR g.opens_at <= f.now) IS NOT TRUE) AS closed ON true
LEFT JOIN LATERAL (SELECT least(o.next_at, f.now + f.rate_tolerance + f.rate_interval) - f.rate_tolerance AS until
                   FROM sluice_rate_rows AS o WHERE o.name = f.rate) AS rate ON true;

-- One row for each queue with work: its state, and why it does not move. Where the file names a process by its number,
-- a fleet names the worker: its machine and process, as it has registered.
CREATE VIEW sluice_queues AS
SELECT f.name AS queue,
       f.depth,
       f.state,
       CASE f.state
           WHEN 'running' THEN 'running since ' || sluice_time_text(f.running_since)
                               || CASE WHEN f.head_id IS NULL THEN '' ELSE ', attempt ' || f.attempts + 1 END
           WHEN 'parked' THEN 'parked by action ' || f.blocked_action_id || ' after failure (' || f.blocked_by || '): '
                              || coalesce(f.blocked_error, '')
           WHEN 'held' THEN 'held by ' || f.hold_holders[1]
                            || CASE f.hold_reasons[1] WHEN '' THEN '' ELSE ': ' || f.hold_reasons[1] END
           WHEN 'gate' THEN 'waiting for gate ' || f.gates[1]
                            || coalesce(' until ' || sluice_time_text(f.gate_untils[1]), '')
           WHEN 'retry' THEN 'waiting for retry until ' || sluice_time_text(f.next_attempt_at)
           WHEN 'scheduled' THEN 'scheduled for ' || sluice_time_text(f.not_before)
           WHEN 'ready' THEN CASE
               WHEN f.refusal IS NOT NULL
                   THEN 'refused since ' || sluice_time_text(f.refused_at) || ': ' || f.refusal
               WHEN f.tried_id IS NOT NULL
                   THEN 'waits while action ' || f.tried_id || ' of ' || f.tried_queue
                        || CASE f.tried_count WHEN 1 THEN ' runs alone'
                                              ELSE ' and ' || f.tried_count - 1 || ' more are tried' END
                        || ' after a crash'
               WHEN f.rate_until IS NOT NULL
                   THEN 'waiting for the rate limit ' || f.rate || ' until ' || sluice_time_text(f.rate_until)
               -- A worker that runs other actions has no permit left for this one. An idle worker has reasons that SQL
               -- cannot see.
               WHEN f.is_busy OR f.is_suspect OR f.blocked_by = 'permit' THEN 'waiting for a permit'
               ELSE 'owned by ' || f.route_name END
           WHEN 'stopped' THEN coalesce('refused since ' || sluice_time_text(f.refused_at) || ': ' || f.refusal,
                                        'broker stopped')
           ELSE f.state
       END AS because,
       f.head_id,
       f.head_kind,
       f.attempts + (f.claim IS NOT NULL AND f.head_id IS NOT NULL)::integer AS attempt,
       CASE f.state
           WHEN 'held' THEN f.hold_untils[1]
           WHEN 'gate' THEN f.gate_untils[1]
           WHEN 'retry' THEN f.next_attempt_at
           WHEN 'scheduled' THEN f.not_before
           WHEN 'ready' THEN f.rate_until
       END AS blocked_until,
       floor(extract(epoch FROM f.now - f.oldest))::bigint AS oldest_age_s,
       -- The head's error. If another action has parked the queue, because has its error.
       coalesce(f.last_error,
                CASE WHEN f.blocked_by = 'failing'
                          OR (f.blocked_action_id = f.head_id
                              AND f.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable',
                                                   'unknown kind', 'no route'))
                     THEN f.blocked_error END) AS last_error,
       f.running_name AS process
FROM sluice_queue_facts AS f;

-- What operators did on the operator's page.
CREATE VIEW sluice_audit AS SELECT id, at, operator, act, result FROM sluice_audit_rows;

-- The workers that run the queues, the longest running first: how many actions each runs, and when its lease ends.
CREATE VIEW sluice_runners AS
SELECT w.name AS process,
       (SELECT count(*) FROM sluice_claim_rows AS c WHERE c.worker = w.epoch) AS running,
       w.lease_until
FROM sluice_worker_rows AS w
ORDER BY w.epoch;

-- Attempts that did not succeed, of waiting actions and of dead letters.
CREATE VIEW sluice_attempts AS
SELECT t.action_id, t.number, t.outcome, t.error, t.started_at, t.ended_at FROM sluice_attempt_rows AS t;

-- Dead letters. DELETE purges.
CREATE VIEW sluice_dead AS
SELECT d.id, q.name AS queue, sluice_sort_text(d.sort_type, d.sort_key) AS sort_key, d.kind, d.payload, d.cause,
       d.error, d.attempts, d.enqueued_at, d.died_at, d.version, d.tag, d.gate
FROM sluice_dead_rows AS d
JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id;

CREATE FUNCTION sluice_dead_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN CASE WHEN sluice_purge(OLD.id) THEN OLD END;
END
$$;

CREATE TRIGGER sluice_dead_delete INSTEAD OF DELETE ON sluice_dead
    FOR EACH ROW EXECUTE FUNCTION sluice_dead_delete();

-- Gates that were opened or closed; all others are closed. INSERT opens, DELETE closes, UPDATE of the state does
-- either. Unlike in the file, is_persistent is always true: a fleet has no opening of a file with which a state could
-- end.
CREATE VIEW sluice_gates AS
SELECT g.name AS gate,
       CASE WHEN g.is_open THEN 'open' ELSE 'closed' END AS state,
       g.changed_at AS since,
       true AS is_persistent,
       -- When a closed gate opens by itself, if it does. A time in the past: when a worker runs.
       g.opens_at
FROM sluice_gate_rows AS g
WHERE g.changed_at IS NOT NULL;

-- INSERT INTO sluice_gates (gate) VALUES ('network') opens a gate; with the state 'closed' it closes it. The gate may
-- exist already. UPDATE sluice_gates SET state = 'closed' WHERE ... works like an INSERT with that state.
CREATE FUNCTION sluice_gates_write() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM sluice_close_gate(OLD.gate);
        -- The row stays: lanes may wait for it.
        UPDATE sluice_gate_rows AS g SET changed_at = NULL WHERE g.name = OLD.gate;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' AND num_nonnulls(NEW.since, NEW.is_persistent, NEW.opens_at) > 0
       OR TG_OP = 'UPDATE'
       AND ROW(NEW.gate, NEW.since, NEW.is_persistent, NEW.opens_at)
           IS DISTINCT FROM ROW(OLD.gate, OLD.since, OLD.is_persistent, OLD.opens_at) THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_gates: only gate and state can be given, and only the state can be set',
            HINT = 'Leave the other columns out.';
    ELSIF coalesce(NEW.state, CASE TG_OP WHEN 'INSERT' THEN 'open' ELSE '' END) NOT IN ('open', 'closed') THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_gates.state must be open or closed', HINT = 'Give one of them.';
    ELSIF NEW.state = 'closed' THEN
        PERFORM sluice_close_gate(NEW.gate);
    ELSE
        PERFORM sluice_open_gate(NEW.gate);
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER sluice_gates_write INSTEAD OF INSERT OR UPDATE OR DELETE ON sluice_gates
    FOR EACH ROW EXECUTE FUNCTION sluice_gates_write();

-- Holds that apply now. INSERT holds, DELETE ends the hold.
CREATE VIEW sluice_holds AS
SELECT x.id, x.scope, x.holder, x.reason, x.since, x.until
FROM sluice_hold_rows AS x
WHERE x.until IS NULL OR x.until > (SELECT sluice_now());

-- INSERT INTO sluice_holds (scope, holder, reason) VALUES ('conversation/*', 'ops', 'server moves') holds queues. until
-- is optional, and so are holder and reason. A hold cannot be edited: the end of a hold wakes its queues.
CREATE FUNCTION sluice_holds_write() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RETURN CASE WHEN sluice_end_hold(OLD.id) THEN OLD END;
    ELSIF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_holds: a hold cannot be edited', HINT = 'Insert another one and delete this one.';
    ELSIF num_nonnulls(NEW.id, NEW.since) > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'sluice_holds: id and since cannot be given', HINT = 'Give scope, holder, reason and until only.';
    END IF;
    PERFORM sluice_check_time('sluice_holds.until', NEW.until);
    NEW.id := sluice_hold(NEW.scope, coalesce(NEW.holder, 'psql'), coalesce(NEW.reason, ''));
    UPDATE sluice_hold_rows AS x SET until = NEW.until WHERE x.id = NEW.id;
    RETURN NEW;
END
$$;

CREATE TRIGGER sluice_holds_write INSTEAD OF INSERT OR UPDATE OR DELETE ON sluice_holds
    FOR EACH ROW EXECUTE FUNCTION sluice_holds_write();

-- A page of the queues with work between two names, after a name, by name. Whatever the statistics say, it reads along
-- the names.
CREATE FUNCTION sluice_page(low text, high text, after text, size integer, OUT queues bigint[], OUT last text)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_sort = off AS $$
    SELECT coalesce(array_agg(t.queue_id), '{}'), max(t.name COLLATE "C")
    FROM (SELECT q.queue_id, q.name
          FROM sluice_queue_rows AS q LEFT JOIN sluice_lane_rows AS l ON l.queue_id = q.queue_id
          WHERE q.name > coalesce(after, '') AND q.name >= low AND q.name < high
            -- Not EXISTS: the planner may read all actions for it.
            AND ((SELECT a.id FROM sluice_action_rows AS a WHERE a.queue_id = q.queue_id AND a.not_before IS NULL
                  LIMIT 1) IS NOT NULL
                 OR (SELECT a.id FROM sluice_action_rows AS a
                     WHERE a.queue_id = q.queue_id AND a.not_before IS NOT NULL LIMIT 1) IS NOT NULL
                 OR l.worker IS NOT NULL)
          ORDER BY q.name LIMIT size) AS t
$$;

-- All queues with work. One step along the index for each: most queues of a fleet have none.
CREATE FUNCTION sluice_busy_queues() RETURNS bigint[]
LANGUAGE sql STABLE SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_sort = off AS $$
    WITH RECURSIVE placed (queue_id) AS (
        SELECT (SELECT a.queue_id FROM sluice_action_rows AS a WHERE a.not_before IS NULL ORDER BY a.queue_id LIMIT 1)
        UNION ALL
        SELECT (SELECT a.queue_id FROM sluice_action_rows AS a
                WHERE a.not_before IS NULL AND a.queue_id > p.queue_id ORDER BY a.queue_id LIMIT 1)
        FROM placed AS p WHERE p.queue_id IS NOT NULL
    ), later (queue_id) AS (
        SELECT (SELECT a.queue_id FROM sluice_action_rows AS a WHERE a.not_before IS NOT NULL
                  AND a.queue_id > 0 ORDER BY a.queue_id LIMIT 1)
        UNION ALL
        SELECT (SELECT a.queue_id FROM sluice_action_rows AS a
                WHERE a.not_before IS NOT NULL AND a.queue_id > p.queue_id ORDER BY a.queue_id LIMIT 1)
        FROM later AS p WHERE p.queue_id IS NOT NULL
    )
    SELECT ARRAY(SELECT p.queue_id FROM placed AS p WHERE p.queue_id IS NOT NULL
                 UNION SELECT p.queue_id FROM later AS p WHERE p.queue_id IS NOT NULL
                 UNION SELECT c.queue_id FROM sluice_claim_rows AS c)
$$;

-- The facts of a queue; no row if it has no work. Because is to be made of them in this order: running; parked or
-- undecodable (blocked_by); unknown kind or no route (has_worker, has_route, route_worker); each hold; and if nothing
-- runs each gate, the retry, the schedule, a refusal of all steps, the rate limit, the trial of a suspect, a permit.
CREATE FUNCTION sluice_status(queue text) RETURNS SETOF sluice_queue_facts
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off
    SET enable_bitmapscan = off ROWS 1 AS $$
    SELECT f.* FROM sluice_queue_facts AS f WHERE f.name = sluice_status.queue
$$;

-- The facts of the queues with work of a pattern, by name, after a name; only those in some states if they are given.
-- Queues that run, are parked or undecodable are found by the lanes; for other states all queues are read.
CREATE FUNCTION sluice_statuses(pattern text, states text[] DEFAULT NULL, lim integer DEFAULT 1000,
                                after text DEFAULT NULL)
RETURNS SETOF sluice_queue_facts
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
    bounds record;
    -- Not with the collation of the database: names are ordered by their bytes.
    last   text COLLATE "C" := after;
    page   bigint[];
    -- The queues to read, by name, if the lanes tell them.
    known  bigint[];
    reasons text[];
    start_ integer := 1;
    -- A page is small at first: most calls want few.
    size   integer := least(lim, 200);
    found_ integer;
    left_  integer := lim;
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    IF NOT EXISTS (SELECT FROM sluice_hold_rows) THEN states := array_remove(states, 'held'); END IF;
    IF states <@ ARRAY['running', 'parked', 'undecodable'] THEN
        reasons := CASE WHEN 'parked' = ANY (states) THEN '{failed,exhausted,expired,crashed,failing}' ELSE '{}' END;
        IF 'undecodable' = ANY (states) THEN reasons := reasons || 'undecodable'::text; END IF;
        known := ARRAY(
            SELECT q.queue_id
            FROM (SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.worker IS NOT NULL AND 'running' = ANY (states)
                  UNION
                  SELECT l.queue_id FROM sluice_lane_rows AS l WHERE l.blocked_by = ANY (reasons)) AS t
            JOIN sluice_queue_rows AS q ON q.queue_id = t.queue_id
            WHERE q.name > coalesce(last, '') AND q.name >= bounds.low AND q.name < bounds.high ORDER BY q.name);
    END IF;
    WHILE left_ > 0 LOOP
        IF known IS NOT NULL THEN
            page := known[start_ : start_ + size - 1];
            start_ := start_ + size;
        ELSE
            SELECT p.queues, p.last INTO page, last FROM sluice_page(bounds.low, bounds.high, last, size) AS p;
        END IF;
        RETURN QUERY SELECT f.* FROM sluice_queue_facts AS f
                     WHERE f.queue_id = ANY (page) AND (states IS NULL OR f.state = ANY (states))
                     ORDER BY f.name LIMIT left_;
        GET DIAGNOSTICS found_ = ROW_COUNT;
        left_ := left_ - found_;
        EXIT WHEN cardinality(page) < size;
        size := 1000;
    END LOOP;
END
$$;

-- The actions and dead letters with a tag, of a queue or of a pattern; at most so many.
CREATE FUNCTION sluice_choose_actions(tag text, queue text, pattern text, lim integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    bounds record;
BEGIN
    IF tag IS NOT NULL THEN
        RETURN ARRAY(SELECT t.id FROM (SELECT a.id FROM sluice_action_rows AS a
                                       WHERE a.tag = sluice_choose_actions.tag
                                       UNION ALL
                                       SELECT d.id FROM sluice_dead_rows AS d
                                       WHERE d.tag = sluice_choose_actions.tag) AS t
                     ORDER BY t.id LIMIT lim);
    END IF;
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(coalesce(queue, pattern)) AS b;
    RETURN ARRAY(
        SELECT t.id FROM sluice_queue_rows AS q
        CROSS JOIN LATERAL (SELECT a.id FROM sluice_action_rows AS a
                            WHERE a.queue_id = q.queue_id AND a.not_before IS NULL
                            UNION ALL
                            SELECT a.id FROM sluice_action_rows AS a
                            WHERE a.queue_id = q.queue_id AND a.not_before IS NOT NULL
                            UNION ALL
                            SELECT d.id FROM sluice_dead_rows AS d WHERE d.queue_id = q.queue_id) AS t
        WHERE q.name >= bounds.low AND q.name < bounds.high ORDER BY t.id LIMIT lim);
END
$$;

-- The states of actions and dead letters, by number: those with these numbers, with a tag, of a queue or of a pattern.
-- phase is waiting, scheduled, running, retrying, parked, dead or ended; at is its time: since when, or until when.
-- An action that is not there any more is ended, and has a row only if its number is given.
CREATE FUNCTION sluice_action_states(ids bigint[] DEFAULT NULL, tag text DEFAULT NULL, queue text DEFAULT NULL,
                                     pattern text DEFAULT NULL, lim integer DEFAULT NULL, counts boolean DEFAULT true)
RETURNS TABLE (action bigint, phase text, at timestamptz, cause text, ahead bigint, of_queue text, kind text,
               sort_type text, sort_key bytea, own_tag text, gate text, expires_at timestamptz,
               enqueued_at timestamptz, attempts integer, last_error text, payload text, version integer,
               has_succeeded boolean, trace text, own_key text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    now_   timestamptz := sluice_now();
    chosen bigint[] := coalesce(ids, sluice_choose_actions(tag, queue, pattern, lim));
BEGIN
    RETURN QUERY
    SELECT t.*, (SELECT k.key FROM sluice_key_rows AS k WHERE k.action_id = t.id AND t.phase <> 'ended' LIMIT 1)
    FROM (
        SELECT p.id, p.phase,
               CASE p.phase WHEN 'running' THEN p.started_at WHEN 'parked' THEN p.blocked_at
                            WHEN 'scheduled' THEN p.not_before WHEN 'retrying' THEN p.next_attempt_at END,
               CASE p.phase WHEN 'parked' THEN p.blocked_by END,
               CASE WHEN counts AND p.phase = 'waiting'
                    THEN (SELECT count(*) FROM sluice_action_rows AS b
                          WHERE b.queue_id = p.queue_id AND b.not_before IS NULL
                            AND (b.sort_key, b.id) < (p.sort_key, p.id)) END,
               p.name, p.kind, p.sort_type, p.sort_key, p.tag, p.gate, p.expires_at, p.enqueued_at, p.attempts,
               p.last_error, p.payload, p.version, NULL::boolean, p.trace
        FROM (SELECT a.id, a.queue_id, q.name, a.kind, q.sort_type, a.sort_key, a.tag, a.gate, a.expires_at,
                     a.enqueued_at, a.payload, a.version, a.trace, a.not_before, s.next_attempt_at, c.started_at,
                     l.blocked_at, l.blocked_by, coalesce(s.attempts, 0) + (c.claim IS NOT NULL)::integer AS attempts,
                     coalesce(CASE WHEN sluice_parks(l.blocked_by) OR l.blocked_by IN ('unknown kind', 'no route')
                                   THEN l.blocked_error END,
                              s.last_error) AS last_error,
                     CASE WHEN c.claim IS NOT NULL THEN 'running'
                          WHEN sluice_parks(l.blocked_by) THEN 'parked'
                          WHEN a.not_before > now_ THEN 'scheduled'
                          WHEN s.next_attempt_at > now_ THEN 'retrying'
                          ELSE 'waiting' END AS phase
              FROM sluice_action_rows AS a
              JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
              LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
              LEFT JOIN (sluice_claim_rows AS c
                         JOIN sluice_worker_rows AS w ON w.epoch = c.worker AND w.lease_until > now_)
                  ON c.action_id = a.id
              LEFT JOIN sluice_lane_rows AS l ON l.queue_id = a.queue_id AND l.blocked_action_id = a.id
              WHERE a.id = ANY (chosen)) AS p
        UNION ALL
        SELECT d.id, 'dead', d.died_at, d.cause, NULL, q.name, d.kind, d.sort_type, d.sort_key, d.tag, d.gate, NULL,
               d.enqueued_at, d.attempts, d.error, d.payload, d.version, NULL, d.trace
        FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
        WHERE d.id = ANY (chosen)
        UNION ALL
        SELECT e.id, 'ended', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               -- Known while the action's deduplication key is kept.
               EXISTS (SELECT FROM sluice_key_rows AS k WHERE k.action_id = e.id AND k.has_succeeded), NULL
        FROM unnest(ids) AS e (id)
        WHERE NOT EXISTS (SELECT FROM sluice_action_rows AS a WHERE a.id = e.id)
          AND NOT EXISTS (SELECT FROM sluice_dead_rows AS d WHERE d.id = e.id)
    ) AS t
    ORDER BY 1 LIMIT lim;
END
$$;

-- Waiting and running actions, by queue, in the order in which each queue runs them; then those that are scheduled.
CREATE FUNCTION sluice_summaries(pattern text, lim integer) RETURNS SETOF sluice_actions
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off AS $$
DECLARE
    bounds   record;
    page     bigint[];
    last_    text;
    of_queue bigint;
    found_   bigint[] := '{}';
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    WHILE cardinality(found_) < lim LOOP
        SELECT p.queues, p.last INTO page, last_ FROM sluice_page(bounds.low, bounds.high, last_, 200) AS p;
        FOREACH of_queue IN ARRAY page LOOP
            EXIT WHEN cardinality(found_) >= lim;
            found_ := found_ || ARRAY(SELECT a.id FROM sluice_action_rows AS a
                                      WHERE a.queue_id = of_queue AND a.not_before IS NULL
                                      ORDER BY a.sort_key, a.id LIMIT lim - cardinality(found_));
            found_ := found_ || ARRAY(SELECT a.id FROM sluice_action_rows AS a
                                      WHERE a.queue_id = of_queue AND a.not_before IS NOT NULL
                                      ORDER BY a.not_before, a.sort_key, a.id LIMIT lim - cardinality(found_));
        END LOOP;
        EXIT WHEN cardinality(page) < 200;
    END LOOP;
    -- The array reaches the parts of the view; a join would read all actions.
    RETURN QUERY
        SELECT v.* FROM sluice_actions AS v
        JOIN unnest(found_) WITH ORDINALITY AS o (id, place) ON o.id = v.id
        WHERE v.id = ANY (found_) ORDER BY o.place;
END
$$;

-- How many actions wait or run.
CREATE FUNCTION sluice_action_count() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT count(*) FROM sluice_action_rows
$$;

-- Dead letters of a pattern, the newest first; those after one, by its time and number.
CREATE FUNCTION sluice_dead_letters(pattern text, cause text DEFAULT NULL, after_died_at timestamptz DEFAULT NULL,
                                    after_id bigint DEFAULT NULL, lim integer DEFAULT 100)
RETURNS TABLE (action bigint, queue text, kind text, why text, error text, attempts integer, died_at timestamptz,
               payload text, sort_type text, sort_key bytea, tag text, gate text, version integer,
               enqueued_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT d.id, q.name, d.kind, d.cause, d.error, d.attempts, d.died_at, d.payload, d.sort_type, d.sort_key, d.tag,
           d.gate, d.version, d.enqueued_at
    FROM sluice_bounds(pattern) AS b
    CROSS JOIN sluice_dead_rows AS d
    JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
    WHERE q.name >= b.low AND q.name < b.high
      AND (sluice_dead_letters.cause IS NULL OR d.cause = sluice_dead_letters.cause)
      AND (after_died_at IS NULL OR (d.died_at, d.id) < (after_died_at, after_id))
    ORDER BY d.died_at DESC, d.id DESC LIMIT lim
$$;

-- The failed attempts of an action or dead letter, the oldest first.
CREATE FUNCTION sluice_failed_attempts(action bigint) RETURNS SETOF sluice_attempts
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.action_id, t.number, t.outcome, t.error, t.started_at, t.ended_at
    FROM sluice_attempt_rows AS t WHERE t.action_id = sluice_failed_attempts.action ORDER BY t.ended_at, t.claim
$$;

-- The work that the queues of a pattern have by time alone, for a worker; for NULL, for all workers together. Queues
-- for which the worker has no route do not count, if any worker lives.
--   due:       queues that run here or will run by time alone; the first at next_at (NULL: none).
--   elsewhere: queues for which the worker has a route, and that another worker runs.
--   parked, undecodable, unknown_kind, held, gate: queues with an obstacle that time alone does not remove. If a queue
--              has several, the first counts.
-- With is_enough, it reads no further when something is due now.
CREATE FUNCTION sluice_work_left(pattern text, worker bigint DEFAULT NULL, is_enough boolean DEFAULT false)
RETURNS TABLE (due bigint, elsewhere bigint, parked bigint, undecodable bigint, unknown_kind bigint, held bigint,
               gate bigint, next_at timestamptz, now_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off
    SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
    bounds record;
    queues bigint[];
    page   bigint[];
    sum_   record;
    start_ integer := 1;
BEGIN
    SELECT b.low, b.high INTO bounds FROM sluice_bounds(pattern) AS b;
    due := 0; elsewhere := 0; parked := 0; undecodable := 0; unknown_kind := 0; held := 0; gate := 0;
    now_at := sluice_now();
    IF pattern = '*' THEN
        queues := sluice_busy_queues();
    ELSE
        queues := ARRAY(SELECT q.queue_id FROM sluice_queue_rows AS q
                        WHERE q.name >= bounds.low AND q.name < bounds.high ORDER BY q.name);
    END IF;
    WHILE start_ <= cardinality(queues) LOOP
        page := queues[start_ : start_ + 999];
        SELECT count(*) FILTER (WHERE t.word = 'due') AS due, count(*) FILTER (WHERE t.word = 'elsewhere') AS elsewhere,
               count(*) FILTER (WHERE t.word = 'parked') AS parked,
               count(*) FILTER (WHERE t.word = 'undecodable') AS undecodable,
               count(*) FILTER (WHERE t.word = 'unknown kind') AS unknown_kind,
               count(*) FILTER (WHERE t.word = 'held') AS held, count(*) FILTER (WHERE t.word = 'gate') AS gate,
               min(t.at) FILTER (WHERE t.word = 'due') AS next_at
        INTO sum_
        FROM (
            SELECT CASE
                       WHEN f.has_worker AND NOT own.has_pool THEN 'no route'
                       WHEN f.claim IS NOT NULL AND f.running_worker = coalesce(worker, f.running_worker) THEN 'due'
                       WHEN f.claim IS NOT NULL AND f.head_id IS NOT NULL
                           THEN CASE WHEN own.has_kind THEN 'elsewhere' ELSE 'no route' END
                       WHEN f.claim IS NOT NULL THEN 'no route'
                       WHEN f.blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'failing') THEN 'parked'
                       WHEN f.blocked_by = 'undecodable' THEN 'undecodable'
                       WHEN f.has_worker AND NOT own.has_kind THEN 'unknown kind'
                       WHEN NOT f.has_worker AND f.state IN ('unknown kind', 'no route') THEN 'unknown kind'
                       WHEN array_position(f.hold_untils, NULL) IS NOT NULL THEN 'held'
                       WHEN array_position(f.gate_untils, NULL) IS NOT NULL AND ends.at IS NULL THEN 'gate'
                       ELSE 'due'
                   END AS word,
                   CASE WHEN f.claim IS NOT NULL THEN f.now
                        ELSE greatest(f.now, f.not_before, (SELECT max(u) FROM unnest(f.hold_untils) AS u),
                                      -- A head that expires before it could run does not keep the queue.
                                      least(ends.at, CASE WHEN array_position(f.gate_untils, NULL) IS NULL
                                                          THEN greatest(f.now, f.next_attempt_at, f.rate_until,
                                                                        (SELECT max(u) FROM unnest(f.gate_untils) AS u))
                                                     END)) END AS at
            FROM sluice_queue_facts AS f
            CROSS JOIN LATERAL (
                SELECT CASE WHEN worker IS NULL THEN f.has_route
                            ELSE EXISTS (SELECT FROM sluice_route_rows AS r
                                         WHERE r.worker = sluice_work_left.worker AND r.pool = f.pool) END AS has_pool,
                       CASE WHEN worker IS NULL THEN f.route_worker IS NOT NULL
                            ELSE EXISTS (SELECT FROM sluice_route_rows AS r
                                         WHERE r.worker = sluice_work_left.worker AND r.pool = f.pool
                                           AND coalesce(r.kind, '') IN (f.head_kind, '')) END AS has_kind) AS own
            LEFT JOIN LATERAL (
                SELECT f.expires_at AS at
                FROM sluice_route_rows AS r
                WHERE r.worker = coalesce(sluice_work_left.worker, f.route_worker) AND r.pool = f.pool
                  AND coalesce(r.kind, '') IN (f.head_kind, '') AND r.expired <> 'block'
                ORDER BY coalesce(r.kind, '') DESC LIMIT 1) AS ends ON true
            WHERE f.queue_id = ANY (page)) AS t;
        due := due + sum_.due; elsewhere := elsewhere + sum_.elsewhere; parked := parked + sum_.parked;
        undecodable := undecodable + sum_.undecodable; unknown_kind := unknown_kind + sum_.unknown_kind;
        held := held + sum_.held; gate := gate + sum_.gate; next_at := least(next_at, sum_.next_at);
        now_at := sluice_now();
        EXIT WHEN is_enough AND next_at <= now_at;
        start_ := start_ + 1000;
    END LOOP;
    RETURN NEXT;
END
$$;

-- Waiting and running actions of a pattern after a number, in the order in which they were enqueued, with what an
-- enqueue of them needs. Enqueued again in this order, each queue has its own order again, if the actions that were
-- moved to the front of a queue in the order of arrival come before: see sluice_export_front. The size is approximate.
CREATE FUNCTION sluice_export(pattern text, after bigint, lim integer, size bigint)
RETURNS TABLE (action bigint, queue text, kind text, sort_type text, sort_key bytea, payload text, version integer,
               tag text, gate text, not_before timestamptz, expires_at timestamptz, trace text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.id, t.name, t.kind, t.sort_type, t.sort_key, t.payload, t.version, t.tag, t.gate, t.not_before,
           t.expires_at, t.trace
    FROM (SELECT a.*, q.name, q.sort_type,
                 sum(octet_length(a.payload)) OVER (ORDER BY a.id) - octet_length(a.payload) AS size_before
          FROM sluice_bounds(pattern) AS b
          CROSS JOIN sluice_action_rows AS a
          JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
          WHERE a.id > after AND q.name >= b.low AND q.name < b.high
          ORDER BY a.id LIMIT lim) AS t
    WHERE t.size_before < size ORDER BY t.id
$$;

-- The actions of a pattern that were moved to the front of a queue in the order of arrival, in the order of each queue.
CREATE FUNCTION sluice_export_front(pattern text) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT a.id
    FROM sluice_bounds(pattern) AS b
    CROSS JOIN sluice_queue_rows AS q
    CROSS JOIN LATERAL (
        SELECT i.id, i.sort_key FROM sluice_action_rows AS i
        WHERE i.queue_id = q.queue_id AND i.sort_key < '\x80' AND i.not_before IS NULL
        UNION ALL
        SELECT i.id, i.sort_key FROM sluice_action_rows AS i
        WHERE i.queue_id = q.queue_id AND i.sort_key < '\x80' AND i.not_before IS NOT NULL) AS a
    WHERE q.sort_type = 'arrival' AND q.name >= b.low AND q.name < b.high
    ORDER BY q.queue_id, a.sort_key, a.id
$$;

-- The deduplication key of an action, also after its end; NULL without one.
CREATE FUNCTION sluice_action_key(action bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT k.key FROM sluice_key_rows AS k WHERE k.action_id = action LIMIT 1
$$;

-- The names of queues from a text on, also of empty ones.
CREATE FUNCTION sluice_queue_names(start text, lim integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT q.name FROM sluice_queue_rows AS q WHERE q.name >= start ORDER BY q.name LIMIT lim
$$;

-- How many actions each queue has that were enqueued after a number, and the last number given.
CREATE FUNCTION sluice_arrived(after bigint) RETURNS TABLE (queue text, count bigint, last bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT n.name, n.count,
           coalesce(pg_sequence_last_value(pg_get_serial_sequence('sluice_action_rows', 'id')::regclass), 0)
    FROM (VALUES (1)) AS once
    LEFT JOIN (SELECT q.name, count(*) AS count
               FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
               WHERE a.id > after GROUP BY q.name) AS n ON true
$$;

-- Claims and lanes that contradict each other, of which no transaction ever leaves any: a claim has a worker, and the
-- lane of its queue is that worker's; a lane of a worker has a claim, else nobody would give it on.
CREATE FUNCTION sluice_contradictions() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT format('claim %s of action %s has no worker', c.claim, c.action_id) FROM sluice_claim_rows AS c
    WHERE NOT EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.epoch = c.worker)
    UNION ALL
    SELECT format('the queue %s of claim %s is not that of its worker', c.queue_id, c.claim)
    FROM sluice_claim_rows AS c
    WHERE NOT EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.queue_id = c.queue_id AND l.worker = c.worker)
    UNION ALL
    SELECT format('worker %s has the queue %s without a claim', l.worker, l.queue_id)
    FROM sluice_lane_rows AS l
    WHERE l.worker IS NOT NULL
      AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.queue_id = l.queue_id AND c.worker = l.worker)
$$;

-- What somebody has probably forgotten, for a worker with these patterns: gate, one that an action of theirs waits for
-- and that nobody has ever opened or closed; queue, one with actions for which no worker has a route, the longest
-- first, at most `most`; pattern, one of these that matches no queue, if there are such queues. Ten gates at most.
CREATE FUNCTION sluice_oversights(patterns text[], most integer) RETURNS TABLE (what text, name text)
LANGUAGE sql STABLE SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
    WITH alone AS MATERIALIZED (
        SELECT l.queue_id, l.ready_at
        FROM (SELECT 0 AS pool
              UNION ALL
              SELECT p.pool FROM sluice_pool_rows AS p
              WHERE NOT EXISTS (SELECT FROM sluice_route_rows AS r WHERE r.pool = p.pool)) AS p
        CROSS JOIN LATERAL (
            SELECT i.queue_id, i.ready_at FROM sluice_lane_rows AS i
            WHERE i.pool = p.pool AND i.worker IS NULL AND i.ready_at IS NOT NULL AND NOT i.is_suspect
              AND EXISTS (SELECT FROM sluice_action_rows AS a
                          WHERE a.queue_id = i.queue_id AND a.not_before IS NULL)
            ORDER BY i.ready_at LIMIT greatest(most, 1)) AS l)
    SELECT 'gate', g.name
    FROM (SELECT i.name FROM sluice_gate_rows AS i
          WHERE i.changed_at IS NULL AND NOT i.is_open
            AND EXISTS (SELECT FROM sluice_lane_rows AS l
                        WHERE l.blocked_by = 'gate' AND l.blocked_error = i.name
                          AND l.pool IN (SELECT p.pool FROM sluice_pool_rows AS p WHERE p.pattern = ANY (patterns)))
          ORDER BY i.name LIMIT 10) AS g
    UNION ALL
    SELECT 'queue', q.name
    FROM (SELECT q.name FROM alone AS o JOIN sluice_queue_rows AS q ON q.queue_id = o.queue_id
          ORDER BY o.ready_at LIMIT most) AS q
    UNION ALL
    SELECT 'pattern', p.name
    FROM unnest(patterns) AS p (name)
    CROSS JOIN LATERAL sluice_bounds(p.name) AS b
    WHERE EXISTS (SELECT FROM alone)
      AND NOT EXISTS (SELECT FROM sluice_queue_rows AS q WHERE q.name >= b.low AND q.name < b.high)
$$;

-- Why a worker could not run, or NULL: has one register, step and leave, and undoes it. No message that may quote a
-- value is returned.
CREATE FUNCTION sluice_try() RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '1s' AS $$
DECLARE
    me bigint;
BEGIN
    me := sluice_register('doctor', 0, interval '1 minute', '[]');
    PERFORM sluice_step(me, interval '1 minute', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 0,
                        (me << 32) + 1, false, 0);
    PERFORM sluice_leave(me);
    RAISE EXCEPTION USING ERRCODE = 'SL000';
EXCEPTION
    WHEN SQLSTATE 'SL000' THEN
        RETURN NULL;
    WHEN data_exception OR integrity_constraint_violation THEN
        RETURN 'SQLSTATE ' || SQLSTATE;
    WHEN OTHERS THEN
        RETURN SQLERRM || ' [SQLSTATE ' || SQLSTATE || ']';
END
$$;

-- Functions are executable by all when they are made. Only sluice_enqueue stays so; its caller needs USAGE of the
-- schema. Tables and views have rights for their owner alone. The owner grants others what they need:
--
-- To enqueue from SQL: nothing else. From a broker that only enqueues, and to settle an attempt in a transaction of the
-- application:
--     GRANT EXECUTE ON FUNCTION sluice_enqueue_many, sluice_token, sluice_succeed TO app;
--
-- To read. Functions within a view run with the rights of the reader:
--     GRANT SELECT ON sluice_actions, sluice_queues, sluice_dead, sluice_attempts, sluice_holds, sluice_gates,
--         sluice_runners, sluice_audit TO reader;
--     GRANT EXECUTE ON FUNCTION sluice_now, sluice_sort_text, sluice_date_text, sluice_double, sluice_time_text,
--         sluice_status, sluice_statuses, sluice_action_states, sluice_summaries, sluice_action_count,
--         sluice_dead_letters, sluice_failed_attempts, sluice_work_left, sluice_export, sluice_export_front,
--         sluice_action_key, sluice_queue_names, sluice_arrived TO reader;
--
-- To operate, besides reading:
--     GRANT INSERT, UPDATE, DELETE ON sluice_actions, sluice_dead, sluice_holds, sluice_gates TO operator;
--     GRANT EXECUTE ON FUNCTION sluice_cancel, sluice_cancel_tag, sluice_cancel_queues, sluice_move,
--         sluice_move_to_front, sluice_edit, sluice_reschedule, sluice_set_expiry, sluice_set_tag, sluice_skip_head,
--         sluice_retry_now, sluice_open_gate, sluice_close_gate, sluice_hold, sluice_end_hold, sluice_end_holds,
--         sluice_requeue, sluice_requeue_at_end, sluice_requeue_all, sluice_purge, sluice_purge_all,
--         sluice_audit_add TO operator;
--
-- A broker that runs queues connects as the owner.
DO $$
DECLARE
    made regprocedure;
BEGIN
    FOR made IN SELECT p.oid FROM pg_proc AS p
                WHERE p.pronamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = current_schema())
                  AND starts_with(p.proname, 'sluice_')
                  AND p.proname <> 'sluice_enqueue' LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made);
    END LOOP;
END
$$;
