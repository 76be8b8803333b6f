-- The views: for people with the sqlite3 shell. 0003 makes some of them writable. Times are ISO 8601 in UTC with
-- microseconds.

-- A time of the tables as text: (SELECT text FROM sluice_time_text WHERE us = ...). A time outside the years 0 to 9999
-- stays a number. SQL cannot define a function in SQLite. This view is one, because json_each() takes its argument from
-- the value that its hidden column is compared with, <https://sqlite.org/vtab.html#tabfunc2>.
CREATE VIEW sluice_time_text AS
SELECT json AS us,
       CASE WHEN value BETWEEN -62167219200000000 AND 253402300799999999
            -- Counted from the year 0, so that no remainder is negative.
            THEN replace(datetime((value + 62167219200000000) / 1000000 - 62167219200, 'unixepoch'), ' ', 'T')
                 || printf('.%06dZ', (value + 62167219200000000) % 1000000)
            ELSE value
       END AS text
FROM json_each;

-- The wall clock in microseconds since 1970, with SQLite's precision of milliseconds. One row.
CREATE VIEW sluice_clock AS
SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000
       + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000 AS now_us;

-- Every action with its queue. It has three parts, so that a search in one queue does not read all others: actions in
-- sluice_order_rows, newer actions, actions scheduled for later.
CREATE VIEW sluice_action_facts AS
SELECT a.id, a.queue_id, q.name, q.sort_type, a.sort_key, a.not_before_us, a.enqueued_at_us, a.kind, a.payload,
       a.version, a.tag, a.expires_at_us, a.gate
FROM sluice_order_rows AS o
JOIN sluice_queue_rows AS q ON q.queue_id = o.queue_id
JOIN sluice_action_rows AS a ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
WHERE a.not_before_us IS NULL
UNION ALL
SELECT a.id, a.queue_id, q.name, q.sort_type, a.sort_key, a.not_before_us, a.enqueued_at_us, a.kind, a.payload,
       a.version, a.tag, a.expires_at_us, a.gate
FROM sluice_action_rows AS a
JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered') AND a.not_before_us IS NULL
UNION ALL
SELECT a.id, a.queue_id, q.name, q.sort_type, a.sort_key, a.not_before_us, a.enqueued_at_us, a.kind, a.payload,
       a.version, a.tag, a.expires_at_us, a.gate
FROM sluice_action_rows AS a
JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
WHERE a.not_before_us IS NOT NULL;

-- One row for each action that waits or runs. INSERT enqueues, DELETE removes, UPDATE edits: see 0003. Times that are
-- NULL in most rows are not passed to sluice_time_text: UPDATE and DELETE read all columns.
CREATE VIEW sluice_actions AS
SELECT a.id,
       a.name AS queue,
       -- The key that orders the queue: NULL for the order of arrival, a time for dates.
       CASE WHEN a.sort_type = 'date' AND typeof(a.sort_key) = 'integer'
                THEN (SELECT text FROM sluice_time_text WHERE us = a.sort_key)
            WHEN a.sort_type <> 'arrival' THEN a.sort_key
       END AS sort_key,
       a.kind,
       a.payload,
       -- Claims that count, including the running one.
       coalesce(s.attempts, 0) + (c.claim IS NOT NULL) AS attempts,
       -- The next attempt does not start before this time.
       iif(s.next_attempt_at_us IS NULL, NULL,
           (SELECT text FROM sluice_time_text WHERE us = s.next_attempt_at_us)) AS next_attempt_at,
       -- The time for which the action is scheduled: until then it has no place in the order. NULL for a deferred
       -- action, which waits for next_attempt_at or its gate.
       iif(a.not_before_us IS NULL OR a.not_before_us = 9223372036854775806 OR a.not_before_us = s.next_attempt_at_us,
           NULL, (SELECT text FROM sluice_time_text WHERE us = a.not_before_us)) AS not_before,
       iif(c.started_at_us IS NULL, NULL,
           (SELECT text FROM sluice_time_text WHERE us = c.started_at_us)) AS running_since,
       (SELECT text FROM sluice_time_text WHERE us = a.enqueued_at_us) AS enqueued_at,
       s.last_error,
       a.version,
       a.tag,
       -- The gate that the action waits for: its own, or the one that its last attempt named.
       coalesce(a.gate, s.waits_for_gate) AS gate,
       iif(a.expires_at_us IS NULL, NULL,
           (SELECT text FROM sluice_time_text WHERE us = a.expires_at_us)) AS expires_at
FROM sluice_action_facts AS a
LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
LEFT JOIN sluice_claim_rows AS c ON c.queue_id = a.queue_id AND c.action_id = a.id;

-- One row for each queue that an action has named: its number of actions, the oldest one's time, and its first action.
-- The newest actions are sorted here, once for all queues. If the discipline is not first in, first out, the first
-- action is the head that the engine has recorded. If a pass has passed over a member of a group, it is the deferred
-- start of that group.
CREATE VIEW sluice_queue_depths AS
WITH newest AS MATERIALIZED (
    SELECT queue_id, id, sort_key, depth, oldest_us
    FROM (
        SELECT a.queue_id, a.id, a.sort_key,
               row_number() OVER (PARTITION BY a.queue_id ORDER BY a.sort_key, a.id) AS place,
               count(*) OVER (PARTITION BY a.queue_id) AS depth,
               min(a.enqueued_at_us) OVER (PARTITION BY a.queue_id) AS oldest_us
        FROM sluice_action_rows AS a
        WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered') AND a.not_before_us IS NULL)
    WHERE place = 1
),
ordered AS (
    SELECT q.queue_id,
           iif(q.blocked_is_head AND q.blocked_by IN ('unknown kind', 'no route', 'gate'),
               (SELECT a.id FROM sluice_action_rows AS a
                WHERE a.id = q.blocked_action_id AND a.queue_id = q.queue_id AND a.not_before_us IS NULL),
               NULL) AS noted_id,
           (SELECT a.id
            FROM sluice_order_rows AS o
            JOIN sluice_action_rows AS a
              ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
            WHERE o.queue_id = q.queue_id AND a.not_before_us IS NULL
            ORDER BY o.sort_key, o.action_id LIMIT 1) AS head_id,
           (SELECT count(*)
            FROM sluice_order_rows AS o
            JOIN sluice_action_rows AS a
              ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
            WHERE o.queue_id = q.queue_id AND a.not_before_us IS NULL) AS depth,
           (SELECT min(a.enqueued_at_us)
            FROM sluice_order_rows AS o
            JOIN sluice_action_rows AS a
              ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
            WHERE o.queue_id = q.queue_id AND a.not_before_us IS NULL) AS oldest_us,
           (SELECT count(*) FROM sluice_action_rows AS a
            WHERE a.queue_id = q.queue_id AND a.not_before_us IS NOT NULL) AS scheduled,
           (SELECT min(a.enqueued_at_us) FROM sluice_action_rows AS a
            WHERE a.queue_id = q.queue_id AND a.not_before_us IS NOT NULL) AS oldest_scheduled_us
    FROM sluice_queue_rows AS q
),
counted AS (
SELECT m.queue_id, m.noted_id,
       m.depth + coalesce(n.depth, 0) + m.scheduled AS depth,
       nullif(min(coalesce(m.oldest_us, 9e18), coalesce(n.oldest_us, 9e18), coalesce(m.oldest_scheduled_us, 9e18)),
              9e18) AS oldest_us,
       CASE WHEN h.id IS NULL OR (n.sort_key, n.id) < (h.sort_key, h.id) THEN n.id ELSE h.id END AS placed_id
FROM ordered AS m
LEFT JOIN newest AS n ON n.queue_id = m.queue_id
LEFT JOIN sluice_action_rows AS h ON h.id = m.head_id
)
SELECT queue_id, depth, oldest_us,
       coalesce(
           noted_id,
           (SELECT a.id
            FROM sluice_pass_rows AS p
            CROSS JOIN sluice_action_rows AS f ON f.id = c.placed_id
            CROSS JOIN sluice_group_rows AS g ON g.action_id = f.id AND g.is_start = 0
            CROSS JOIN sluice_group_rows AS s ON s.queue_id = p.queue_id AND s.name = g.name AND s.is_start = 1
            CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
            LEFT JOIN sluice_state_rows AS t ON t.action_id = a.id
            WHERE p.queue_id = c.queue_id AND a.queue_id = p.queue_id AND (a.sort_key, a.id) < (f.sort_key, f.id)
              AND (a.not_before_us = 9223372036854775806 OR a.not_before_us = t.next_attempt_at_us)
            ORDER BY a.sort_key, a.id LIMIT 1),
           placed_id) AS first_id
FROM counted AS c;

-- One row for each queue with work, with facts about its head; sluice_queues derives the state from them. If there are
-- several holds, it has the oldest; if several gates are closed, the action's own. From the time at which a gate opens
-- by itself, it counts as open: the next broker opens it.
CREATE VIEW sluice_queue_facts AS
SELECT q.queue_id, q.name, q.blocked_by, q.blocked_action_id, q.blocked_at_us, q.blocked_error,
       d.depth, d.oldest_us,
       c.claim, c.action_id AS running_id, c.started_at_us,
       h.id AS head_id, h.kind AS head_kind,
       -- When the head is due, or its batch at the latest.
       coalesce(iif(h.not_before_us = 9223372036854775806 OR h.not_before_us = s.next_attempt_at_us,
                    NULL, h.not_before_us),
                (SELECT b.due_us FROM sluice_batch_rows AS b WHERE b.queue_id = q.queue_id AND NOT b.is_open)
               ) AS not_before_us,
       s.attempts, s.next_attempt_at_us, s.last_error,
       (SELECT min(x.id) FROM sluice_hold_rows AS x
        WHERE (x.until_us IS NULL OR x.until_us > clock.now_us)
          AND (x.scope = q.name OR x.scope = '*'
               OR (x.scope LIKE '%/*' AND substr(q.name, 1, length(x.scope) - 1) = rtrim(x.scope, '*')))) AS hold_id,
       CASE
           WHEN h.gate IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM sluice_gate_rows AS g
                                WHERE g.name = h.gate AND (g.is_open OR g.opens_at_us <= clock.now_us))
               THEN h.gate
           WHEN s.waits_for_gate IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM sluice_gate_rows AS g
                                WHERE g.name = s.waits_for_gate AND (g.is_open OR g.opens_at_us <= clock.now_us))
               THEN s.waits_for_gate
           WHEN q.blocked_by = 'gate' AND q.blocked_action_id = h.id
                AND NOT EXISTS (SELECT 1 FROM sluice_gate_rows AS g
                                WHERE g.name = q.blocked_error AND (g.is_open OR g.opens_at_us <= clock.now_us))
               THEN q.blocked_error
       END AS closed_gate,
       clock.now_us,
       -- Whether a living process has a route for the head, whatever another one has noted.
       EXISTS (SELECT 1 FROM sluice_runner_rows AS r CROSS JOIN json_each(r.routes) AS t
               WHERE r.lease_until_us > clock.now_us
                 AND (t.key = q.name OR t.key = '*'
                      OR (t.key LIKE '%/*' AND substr(q.name, 1, length(t.key) - 1) = rtrim(t.key, '*')))
                 AND (t.type = 'null' OR h.kind IN (SELECT k.value FROM json_each(t.value) AS k))) AS has_route,
       -- The process that runs the head.
       (SELECT r.pid FROM sluice_runner_rows AS r WHERE r.epoch = c.claim >> 32) AS claim_pid,
       -- The process that may run the head: of several, the one that has run queues longest.
       (SELECT r.pid FROM sluice_runner_rows AS r WHERE r.lease_until_us > clock.now_us
        ORDER BY r.epoch LIMIT 1) AS runner_pid
FROM sluice_queue_rows AS q
JOIN sluice_queue_depths AS d ON d.queue_id = q.queue_id
JOIN sluice_clock AS clock
-- Claims of dead processes do not count. Of several claims, the one in the first slot is shown.
LEFT JOIN sluice_claim_rows AS c
    ON c.queue_id = q.queue_id
   AND c.slot = (SELECT min(x.slot) FROM sluice_claim_rows AS x
                 WHERE x.queue_id = q.queue_id
                   AND EXISTS (SELECT 1 FROM sluice_runner_rows AS r
                               WHERE r.epoch = x.claim >> 32 AND r.lease_until_us > clock.now_us))
LEFT JOIN sluice_action_rows AS h ON h.id = coalesce(
    c.action_id,
    d.first_id,
    (SELECT l.id FROM sluice_action_rows AS l
     WHERE l.queue_id = q.queue_id AND l.not_before_us IS NOT NULL
     ORDER BY l.not_before_us, l.sort_key, l.id LIMIT 1))
LEFT JOIN sluice_state_rows AS s ON s.action_id = h.id
WHERE c.claim IS NOT NULL OR d.depth > 0;

-- One row for each queue with work: its state, and why it does not move.
CREATE VIEW sluice_queues AS
WITH judged AS (
    SELECT f.*, x.holder, x.reason, x.until_us,
           (SELECT g.opens_at_us FROM sluice_gate_rows AS g WHERE g.name = f.closed_gate) AS opens_at_us,
           CASE
               WHEN claim IS NOT NULL THEN 'running'
               WHEN blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'failing') THEN 'parked'
               WHEN blocked_by = 'undecodable' THEN blocked_by
               WHEN blocked_by <> 'gate' AND blocked_action_id = head_id AND NOT has_route THEN blocked_by
               WHEN hold_id IS NOT NULL THEN 'held'
               WHEN closed_gate IS NOT NULL THEN 'gate'
               WHEN next_attempt_at_us > now_us THEN 'retry'
               WHEN not_before_us > now_us THEN 'scheduled'
               WHEN runner_pid IS NOT NULL THEN 'ready'
               ELSE 'stopped'
           END AS state
    FROM sluice_queue_facts AS f LEFT JOIN sluice_hold_rows AS x ON x.id = f.hold_id
),
timed AS (
    -- The time that belongs to the state.
    SELECT *,
           (SELECT text FROM sluice_time_text
            WHERE us = CASE state WHEN 'running' THEN started_at_us WHEN 'held' THEN until_us
                                  WHEN 'gate' THEN opens_at_us WHEN 'retry' THEN next_attempt_at_us
                                  WHEN 'scheduled' THEN not_before_us END) AS time
    FROM judged
)
SELECT name AS queue,
       depth,
       state,
       CASE state
           WHEN 'running' THEN 'running since ' || time
                               || iif(head_id IS NULL, '', ', attempt ' || (coalesce(attempts, 0) + 1))
           WHEN 'parked' THEN 'parked by action ' || blocked_action_id || ' after failure (' || blocked_by || '): '
                              || blocked_error
           WHEN 'held' THEN 'held by ' || holder || iif(reason = '', '', ': ' || reason)
           WHEN 'gate' THEN 'waiting for gate ' || closed_gate || coalesce(' until ' || time, '')
           WHEN 'retry' THEN 'waiting for retry until ' || time
           WHEN 'scheduled' THEN 'scheduled for ' || time
           -- A process that runs other actions has no permit left for this one. An idle process has reasons that SQL
           -- cannot see.
           WHEN 'ready' THEN CASE WHEN EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                                               JOIN sluice_runner_rows AS r ON r.epoch = c.claim >> 32
                                               WHERE r.lease_until_us > now_us) THEN 'waiting for a permit'
                                  ELSE 'owned by process ' || runner_pid END
           WHEN 'stopped' THEN 'broker stopped'
           ELSE state
       END AS because,
       head_id,
       head_kind,
       coalesce(attempts, 0) + (claim IS NOT NULL AND head_id IS NOT NULL AND running_id = head_id) AS attempt,
       iif(state = 'running', NULL, time) AS blocked_until,
       (now_us - oldest_us) / 1000000 AS oldest_age_s,
       -- The head's error. If another action has parked the queue, because has its error.
       coalesce(last_error,
                iif(blocked_by <> 'gate' AND (blocked_action_id = head_id OR blocked_by = 'failing'),
                    blocked_error, NULL)) AS last_error,
       claim_pid AS process
FROM timed;

-- The processes that run the queues, the longest running first: how many actions each runs, and when its lease ends.
CREATE VIEW sluice_runners AS
SELECT r.pid,
       (SELECT count(*) FROM sluice_claim_rows AS c WHERE c.claim >> 32 = r.epoch) AS running,
       (SELECT text FROM sluice_time_text WHERE us = r.lease_until_us) AS lease_until
FROM sluice_runner_rows AS r
ORDER BY r.epoch;

-- What operators did on the operator's page.
CREATE VIEW sluice_audit AS
SELECT id,
       (SELECT text FROM sluice_time_text WHERE us = at_us) AS at,
       operator, act, result
FROM sluice_audit_rows;

-- Attempts that did not succeed, of waiting actions and of dead letters.
CREATE VIEW sluice_attempts AS
SELECT action_id, number, outcome, error,
       (SELECT text FROM sluice_time_text WHERE us = started_at_us) AS started_at,
       (SELECT text FROM sluice_time_text WHERE us = ended_at_us) AS ended_at
FROM sluice_attempt_rows;

-- Dead letters. DELETE purges: see 0003.
CREATE VIEW sluice_dead AS
SELECT d.id,
       q.name AS queue,
       -- As in sluice_actions.
       CASE WHEN d.sort_type = 'date' AND typeof(d.sort_key) = 'integer'
                THEN (SELECT text FROM sluice_time_text WHERE us = d.sort_key)
            WHEN d.sort_type <> 'arrival' THEN d.sort_key
       END AS sort_key,
       d.kind,
       d.payload,
       d.cause,
       d.error,
       d.attempts,
       (SELECT text FROM sluice_time_text WHERE us = d.enqueued_at_us) AS enqueued_at,
       (SELECT text FROM sluice_time_text WHERE us = d.died_at_us) AS died_at,
       d.version,
       d.tag,
       d.gate
FROM sluice_dead_rows AS d
JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id;

-- Gates that were opened or closed; all others are closed. INSERT opens, DELETE closes, UPDATE of the state does
-- either: see 0003.
CREATE VIEW sluice_gates AS
SELECT name AS gate,
       iif(is_open, 'open', 'closed') AS state,
       (SELECT text FROM sluice_time_text WHERE us = changed_at_us) AS since,
       -- 1: the state is kept; 0: the gate is closed when the file is opened again.
       owner IS NULL AS is_persistent,
       -- When a closed gate opens by itself, if it does. A time in the past: when a broker runs.
       (SELECT text FROM sluice_time_text WHERE us = opens_at_us) AS opens_at
FROM sluice_gate_rows;

-- Holds that apply now. INSERT holds, DELETE ends the hold: see 0003.
CREATE VIEW sluice_holds AS
SELECT x.id, x.scope, x.holder, x.reason,
       (SELECT text FROM sluice_time_text WHERE us = x.since_us) AS since,
       (SELECT text FROM sluice_time_text WHERE us = x.until_us) AS until
FROM sluice_hold_rows AS x JOIN sluice_clock AS clock
WHERE x.until_us IS NULL OR x.until_us > clock.now_us;
