-- Holding queues and opening gates with the plain sqlite3 shell. The engine writes to the tables itself. A running
-- broker is told, as with actions.

-- INSERT INTO sluice_holds (scope, holder, reason) VALUES ('conversation/*', 'ops', 'server moves') holds; until
-- may be given. holder and reason may be left out.
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

-- DELETE FROM sluice_holds WHERE ... resumes what no other hold stands for.
CREATE TRIGGER sluice_holds_delete INSTEAD OF DELETE ON sluice_holds
BEGIN
    DELETE FROM sluice_hold_rows WHERE id = OLD.id;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'hold' FROM sluice_runner_rows;
END;

-- A hold is not edited: whoever waits for it to end is told of its end.
CREATE TRIGGER sluice_holds_update INSTEAD OF UPDATE ON sluice_holds
BEGIN
    SELECT RAISE(ABORT, 'sluice_holds: a hold is not edited; insert another one and delete this');
END;

-- INSERT INTO sluice_gates (gate) VALUES ('network') opens; with the state 'closed' it closes. It may be there
-- already.
CREATE TRIGGER sluice_gates_insert INSTEAD OF INSERT ON sluice_gates
BEGIN
    SELECT CASE
        WHEN NEW.since IS NOT NULL OR NEW.is_kept IS NOT NULL
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
        owner = NULL, owner_pid = NULL, owner_process = NULL
    WHERE name = NEW.gate;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'gate' FROM sluice_runner_rows;
END;

-- UPDATE sluice_gates SET state = 'closed' WHERE ... is the same as inserting it.
CREATE TRIGGER sluice_gates_update INSTEAD OF UPDATE ON sluice_gates
BEGIN
    SELECT CASE
        WHEN NEW.gate IS NOT OLD.gate OR NEW.since IS NOT OLD.since OR NEW.is_kept IS NOT OLD.is_kept
            THEN RAISE(ABORT, 'sluice_gates: set the state only')
        WHEN NEW.state IS NULL OR NEW.state NOT IN ('open', 'closed')
            THEN RAISE(ABORT, 'sluice_gates.state must be open or closed')
    END;
    INSERT INTO sluice_gates (gate, state) VALUES (NEW.gate, NEW.state);
END;

-- DELETE FROM sluice_gates WHERE ... closes.
CREATE TRIGGER sluice_gates_delete INSTEAD OF DELETE ON sluice_gates
BEGIN
    DELETE FROM sluice_gate_rows WHERE name = OLD.gate;
    INSERT INTO sluice_changes (epoch, change) SELECT epoch, 'gate' FROM sluice_runner_rows;
END;
