-- Triggers for writes with the plain sqlite3 shell. The engine writes to the tables directly. Each trigger records the
-- change for each running broker.
--
-- Steps that several triggers have, and steps that most calls leave out, are views without rows: an INSERT calls the
-- step, and its trigger is the body. SQLite copies the rows of an INSERT ... SELECT into such a view to a temporary
-- table first, which is slow, so each call has VALUES, and the trigger's WHEN says whether there is anything to do.

-- The microseconds of a time given in SQL: an integer, or text in ISO 8601 in UTC. Otherwise NULL. A function as
-- sluice_time_text is: (SELECT us FROM sluice_given_time WHERE json = json_quote(...)). JSON has no blobs and not all
-- reals.
CREATE VIEW sluice_given_time AS
SELECT json,
       CASE WHEN type = 'integer' THEN value
            WHEN type = 'text'
                 AND datetime(substr(value, 1, 19), '+0 days') IS replace(substr(value, 1, 19), 'T', ' ')
                 AND (substr(value, 20) IN ('', 'Z')
                      -- Up to six digits.
                      OR (substr(value, 20, 2) GLOB '.[0-9]' AND length(value) <= 26 + (value GLOB '*Z')
                          AND ltrim(substr(value, 21), '0123456789') IN ('', 'Z')))
                THEN CAST(strftime('%s', substr(value, 1, 19)) AS INTEGER) * 1000000
                     + CAST(substr(rtrim(substr(value, 21), 'Z') || '000000', 1, 6) AS INTEGER)
       END AS us
FROM json_each;

-- Refuses a value that is neither NULL nor a time.
CREATE VIEW sluice_check_time (name, value) AS SELECT NULL, NULL WHERE 0;

CREATE TRIGGER sluice_check_time_insert INSTEAD OF INSERT ON sluice_check_time
WHEN NOT CASE typeof(NEW.value)
             WHEN 'null' THEN 1
             WHEN 'integer' THEN 1
             WHEN 'text' THEN (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.value)) IS NOT NULL
             ELSE 0
         END
BEGIN
    SELECT CASE NEW.name
        WHEN 'not_before'
            THEN RAISE(ABORT, 'sluice_actions.not_before must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN 'expires_at'
            THEN RAISE(ABORT, 'sluice_actions.expires_at must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN 'next_attempt_at'
            THEN RAISE(ABORT, 'sluice_actions.next_attempt_at must be ISO 8601 in UTC, or microseconds since 1970')
        WHEN 'until'
            THEN RAISE(ABORT, 'sluice_holds.until must be ISO 8601 in UTC, or microseconds since 1970')
    END;
END;

-- Refuses values that no action can have, the first of them with its reason.
CREATE VIEW sluice_check_action (queue, kind, payload, sort_key, not_before, expires_at, tag, gate, version,
                                 next_attempt_at) AS
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE 0;

CREATE TRIGGER sluice_check_action_insert INSTEAD OF INSERT ON sluice_check_action
BEGIN
    SELECT CASE
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
    END;
    INSERT INTO sluice_check_time (name, value) VALUES ('not_before', NEW.not_before);
    INSERT INTO sluice_check_time (name, value) VALUES ('expires_at', NEW.expires_at);
    SELECT CASE
        WHEN NEW.tag IS NOT NULL AND (typeof(NEW.tag) <> 'text' OR instr(NEW.tag, char(0)) > 0
                                      OR length(CAST(NEW.tag AS BLOB)) NOT BETWEEN 1 AND 255)
            THEN RAISE(ABORT, 'sluice_actions.tag must be text of 1 to 255 bytes without NUL')
        WHEN NEW.gate IS NOT NULL AND (typeof(NEW.gate) <> 'text' OR instr(NEW.gate, char(0)) > 0
                                       OR length(CAST(NEW.gate AS BLOB)) NOT BETWEEN 1 AND 255)
            THEN RAISE(ABORT, 'sluice_actions.gate must be text of 1 to 255 bytes without NUL')
        WHEN NEW.version IS NOT NULL AND (typeof(NEW.version) <> 'integer' OR NEW.version < 1)
            THEN RAISE(ABORT, 'sluice_actions.version must be an integer of 1 or more')
    END;
    INSERT INTO sluice_check_time (name, value) VALUES ('next_attempt_at', NEW.next_attempt_at);
END;

-- Refuses a payload whose arrays and objects are nested deeper than an enqueue allows. Only payloads with enough
-- brackets are parsed for it.
CREATE VIEW sluice_check_depth (payload) AS SELECT NULL WHERE 0;

CREATE TRIGGER sluice_check_depth_insert INSTEAD OF INSERT ON sluice_check_depth
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

-- Adds the queue of an action if it is new, with the type of the action's sort key.
CREATE VIEW sluice_add_queue (name, sort_key) AS SELECT NULL, NULL WHERE 0;

CREATE TRIGGER sluice_add_queue_insert INSTEAD OF INSERT ON sluice_add_queue
WHEN NOT EXISTS (SELECT 1 FROM sluice_queue_rows WHERE name = NEW.name)
BEGIN
    INSERT INTO sluice_queue_rows (name, sort_type)
    VALUES (NEW.name, iif(NEW.sort_key IS NULL, 'arrival', typeof(NEW.sort_key)));
END;

-- Queues that have no actions and to which none moves: their sort keys may get another type.
CREATE VIEW sluice_empty_queues AS
SELECT q.queue_id, q.name
FROM sluice_queue_rows AS q
WHERE NOT EXISTS (SELECT 1 FROM sluice_action_facts AS a WHERE a.queue_id = q.queue_id)
  AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s WHERE s.moves_to_queue_id = q.queue_id);

-- Gives an empty queue the type of this sort key. Other queues refuse a key of another type.
CREATE VIEW sluice_fit_sort_key (queue, sort_key) AS SELECT NULL, NULL WHERE 0;

CREATE TRIGGER sluice_fit_sort_key_insert INSTEAD OF INSERT ON sluice_fit_sort_key
WHEN NOT (SELECT CASE sort_type
                     WHEN 'arrival' THEN NEW.sort_key IS NULL
                     -- No AND: SQLite may evaluate both of its sides, and infinity is no JSON.
                     WHEN 'date' THEN iif(typeof(NEW.sort_key) = 'real', 0,
                         (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.sort_key)) IS NOT NULL)
                     WHEN 'real' THEN typeof(NEW.sort_key) IN ('real', 'integer')
                     -- A composite key is a text; whether it has the parts, its reader finds out.
                     ELSE typeof(NEW.sort_key) = iif(sort_type = 'integer', 'integer', 'text')
                 END
          FROM sluice_queue_rows WHERE name = NEW.queue)
BEGIN
    SELECT CASE sort_type
        WHEN 'arrival' THEN RAISE(ABORT,
            'sluice_actions.sort_key must be left out: the other actions in the queue have none')
        WHEN 'date' THEN RAISE(ABORT,
            'sluice_actions.sort_key must be a date, like those of the other actions in the queue: ISO 8601 in UTC, or microseconds since 1970')
        WHEN 'integer' THEN RAISE(ABORT,
            'sluice_actions.sort_key must be an integer, like those of the other actions in the queue')
        WHEN 'real' THEN RAISE(ABORT,
            'sluice_actions.sort_key must be a number, like those of the other actions in the queue')
        ELSE RAISE(ABORT, 'sluice_actions.sort_key must be text, like those of the other actions in the queue')
    END
    FROM sluice_queue_rows
    WHERE name = NEW.queue AND NOT EXISTS (SELECT 1 FROM sluice_empty_queues WHERE name = NEW.queue);

    UPDATE sluice_queue_rows SET sort_type = iif(NEW.sort_key IS NULL, 'arrival', typeof(NEW.sort_key))
    WHERE name = NEW.queue;
END;

-- Writes the places of the oldest of many new actions. Usually the engine does; this is for a file that no engine opens
-- for a long time.
CREATE VIEW sluice_write_places (newest_id) AS SELECT NULL WHERE 0;

CREATE TRIGGER sluice_write_places_insert INSTEAD OF INSERT ON sluice_write_places
WHEN NEW.newest_id - (SELECT value FROM sluice_counters WHERE name = 'ordered') >= 131072
BEGIN
    INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id)
    SELECT a.queue_id, a.sort_key, a.id
    FROM sluice_counters AS o JOIN sluice_action_rows AS a ON a.id > o.value AND a.id <= o.value + 16384
    WHERE o.name = 'ordered' AND a.not_before_us IS NULL
    ORDER BY a.queue_id, a.sort_key, a.id;
    UPDATE sluice_counters SET value = value + 16384 WHERE name = 'ordered';
END;

-- Adds the row of the facts that attempts change, if the action has none.
CREATE VIEW sluice_add_state (action_id) AS SELECT NULL WHERE 0;

CREATE TRIGGER sluice_add_state_insert INSTEAD OF INSERT ON sluice_add_state
WHEN NOT EXISTS (SELECT 1 FROM sluice_state_rows WHERE action_id = NEW.action_id)
BEGIN
    INSERT INTO sluice_state_rows (action_id) VALUES (NEW.action_id);
END;

-- Sets the time of the next attempt, if it changes.
CREATE VIEW sluice_set_next_attempt (action_id, previous, next_attempt_at) AS SELECT NULL, NULL, NULL WHERE 0;

CREATE TRIGGER sluice_set_next_attempt_insert INSTEAD OF INSERT ON sluice_set_next_attempt
WHEN NEW.next_attempt_at IS NOT NEW.previous
BEGIN
    INSERT INTO sluice_add_state (action_id) VALUES (NEW.action_id);
    UPDATE sluice_state_rows
    SET (next_attempt_at_us, retry_delay_us) = (SELECT t.us, max(0, t.us - clock.now_us)
                                                FROM sluice_given_time AS t JOIN sluice_clock AS clock
                                                WHERE t.json = json_quote(NEW.next_attempt_at))
    WHERE action_id = NEW.action_id;
END;

-- Records for a running action that its kind or payload was edited, and where it moves when the attempt ends.
CREATE VIEW sluice_edit_running (action_id, is_running, is_edited, source, target) AS
SELECT NULL, NULL, NULL, NULL, NULL WHERE 0;

CREATE TRIGGER sluice_edit_running_insert INSTEAD OF INSERT ON sluice_edit_running
WHEN NEW.is_running AND (NEW.is_edited OR NEW.target IS NOT NEW.source)
BEGIN
    INSERT INTO sluice_add_state (action_id) VALUES (NEW.action_id);
    UPDATE sluice_state_rows
    SET edited_claim = (SELECT c.claim FROM sluice_claim_rows AS c JOIN sluice_action_rows AS a ON a.id = NEW.action_id
                        WHERE c.queue_id = a.queue_id AND c.action_id = a.id)
    WHERE action_id = NEW.action_id AND NEW.is_edited;
    UPDATE sluice_state_rows
    SET moves_to_queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.target)
    WHERE action_id = NEW.action_id AND NEW.target IS NOT NEW.source;
END;

-- Spares an action that moves to a failing queue: it gets a new number, since it did not wait after the failed one.
CREATE VIEW sluice_spare_arrival (action_id, queue) AS SELECT NULL, NULL WHERE 0;

CREATE TRIGGER sluice_spare_arrival_insert INSTEAD OF INSERT ON sluice_spare_arrival
WHEN (SELECT blocked_by FROM sluice_queue_rows WHERE name = NEW.queue) = 'failing'
BEGIN
    UPDATE sluice_counters SET value = value + 1 WHERE name = 'action';
    INSERT INTO sluice_add_state (action_id) VALUES (NEW.action_id);
    UPDATE sluice_state_rows SET arrived_as_id = (SELECT value FROM sluice_counters WHERE name = 'action')
    WHERE action_id = NEW.action_id;
END;

-- Moves an action that does not run to another queue.
CREATE VIEW sluice_move_waiting (action_id, is_running, source, target) AS SELECT NULL, NULL, NULL, NULL WHERE 0;

CREATE TRIGGER sluice_move_waiting_insert INSTEAD OF INSERT ON sluice_move_waiting
WHEN NOT NEW.is_running AND NEW.target IS NOT NEW.source
BEGIN
    INSERT INTO sluice_spare_arrival (action_id, queue) VALUES (NEW.action_id, NEW.target);
    UPDATE sluice_action_rows SET queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.target)
    WHERE id = NEW.action_id;
    UPDATE sluice_group_rows SET queue_id = (SELECT queue_id FROM sluice_queue_rows WHERE name = NEW.target)
    WHERE action_id = NEW.action_id;
END;

-- INSERT INTO sluice_actions (queue, kind, payload) VALUES (...) enqueues. Optional columns: sort_key, not_before,
-- expires_at, tag, gate and version.
CREATE TRIGGER sluice_actions_insert INSTEAD OF INSERT ON sluice_actions
BEGIN
    SELECT CASE
        WHEN NEW.id IS NOT NULL
            THEN RAISE(ABORT, 'sluice_actions.id is given by the database: leave it out')
        WHEN coalesce(NEW.attempts, NEW.next_attempt_at, NEW.running_since, NEW.enqueued_at, NEW.last_error)
             IS NOT NULL
            THEN RAISE(ABORT,
                'sluice_actions: leave out attempts, next_attempt_at, running_since, enqueued_at and last_error')
    END;
    INSERT INTO sluice_check_action (queue, kind, payload, sort_key, not_before, expires_at, tag, gate, version)
    VALUES (NEW.queue, NEW.kind, NEW.payload, NEW.sort_key, NEW.not_before, NEW.expires_at, NEW.tag, NEW.gate,
            NEW.version);

    INSERT INTO sluice_add_queue (name, sort_key) VALUES (NEW.queue, NEW.sort_key);
    INSERT INTO sluice_fit_sort_key (queue, sort_key) VALUES (NEW.queue, NEW.sort_key);

    UPDATE sluice_counters SET value = value + 1 WHERE name = 'action';
    INSERT INTO sluice_action_rows (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload,
                                    version, tag, expires_at_us, gate)
    SELECT n.value, q.queue_id,
           CASE q.sort_type
               WHEN 'arrival' THEN 0
               WHEN 'date' THEN (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.sort_key))
               WHEN 'real' THEN CAST(NEW.sort_key AS REAL)
               ELSE NEW.sort_key
           END,
           (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.not_before)),
           clock.now_us, random(), NEW.kind, NEW.payload, coalesce(NEW.version, 1), NEW.tag,
           (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.expires_at)), NEW.gate
    FROM sluice_counters AS n JOIN sluice_queue_rows AS q JOIN sluice_clock AS clock
    WHERE n.name = 'action' AND q.name = NEW.queue;

    INSERT INTO sluice_write_places (newest_id) VALUES ((SELECT value FROM sluice_counters WHERE name = 'action'));

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
    WHERE (queue_id, sort_key, action_id) = (SELECT queue_id, sort_key, id FROM sluice_action_rows WHERE id = OLD.id);
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
    SELECT RAISE(ABORT, 'sluice_actions: id, attempts, enqueued_at, running_since and last_error cannot be set')
    WHERE NEW.id IS NOT OLD.id OR NEW.attempts IS NOT OLD.attempts OR NEW.enqueued_at IS NOT OLD.enqueued_at
          OR NEW.running_since IS NOT OLD.running_since OR NEW.last_error IS NOT OLD.last_error;
    INSERT INTO sluice_check_action (queue, kind, payload, sort_key, not_before, expires_at, tag, gate, version,
                                     next_attempt_at)
    VALUES (NEW.queue, NEW.kind, NEW.payload, NEW.sort_key, NEW.not_before, NEW.expires_at, NEW.tag, NEW.gate,
            NEW.version, NEW.next_attempt_at);
    SELECT RAISE(ABORT, 'sluice_actions.not_before cannot be set while the action runs')
    WHERE NEW.not_before IS NOT OLD.not_before AND OLD.running_since IS NOT NULL;

    INSERT INTO sluice_add_queue (name, sort_key) VALUES (NEW.queue, NEW.sort_key);
    -- An unchanged key keeps its type when its action moves to an empty queue: the view shows a date as text.
    UPDATE sluice_queue_rows
    SET sort_type = (SELECT o.sort_type FROM sluice_queue_rows AS o WHERE o.name = OLD.queue)
    WHERE name = NEW.queue AND NEW.queue IS NOT OLD.queue AND NEW.sort_key IS OLD.sort_key
      AND EXISTS (SELECT 1 FROM sluice_empty_queues AS e WHERE e.name = NEW.queue);
    INSERT INTO sluice_fit_sort_key (queue, sort_key) VALUES (NEW.queue, NEW.sort_key);

    -- Deletes the place; the last statement writes the new one.
    DELETE FROM sluice_order_rows
    WHERE (queue_id, sort_key, action_id) = (SELECT queue_id, sort_key, id FROM sluice_action_rows WHERE id = OLD.id);

    UPDATE sluice_action_rows
    SET kind = NEW.kind, payload = NEW.payload, version = coalesce(NEW.version, version), tag = NEW.tag,
        gate = iif(NEW.gate IS OLD.gate, gate, NEW.gate),
        expires_at_us = iif(NEW.expires_at IS OLD.expires_at, expires_at_us,
                            (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.expires_at))),
        sort_key = (SELECT CASE q.sort_type
                        WHEN 'arrival' THEN 0
                        WHEN 'date' THEN (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.sort_key))
                        WHEN 'real' THEN CAST(NEW.sort_key AS REAL)
                        ELSE NEW.sort_key
                    END
                    FROM sluice_queue_rows AS q WHERE q.name = NEW.queue),
        not_before_us = (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.not_before))
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

    INSERT INTO sluice_set_next_attempt (action_id, previous, next_attempt_at)
    VALUES (OLD.id, OLD.next_attempt_at, NEW.next_attempt_at);
    INSERT INTO sluice_edit_running (action_id, is_running, is_edited, source, target)
    VALUES (OLD.id, OLD.running_since IS NOT NULL, NEW.kind IS NOT OLD.kind OR NEW.payload IS NOT OLD.payload,
            OLD.queue, NEW.queue);
    INSERT INTO sluice_move_waiting (action_id, is_running, source, target)
    VALUES (OLD.id, OLD.running_since IS NOT NULL, OLD.queue, NEW.queue);

    -- An edit clears a block that it may resolve. A move also clears the parking that the action caused.
    UPDATE sluice_queue_rows
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL
    WHERE name = OLD.queue AND blocked_action_id = OLD.id
      AND (blocked_by IN ('undecodable', 'unknown kind', 'no route')
           OR (blocked_by <> 'failing' AND NEW.queue IS NOT OLD.queue));

    INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
    SELECT r.epoch, q.queue_id, OLD.id, 'update' FROM sluice_runner_rows AS r CROSS JOIN sluice_queue_rows AS q
    WHERE q.name IN (OLD.queue, NEW.queue);

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

CREATE TRIGGER sluice_actions_insert_depth INSTEAD OF INSERT ON sluice_actions
BEGIN
    INSERT INTO sluice_check_depth (payload) VALUES (NEW.payload);
END;

CREATE TRIGGER sluice_actions_update_depth INSTEAD OF UPDATE OF payload ON sluice_actions
BEGIN
    INSERT INTO sluice_check_depth (payload) VALUES (NEW.payload);
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
    END;
    INSERT INTO sluice_check_time (name, value) VALUES ('until', NEW.until);

    INSERT INTO sluice_hold_rows (scope, holder, reason, since_us, until_us)
    SELECT NEW.scope, coalesce(NEW.holder, 'sqlite3'), coalesce(NEW.reason, ''), now_us,
           (SELECT us FROM sluice_given_time WHERE json = json_quote(NEW.until))
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
        WHEN NEW.since IS NOT NULL OR NEW.is_persistent IS NOT NULL OR NEW.opens_at IS NOT NULL
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
        WHEN NEW.gate IS NOT OLD.gate OR NEW.since IS NOT OLD.since OR NEW.is_persistent IS NOT OLD.is_persistent
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
