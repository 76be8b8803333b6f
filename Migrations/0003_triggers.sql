-- Triggers for writes with the plain sqlite3 shell. The engine writes to the tables directly. Each trigger records the
-- change for each running broker.

-- INSERT INTO sluice_actions (queue, kind, payload) VALUES (...) enqueues. Optional columns: sort_key, not_before,
-- expires_at, tag, gate and version.
CREATE TRIGGER sluice_actions_insert INSTEAD OF INSERT ON sluice_actions
BEGIN
    SELECT CASE
        WHEN NEW.id IS NOT NULL
            THEN RAISE(ABORT, 'sluice_actions.id is given by the database: leave it out')
        WHEN coalesce(NEW.attempts, NEW.next_attempt_at, NEW.running_since, NEW.enqueued_at, NEW.last_error)
             IS NOT NULL
            THEN RAISE(ABORT, 'sluice_actions: leave out attempts, next_attempt_at, running_since, enqueued_at and last_error')
        WHEN typeof(NEW.queue) IS NOT 'text' OR length(CAST(NEW.queue AS BLOB)) NOT BETWEEN 1 AND 512
             OR instr(NEW.queue, char(0)) > 0
            THEN RAISE(ABORT, 'sluice_actions.queue must be text of 1 to 512 bytes without NUL')
        WHEN typeof(NEW.kind) IS NOT 'text' OR length(CAST(NEW.kind AS BLOB)) NOT BETWEEN 1 AND 255
             OR instr(NEW.kind, char(0)) > 0
            THEN RAISE(ABORT, 'sluice_actions.kind must be text of 1 to 255 bytes without NUL')
        WHEN typeof(NEW.payload) IS NOT 'text' OR instr(NEW.payload, char(0)) > 0 OR NOT json_valid(NEW.payload)
            THEN RAISE(ABORT, 'sluice_actions.payload must be JSON text without NUL')
        WHEN typeof(NEW.sort_key) = 'blob'
            THEN RAISE(ABORT, 'sluice_actions.sort_key must be NULL, an integer, a real or text')
        WHEN NEW.not_before IS NOT NULL AND NOT (typeof(NEW.not_before) = 'integer'
                 OR (typeof(NEW.not_before) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.not_before, 1, 19), '+0 days') IS replace(substr(NEW.not_before, 1, 19), ' ', 'T')
                     AND (substr(NEW.not_before, 20) IN ('', 'Z')
                          OR (substr(NEW.not_before, 20, 2) GLOB '.[0-9]' AND length(NEW.not_before) - (substr(NEW.not_before, -1) = 'Z') <= 26
                              AND substr(NEW.not_before, 21, length(NEW.not_before) - 20 - (substr(NEW.not_before, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
            THEN RAISE(ABORT, 'sluice_actions.not_before must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN NEW.expires_at IS NOT NULL AND NOT (typeof(NEW.expires_at) = 'integer'
                 OR (typeof(NEW.expires_at) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.expires_at, 1, 19), '+0 days') IS replace(substr(NEW.expires_at, 1, 19), ' ', 'T')
                     AND (substr(NEW.expires_at, 20) IN ('', 'Z')
                          OR (substr(NEW.expires_at, 20, 2) GLOB '.[0-9]' AND length(NEW.expires_at) - (substr(NEW.expires_at, -1) = 'Z') <= 26
                              AND substr(NEW.expires_at, 21, length(NEW.expires_at) - 20 - (substr(NEW.expires_at, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
            THEN RAISE(ABORT, 'sluice_actions.expires_at must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN NEW.tag IS NOT NULL AND (typeof(NEW.tag) <> 'text' OR instr(NEW.tag, char(0)) > 0
                                      OR length(CAST(NEW.tag AS BLOB)) NOT BETWEEN 1 AND 255)
            THEN RAISE(ABORT, 'sluice_actions.tag must be text of 1 to 255 bytes without NUL')
        WHEN NEW.gate IS NOT NULL AND (typeof(NEW.gate) <> 'text' OR instr(NEW.gate, char(0)) > 0
                                       OR length(CAST(NEW.gate AS BLOB)) NOT BETWEEN 1 AND 255)
            THEN RAISE(ABORT, 'sluice_actions.gate must be text of 1 to 255 bytes without NUL')
        WHEN NEW.version IS NOT NULL AND (typeof(NEW.version) <> 'integer' OR NEW.version < 1)
            THEN RAISE(ABORT, 'sluice_actions.version must be an integer of 1 or more')
    END;

    INSERT INTO sluice_queue_rows (name, sort_type)
    SELECT NEW.queue, CASE typeof(NEW.sort_key) WHEN 'null' THEN 'arrival' ELSE typeof(NEW.sort_key) END
    WHERE NOT EXISTS (SELECT 1 FROM sluice_queue_rows WHERE name = NEW.queue);

    -- If the queue has no actions and none moves to it, it gets the type of this sort key.
    UPDATE sluice_queue_rows
    SET sort_type = CASE typeof(NEW.sort_key) WHEN 'null' THEN 'arrival' ELSE typeof(NEW.sort_key) END
    WHERE name = NEW.queue
      AND NOT CASE sort_type
                    WHEN 'arrival' THEN NEW.sort_key IS NULL
                    WHEN 'date' THEN (typeof(NEW.sort_key) = 'integer'
                 OR (typeof(NEW.sort_key) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.sort_key, 1, 19), '+0 days') IS replace(substr(NEW.sort_key, 1, 19), ' ', 'T')
                     AND (substr(NEW.sort_key, 20) IN ('', 'Z')
                          OR (substr(NEW.sort_key, 20, 2) GLOB '.[0-9]' AND length(NEW.sort_key) - (substr(NEW.sort_key, -1) = 'Z') <= 26
                              AND substr(NEW.sort_key, 21, length(NEW.sort_key) - 20 - (substr(NEW.sort_key, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
                    WHEN 'real' THEN typeof(NEW.sort_key) IN ('real', 'integer')
                    -- A composite key is a text; whether it has the parts, its reader finds out.
                    ELSE typeof(NEW.sort_key) = iif(sort_type = 'integer', 'integer', 'text')
                END
      AND NOT EXISTS (SELECT 1 FROM sluice_action_facts AS a WHERE a.name = NEW.queue)
      AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                      WHERE s.moves_to_queue_id = sluice_queue_rows.queue_id);

    SELECT CASE q.sort_type
        WHEN 'arrival' THEN RAISE(ABORT, 'sluice_actions.sort_key must be left out: the other actions in the queue have none')
        WHEN 'date' THEN RAISE(ABORT, 'sluice_actions.sort_key must be a date, like those of the other actions in the queue: ISO 8601 in UTC, or microseconds since 1970')
        WHEN 'integer' THEN RAISE(ABORT, 'sluice_actions.sort_key must be an integer, like those of the other actions in the queue')
        WHEN 'real' THEN RAISE(ABORT, 'sluice_actions.sort_key must be a number, like those of the other actions in the queue')
        ELSE RAISE(ABORT, 'sluice_actions.sort_key must be text, like those of the other actions in the queue')
    END
    FROM sluice_queue_rows AS q
    WHERE q.name = NEW.queue
      AND NOT CASE q.sort_type
                    WHEN 'arrival' THEN NEW.sort_key IS NULL
                    WHEN 'date' THEN (typeof(NEW.sort_key) = 'integer'
                 OR (typeof(NEW.sort_key) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.sort_key, 1, 19), '+0 days') IS replace(substr(NEW.sort_key, 1, 19), ' ', 'T')
                     AND (substr(NEW.sort_key, 20) IN ('', 'Z')
                          OR (substr(NEW.sort_key, 20, 2) GLOB '.[0-9]' AND length(NEW.sort_key) - (substr(NEW.sort_key, -1) = 'Z') <= 26
                              AND substr(NEW.sort_key, 21, length(NEW.sort_key) - 20 - (substr(NEW.sort_key, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
                    WHEN 'real' THEN typeof(NEW.sort_key) IN ('real', 'integer')
                    -- A composite key is a text; whether it has the parts, its reader finds out.
                    ELSE typeof(NEW.sort_key) = iif(q.sort_type = 'integer', 'integer', 'text')
                END;

    UPDATE sluice_counters SET value = value + 1 WHERE name = 'action';

    INSERT INTO sluice_action_rows (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload,
                                    version, tag, expires_at_us, gate)
    SELECT n.value, q.queue_id,
           CASE q.sort_type
               WHEN 'arrival' THEN 0
               WHEN 'date' THEN CASE typeof(NEW.sort_key)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.sort_key, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.sort_key, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.sort_key
           END
               WHEN 'real' THEN CAST(NEW.sort_key AS REAL)
               ELSE NEW.sort_key
           END,
           CASE typeof(NEW.not_before)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.not_before, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.not_before, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.not_before
           END,
           clock.now_us, random(), NEW.kind, NEW.payload, coalesce(NEW.version, 1), NEW.tag,
           CASE typeof(NEW.expires_at)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.expires_at, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.expires_at, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.expires_at
           END,
           NEW.gate
    FROM sluice_counters AS n JOIN sluice_queue_rows AS q JOIN sluice_clock AS clock
    WHERE n.name = 'action' AND q.name = NEW.queue;

    -- Usually the engine writes places; this is for a file that no engine opens for a long time.
    INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id)
    SELECT a.queue_id, a.sort_key, a.id
    FROM sluice_counters AS n JOIN sluice_counters AS o
    JOIN sluice_action_rows AS a ON a.id > o.value AND a.id <= o.value + 16384
    WHERE n.name = 'action' AND o.name = 'ordered' AND n.value - o.value >= 131072 AND a.not_before_us IS NULL
    ORDER BY a.queue_id, a.sort_key, a.id;
    UPDATE sluice_counters SET value = value + 16384
    WHERE name = 'ordered' AND (SELECT value FROM sluice_counters WHERE name = 'action') - value >= 131072;

    INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
    SELECT r.epoch, q.queue_id, n.value, 'insert'
    FROM sluice_runner_rows AS r CROSS JOIN sluice_counters AS n CROSS JOIN sluice_queue_rows AS q
    WHERE n.name = 'action' AND q.name = NEW.queue;
END;

-- DELETE FROM sluice_actions removes an action, and unblocks a queue that the action parked. The slot of a running
-- action is free when its handler has returned.
CREATE TRIGGER sluice_actions_delete INSTEAD OF DELETE ON sluice_actions
BEGIN
    INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
    SELECT r.epoch, a.queue_id, a.id, 'delete' FROM sluice_runner_rows AS r CROSS JOIN sluice_action_rows AS a
    WHERE a.id = OLD.id;

    UPDATE sluice_queue_rows
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL
    WHERE blocked_action_id = OLD.id AND blocked_by <> 'failing'
      AND queue_id = (SELECT a.queue_id FROM sluice_action_rows AS a WHERE a.id = OLD.id);

    DELETE FROM sluice_order_rows
    WHERE queue_id = (SELECT a.queue_id FROM sluice_action_rows AS a WHERE a.id = OLD.id)
      AND sort_key = (SELECT a.sort_key FROM sluice_action_rows AS a WHERE a.id = OLD.id)
      AND action_id = OLD.id;
    UPDATE sluice_key_rows SET until_us = (SELECT now_us FROM sluice_clock) + keep_us WHERE action_id = OLD.id;
    DELETE FROM sluice_action_rows WHERE id = OLD.id;
    DELETE FROM sluice_state_rows WHERE action_id = OLD.id;
    DELETE FROM sluice_attempt_rows WHERE action_id = OLD.id;
    DELETE FROM sluice_group_rows WHERE action_id = OLD.id;
    DELETE FROM sluice_deferred_rows WHERE action_id = OLD.id;
END;

-- UPDATE sluice_actions SET column = value edits queue, sort_key, kind, payload, version, tag, gate, expires_at,
-- next_attempt_at or not_before. If the action runs, the edit applies to its next attempt, and a move to another queue
-- when the attempt ends.
CREATE TRIGGER sluice_actions_update INSTEAD OF UPDATE ON sluice_actions
BEGIN
    SELECT CASE
        WHEN NEW.id IS NOT OLD.id OR NEW.attempts IS NOT OLD.attempts OR NEW.enqueued_at IS NOT OLD.enqueued_at
             OR NEW.running_since IS NOT OLD.running_since OR NEW.last_error IS NOT OLD.last_error
            THEN RAISE(ABORT, 'sluice_actions: id, attempts, enqueued_at, running_since and last_error cannot be set')
        WHEN typeof(NEW.queue) IS NOT 'text' OR length(CAST(NEW.queue AS BLOB)) NOT BETWEEN 1 AND 512
             OR instr(NEW.queue, char(0)) > 0
            THEN RAISE(ABORT, 'sluice_actions.queue must be text of 1 to 512 bytes without NUL')
        WHEN typeof(NEW.kind) IS NOT 'text' OR length(CAST(NEW.kind AS BLOB)) NOT BETWEEN 1 AND 255
             OR instr(NEW.kind, char(0)) > 0
            THEN RAISE(ABORT, 'sluice_actions.kind must be text of 1 to 255 bytes without NUL')
        WHEN typeof(NEW.payload) IS NOT 'text' OR instr(NEW.payload, char(0)) > 0 OR NOT json_valid(NEW.payload)
            THEN RAISE(ABORT, 'sluice_actions.payload must be JSON text without NUL')
        WHEN typeof(NEW.sort_key) = 'blob'
            THEN RAISE(ABORT, 'sluice_actions.sort_key must be NULL, an integer, a real or text')
        WHEN NEW.not_before IS NOT NULL AND NOT (typeof(NEW.not_before) = 'integer'
                 OR (typeof(NEW.not_before) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.not_before, 1, 19), '+0 days') IS replace(substr(NEW.not_before, 1, 19), ' ', 'T')
                     AND (substr(NEW.not_before, 20) IN ('', 'Z')
                          OR (substr(NEW.not_before, 20, 2) GLOB '.[0-9]' AND length(NEW.not_before) - (substr(NEW.not_before, -1) = 'Z') <= 26
                              AND substr(NEW.not_before, 21, length(NEW.not_before) - 20 - (substr(NEW.not_before, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
            THEN RAISE(ABORT, 'sluice_actions.not_before must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN NEW.expires_at IS NOT NULL AND NOT (typeof(NEW.expires_at) = 'integer'
                 OR (typeof(NEW.expires_at) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.expires_at, 1, 19), '+0 days') IS replace(substr(NEW.expires_at, 1, 19), ' ', 'T')
                     AND (substr(NEW.expires_at, 20) IN ('', 'Z')
                          OR (substr(NEW.expires_at, 20, 2) GLOB '.[0-9]' AND length(NEW.expires_at) - (substr(NEW.expires_at, -1) = 'Z') <= 26
                              AND substr(NEW.expires_at, 21, length(NEW.expires_at) - 20 - (substr(NEW.expires_at, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
            THEN RAISE(ABORT, 'sluice_actions.expires_at must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN NEW.tag IS NOT NULL AND (typeof(NEW.tag) <> 'text' OR instr(NEW.tag, char(0)) > 0
                                      OR length(CAST(NEW.tag AS BLOB)) NOT BETWEEN 1 AND 255)
            THEN RAISE(ABORT, 'sluice_actions.tag must be text of 1 to 255 bytes without NUL')
        WHEN NEW.gate IS NOT NULL AND (typeof(NEW.gate) <> 'text' OR instr(NEW.gate, char(0)) > 0
                                       OR length(CAST(NEW.gate AS BLOB)) NOT BETWEEN 1 AND 255)
            THEN RAISE(ABORT, 'sluice_actions.gate must be text of 1 to 255 bytes without NUL')
        WHEN NEW.version IS NOT NULL AND (typeof(NEW.version) <> 'integer' OR NEW.version < 1)
            THEN RAISE(ABORT, 'sluice_actions.version must be an integer of 1 or more')
        WHEN NEW.next_attempt_at IS NOT NULL AND NOT (typeof(NEW.next_attempt_at) = 'integer'
                 OR (typeof(NEW.next_attempt_at) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.next_attempt_at, 1, 19), '+0 days') IS replace(substr(NEW.next_attempt_at, 1, 19), ' ', 'T')
                     AND (substr(NEW.next_attempt_at, 20) IN ('', 'Z')
                          OR (substr(NEW.next_attempt_at, 20, 2) GLOB '.[0-9]' AND length(NEW.next_attempt_at) - (substr(NEW.next_attempt_at, -1) = 'Z') <= 26
                              AND substr(NEW.next_attempt_at, 21, length(NEW.next_attempt_at) - 20 - (substr(NEW.next_attempt_at, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
            THEN RAISE(ABORT, 'sluice_actions.next_attempt_at must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN NEW.not_before IS NOT OLD.not_before AND OLD.running_since IS NOT NULL
            THEN RAISE(ABORT, 'sluice_actions.not_before cannot be set while the action runs')
    END;

    INSERT INTO sluice_queue_rows (name, sort_type)
    SELECT NEW.queue, CASE typeof(NEW.sort_key) WHEN 'null' THEN 'arrival' ELSE typeof(NEW.sort_key) END
    WHERE NOT EXISTS (SELECT 1 FROM sluice_queue_rows WHERE name = NEW.queue);

    -- If the queue has no actions and none moves to it, it gets the type of this sort key. An unchanged key keeps its
    -- type when its action moves: the view shows a date as text.
    UPDATE sluice_queue_rows
    SET sort_type = (SELECT o.sort_type FROM sluice_queue_rows AS o WHERE o.name = OLD.queue)
    WHERE name = NEW.queue AND NEW.queue IS NOT OLD.queue AND NEW.sort_key IS OLD.sort_key
      AND NOT EXISTS (SELECT 1 FROM sluice_action_rows AS a WHERE a.queue_id = sluice_queue_rows.queue_id)
      AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                      WHERE s.moves_to_queue_id = sluice_queue_rows.queue_id);
    UPDATE sluice_queue_rows
    SET sort_type = CASE typeof(NEW.sort_key) WHEN 'null' THEN 'arrival' ELSE typeof(NEW.sort_key) END
    WHERE name = NEW.queue
      AND NOT CASE sort_type
                    WHEN 'arrival' THEN NEW.sort_key IS NULL
                    WHEN 'date' THEN (typeof(NEW.sort_key) = 'integer'
                 OR (typeof(NEW.sort_key) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.sort_key, 1, 19), '+0 days') IS replace(substr(NEW.sort_key, 1, 19), ' ', 'T')
                     AND (substr(NEW.sort_key, 20) IN ('', 'Z')
                          OR (substr(NEW.sort_key, 20, 2) GLOB '.[0-9]' AND length(NEW.sort_key) - (substr(NEW.sort_key, -1) = 'Z') <= 26
                              AND substr(NEW.sort_key, 21, length(NEW.sort_key) - 20 - (substr(NEW.sort_key, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
                    WHEN 'real' THEN typeof(NEW.sort_key) IN ('real', 'integer')
                    -- A composite key is a text; whether it has the parts, its reader finds out.
                    ELSE typeof(NEW.sort_key) = iif(sort_type = 'integer', 'integer', 'text')
                END
      AND NOT EXISTS (SELECT 1 FROM sluice_action_facts AS a WHERE a.name = NEW.queue)
      AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                      WHERE s.moves_to_queue_id = sluice_queue_rows.queue_id);

    SELECT CASE q.sort_type
        WHEN 'arrival' THEN RAISE(ABORT, 'sluice_actions.sort_key must be left out: the other actions in the queue have none')
        WHEN 'date' THEN RAISE(ABORT, 'sluice_actions.sort_key must be a date, like those of the other actions in the queue: ISO 8601 in UTC, or microseconds since 1970')
        WHEN 'integer' THEN RAISE(ABORT, 'sluice_actions.sort_key must be an integer, like those of the other actions in the queue')
        WHEN 'real' THEN RAISE(ABORT, 'sluice_actions.sort_key must be a number, like those of the other actions in the queue')
        ELSE RAISE(ABORT, 'sluice_actions.sort_key must be text, like those of the other actions in the queue')
    END
    FROM sluice_queue_rows AS q
    WHERE q.name = NEW.queue
      AND NOT CASE q.sort_type
                    WHEN 'arrival' THEN NEW.sort_key IS NULL
                    WHEN 'date' THEN (typeof(NEW.sort_key) = 'integer'
                 OR (typeof(NEW.sort_key) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.sort_key, 1, 19), '+0 days') IS replace(substr(NEW.sort_key, 1, 19), ' ', 'T')
                     AND (substr(NEW.sort_key, 20) IN ('', 'Z')
                          OR (substr(NEW.sort_key, 20, 2) GLOB '.[0-9]' AND length(NEW.sort_key) - (substr(NEW.sort_key, -1) = 'Z') <= 26
                              AND substr(NEW.sort_key, 21, length(NEW.sort_key) - 20 - (substr(NEW.sort_key, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
                    WHEN 'real' THEN typeof(NEW.sort_key) IN ('real', 'integer')
                    -- A composite key is a text; whether it has the parts, its reader finds out.
                    ELSE typeof(NEW.sort_key) = iif(q.sort_type = 'integer', 'integer', 'text')
                END;

    -- Deletes the place; the last statement writes the new one.
    DELETE FROM sluice_order_rows
    WHERE queue_id = (SELECT a.queue_id FROM sluice_action_rows AS a WHERE a.id = OLD.id)
      AND sort_key = (SELECT a.sort_key FROM sluice_action_rows AS a WHERE a.id = OLD.id)
      AND action_id = OLD.id;

    UPDATE sluice_action_rows
    SET kind = NEW.kind, payload = NEW.payload, version = coalesce(NEW.version, version), tag = NEW.tag,
        gate = CASE WHEN NEW.gate IS OLD.gate THEN gate ELSE NEW.gate END,
        expires_at_us = CASE WHEN NEW.expires_at IS OLD.expires_at THEN expires_at_us ELSE CASE typeof(NEW.expires_at)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.expires_at, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.expires_at, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.expires_at
           END END,
        sort_key = (SELECT CASE q.sort_type
               WHEN 'arrival' THEN 0
               WHEN 'date' THEN CASE typeof(NEW.sort_key)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.sort_key, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.sort_key, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.sort_key
           END
               WHEN 'real' THEN CAST(NEW.sort_key AS REAL)
               ELSE NEW.sort_key
           END
                    FROM sluice_queue_rows AS q WHERE q.name = NEW.queue),
        not_before_us = CASE typeof(NEW.not_before)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.not_before, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.not_before, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.not_before
           END
    WHERE id = OLD.id
      AND (NEW.kind IS NOT OLD.kind OR NEW.payload IS NOT OLD.payload OR NEW.sort_key IS NOT OLD.sort_key
           OR NEW.not_before IS NOT OLD.not_before OR NEW.queue IS NOT OLD.queue OR NEW.tag IS NOT OLD.tag
           OR NEW.version IS NOT OLD.version OR NEW.gate IS NOT OLD.gate OR NEW.expires_at IS NOT OLD.expires_at
           -- A deferred action gets its place back, and waits there as long as it must.
           OR NEW.next_attempt_at IS NOT OLD.next_attempt_at);
    UPDATE sluice_state_rows SET waits_for_gate = NULL WHERE action_id = OLD.id AND NEW.gate IS NOT OLD.gate;
    -- The deduplication key moves with the action, and applies in the new queue.
    UPDATE OR REPLACE sluice_key_rows SET queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.queue)
    WHERE action_id = OLD.id AND NEW.queue IS NOT OLD.queue AND until_us IS NULL;

    -- The facts that an attempt changes.
    INSERT INTO sluice_state_rows (action_id)
    SELECT OLD.id
    WHERE (NEW.next_attempt_at IS NOT OLD.next_attempt_at
           OR (OLD.running_since IS NOT NULL
               AND (NEW.queue IS NOT OLD.queue OR NEW.kind IS NOT OLD.kind OR NEW.payload IS NOT OLD.payload)))
      AND NOT EXISTS (SELECT 1 FROM sluice_state_rows WHERE action_id = OLD.id);
    UPDATE sluice_state_rows
    SET edited_claim = (SELECT c.claim FROM sluice_claim_rows AS c JOIN sluice_action_rows AS a ON a.id = OLD.id
                        WHERE c.queue_id = a.queue_id AND c.action_id = a.id)
    WHERE action_id = OLD.id AND OLD.running_since IS NOT NULL
      AND (NEW.kind IS NOT OLD.kind OR NEW.payload IS NOT OLD.payload);
    UPDATE sluice_state_rows
    SET next_attempt_at_us = CASE typeof(NEW.next_attempt_at)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.next_attempt_at, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.next_attempt_at, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.next_attempt_at
           END,
        retry_delay_us = max(0, CASE typeof(NEW.next_attempt_at)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.next_attempt_at, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.next_attempt_at, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.next_attempt_at
           END
                                - (SELECT now_us FROM sluice_clock))
    WHERE action_id = OLD.id AND NEW.next_attempt_at IS NOT OLD.next_attempt_at;
    UPDATE sluice_state_rows
    SET moves_to_queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.queue)
    WHERE action_id = OLD.id AND NEW.queue IS NOT OLD.queue AND OLD.running_since IS NOT NULL;

    -- A move to a failing queue: a new number spares the action, which did not wait after the failed one.
    UPDATE sluice_counters SET value = value + 1
    WHERE name = 'action' AND NEW.queue IS NOT OLD.queue AND OLD.running_since IS NULL
      AND EXISTS (SELECT 1 FROM sluice_queue_rows WHERE name = NEW.queue AND blocked_by = 'failing');
    INSERT INTO sluice_state_rows (action_id)
    SELECT OLD.id
    WHERE NEW.queue IS NOT OLD.queue AND OLD.running_since IS NULL
      AND EXISTS (SELECT 1 FROM sluice_queue_rows WHERE name = NEW.queue AND blocked_by = 'failing')
      AND NOT EXISTS (SELECT 1 FROM sluice_state_rows WHERE action_id = OLD.id);
    UPDATE sluice_state_rows SET arrived_as_id = (SELECT value FROM sluice_counters WHERE name = 'action')
    WHERE action_id = OLD.id AND NEW.queue IS NOT OLD.queue AND OLD.running_since IS NULL
      AND EXISTS (SELECT 1 FROM sluice_queue_rows WHERE name = NEW.queue AND blocked_by = 'failing');

    -- An edit clears a block that it may resolve. A move also clears the parking that the action caused.
    UPDATE sluice_queue_rows
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL
    WHERE name = OLD.queue AND blocked_action_id = OLD.id
      AND (blocked_by IN ('undecodable', 'unknown kind', 'no route')
           OR (blocked_by <> 'failing' AND NEW.queue IS NOT OLD.queue));

    INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
    SELECT r.epoch, q.queue_id, OLD.id, 'update' FROM sluice_runner_rows AS r CROSS JOIN sluice_queue_rows AS q
    WHERE q.name IN (OLD.queue, NEW.queue);

    UPDATE sluice_action_rows
    SET queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.queue)
    WHERE id = OLD.id AND NEW.queue IS NOT OLD.queue AND OLD.running_since IS NULL;
    UPDATE sluice_group_rows
    SET queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.queue)
    WHERE action_id = OLD.id AND NEW.queue IS NOT OLD.queue AND OLD.running_since IS NULL;

    INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id)
    SELECT a.queue_id, a.sort_key, a.id FROM sluice_action_rows AS a
    WHERE a.id = OLD.id AND a.not_before_us IS NULL
      AND a.id <= (SELECT value FROM sluice_counters WHERE name = 'ordered');
END;

-- Setting next_attempt_at also clears the parking that the action caused, even if the value does not change: a parked
-- head usually has none, and `next_attempt_at = NULL` means "now".
CREATE TRIGGER sluice_actions_retry INSTEAD OF UPDATE OF next_attempt_at ON sluice_actions
BEGIN
    UPDATE sluice_queue_rows
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL
    WHERE name = OLD.queue AND blocked_action_id = OLD.id AND blocked_by <> 'failing';
END;

-- DELETE FROM sluice_dead purges dead letters and their history.
CREATE TRIGGER sluice_dead_delete INSTEAD OF DELETE ON sluice_dead
BEGIN
    INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
    SELECT r.epoch, d.queue_id, d.id, 'wake' FROM sluice_runner_rows AS r CROSS JOIN sluice_dead_rows AS d
    WHERE d.id = OLD.id;

    DELETE FROM sluice_dead_rows WHERE id = OLD.id;
    DELETE FROM sluice_attempt_rows WHERE action_id = OLD.id;
    DELETE FROM sluice_group_rows WHERE action_id = OLD.id;
END;

-- A queue name that is a pattern could not be addressed alone. Rows of an earlier version stay.
CREATE TRIGGER sluice_queue_name BEFORE INSERT ON sluice_queue_rows WHEN instr(NEW.name, '*') > 0
BEGIN
    SELECT RAISE(ABORT, 'sluice_actions.queue must not contain ''*'', which only patterns have: leave it out');
END;

-- The depth of nested arrays and objects has the same limit as in an enqueue. Only payloads with enough brackets are
-- parsed for it.
CREATE TRIGGER sluice_actions_insert_depth INSTEAD OF INSERT ON sluice_actions
WHEN length(NEW.payload) - length(replace(replace(NEW.payload, '[', ''), '{', '')) > 512 AND json_valid(NEW.payload)
BEGIN
    SELECT RAISE(ABORT, 'sluice_actions.payload must not be nested deeper than 512')
    WHERE (WITH RECURSIVE
               part (id, parent) AS (SELECT id, parent FROM json_tree(NEW.payload) WHERE type IN ('array', 'object')),
               placed (id, depth) AS (SELECT id, 1 FROM part WHERE parent IS NULL
                                      UNION ALL
                                      SELECT p.id, d.depth + 1 FROM placed AS d JOIN part AS p ON p.parent = d.id)
           SELECT max(depth) FROM placed) > 512;
END;

CREATE TRIGGER sluice_actions_update_depth INSTEAD OF UPDATE OF payload ON sluice_actions
WHEN length(NEW.payload) - length(replace(replace(NEW.payload, '[', ''), '{', '')) > 512 AND json_valid(NEW.payload)
BEGIN
    SELECT RAISE(ABORT, 'sluice_actions.payload must not be nested deeper than 512')
    WHERE (WITH RECURSIVE
               part (id, parent) AS (SELECT id, parent FROM json_tree(NEW.payload) WHERE type IN ('array', 'object')),
               placed (id, depth) AS (SELECT id, 1 FROM part WHERE parent IS NULL
                                      UNION ALL
                                      SELECT p.id, d.depth + 1 FROM placed AS d JOIN part AS p ON p.parent = d.id)
           SELECT max(depth) FROM placed) > 512;
END;

-- Triggers that hold queues and open gates from the plain sqlite3 shell. The engine writes to the tables directly. They
-- notify running brokers.

-- INSERT INTO sluice_holds (scope, holder, reason) VALUES ('conversation/*', 'ops', 'server moves') holds queues. until
-- is optional, and so are holder and reason.
CREATE TRIGGER sluice_holds_insert INSTEAD OF INSERT ON sluice_holds
BEGIN
    SELECT CASE
        WHEN NEW.id IS NOT NULL OR NEW.since IS NOT NULL
            THEN RAISE(ABORT, 'sluice_holds: give scope, holder, reason and until only')
        WHEN typeof(NEW.scope) IS NOT 'text' OR length(CAST(NEW.scope AS BLOB)) NOT BETWEEN 1 AND 512
             OR instr(NEW.scope, char(0)) > 0
             OR NOT (instr(NEW.scope, '*') = 0 OR NEW.scope = '*'
                     OR (instr(NEW.scope, '*') = length(NEW.scope) AND NEW.scope LIKE '%/*'))
            THEN RAISE(ABORT, 'sluice_holds.scope must be a queue name, a prefix that ends in /*, or *')
        WHEN NEW.holder IS NOT NULL AND (typeof(NEW.holder) <> 'text' OR length(NEW.holder) > 255)
            THEN RAISE(ABORT, 'sluice_holds.holder must be text of at most 255 characters')
        WHEN NEW.reason IS NOT NULL AND (typeof(NEW.reason) <> 'text' OR length(NEW.reason) > 1000)
            THEN RAISE(ABORT, 'sluice_holds.reason must be text of at most 1000 characters')
        WHEN NEW.until IS NOT NULL AND NOT (typeof(NEW.until) = 'integer'
                 OR (typeof(NEW.until) = 'text'
                     AND strftime('%Y-%m-%dT%H:%M:%S', substr(NEW.until, 1, 19), '+0 days') IS replace(substr(NEW.until, 1, 19), ' ', 'T')
                     AND (substr(NEW.until, 20) IN ('', 'Z')
                          OR (substr(NEW.until, 20, 2) GLOB '.[0-9]' AND length(NEW.until) - (substr(NEW.until, -1) = 'Z') <= 26
                              AND substr(NEW.until, 21, length(NEW.until) - 20 - (substr(NEW.until, -1) = 'Z')) NOT GLOB '*[^0-9]*'))))
            THEN RAISE(ABORT, 'sluice_holds.until must be ISO 8601 in UTC, or microseconds since 1970')
    END;
    INSERT INTO sluice_hold_rows (scope, holder, reason, since_us, until_us)
    SELECT NEW.scope, coalesce(NEW.holder, 'sqlite3'), coalesce(NEW.reason, ''), now_us,
           CASE typeof(NEW.until)
               WHEN 'text' THEN CAST(strftime('%s', substr(NEW.until, 1, 19)) AS INTEGER) * 1000000
                                + CAST(substr(rtrim(substr(NEW.until, 21), 'Z') || '000000', 1, 6) AS INTEGER)
               ELSE NEW.until
           END
    FROM sluice_clock;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'hold' FROM sluice_runner_rows;
END;

-- DELETE FROM sluice_holds WHERE ... ends holds. Queues without another hold continue.
CREATE TRIGGER sluice_holds_delete INSTEAD OF DELETE ON sluice_holds
BEGIN
    DELETE FROM sluice_hold_rows WHERE id = OLD.id;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'hold' FROM sluice_runner_rows;
END;

-- A hold cannot be edited: the end of a hold notifies its waiters.
CREATE TRIGGER sluice_holds_update INSTEAD OF UPDATE ON sluice_holds
BEGIN
    SELECT RAISE(ABORT, 'sluice_holds: a hold cannot be edited; insert another one and delete this one');
END;

-- INSERT INTO sluice_gates (gate) VALUES ('network') opens a gate; with the state 'closed' it closes it. The gate may
-- exist already.
CREATE TRIGGER sluice_gates_insert INSTEAD OF INSERT ON sluice_gates
BEGIN
    SELECT CASE
        WHEN NEW.since IS NOT NULL OR NEW.is_kept IS NOT NULL OR NEW.opens_at IS NOT NULL
            THEN RAISE(ABORT, 'sluice_gates: give gate and state only')
        WHEN typeof(NEW.gate) IS NOT 'text' OR length(CAST(NEW.gate AS BLOB)) NOT BETWEEN 1 AND 255
             OR instr(NEW.gate, char(0)) > 0
            THEN RAISE(ABORT, 'sluice_gates.gate must be text of 1 to 255 bytes without NUL')
        WHEN coalesce(NEW.state, 'open') NOT IN ('open', 'closed')
            THEN RAISE(ABORT, 'sluice_gates.state must be open or closed')
    END;
    UPDATE sluice_counters SET value = value + 1
    WHERE name = 'opening' AND coalesce(NEW.state, 'open') = 'open'
      AND NOT EXISTS (SELECT 1 FROM sluice_gate_rows AS g WHERE g.name = NEW.gate AND g.is_open);
    INSERT INTO sluice_gate_rows (name, is_open, opening, changed_at_us)
    SELECT NEW.gate, 0, 0, now_us FROM sluice_clock
    WHERE NOT EXISTS (SELECT 1 FROM sluice_gate_rows AS g WHERE g.name = NEW.gate);
    UPDATE sluice_gate_rows
    SET opening = CASE WHEN is_open OR NEW.state = 'closed' THEN opening
                       ELSE (SELECT value FROM sluice_counters WHERE name = 'opening') END,
        changed_at_us = (SELECT now_us FROM sluice_clock),
        is_open = coalesce(NEW.state, 'open') = 'open',
        owner = NULL, owner_pid = NULL, owner_process = NULL, opens_at_us = NULL, closed_for_us = NULL
    WHERE name = NEW.gate;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'gate' FROM sluice_runner_rows;
END;

-- UPDATE sluice_gates SET state = 'closed' WHERE ... works like an INSERT with that state.
CREATE TRIGGER sluice_gates_update INSTEAD OF UPDATE ON sluice_gates
BEGIN
    SELECT CASE
        WHEN NEW.gate IS NOT OLD.gate OR NEW.since IS NOT OLD.since OR NEW.is_kept IS NOT OLD.is_kept
             OR NEW.opens_at IS NOT OLD.opens_at
            THEN RAISE(ABORT, 'sluice_gates: set the state only')
        WHEN NEW.state IS NULL OR NEW.state NOT IN ('open', 'closed')
            THEN RAISE(ABORT, 'sluice_gates.state must be open or closed')
    END;
    INSERT INTO sluice_gates (gate, state) VALUES (NEW.gate, NEW.state);
END;

-- DELETE FROM sluice_gates WHERE ... closes gates.
CREATE TRIGGER sluice_gates_delete INSTEAD OF DELETE ON sluice_gates
BEGIN
    DELETE FROM sluice_gate_rows WHERE name = OLD.gate;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'gate' FROM sluice_runner_rows;
END;
