-- The tables. Those whose names end in _rows are internal: use the views and triggers of 0002 and 0003 instead. The
-- engine writes all times, as whole microseconds since 1970 (UTC): SQLite before 3.42 returns NULL for datetime('now',
-- 'subsec').

-- Counters that only increase.
CREATE TABLE sluice_counters (
    -- 'action': the last id given to an action.
    -- 'epoch': the last number given to a broker that started to run the queues.
    -- 'ordered': all actions up to this id are in sluice_order_rows, if they have a place in the order.
    -- 'opening': how often a gate was opened.
    -- 'barrier': how many commits were made only to sync earlier ones.
    name  TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL CHECK (value >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO sluice_counters (name, value) VALUES ('action', 0), ('epoch', 0), ('ordered', 0), ('opening', 0);

-- One row for each queue that an action has named. The row of an empty queue stays.
CREATE TABLE sluice_queue_rows (
    queue_id          INTEGER PRIMARY KEY,
    -- Compared by its UTF-8 bytes.
    name              TEXT NOT NULL UNIQUE
                      CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 512 AND instr(name, char(0)) = 0),
    -- The type of all sort keys in the queue. Set by the first action of an empty queue. 'composite:' and the types of
    -- 2 to 4 parts: the keys are texts, their parts separated by tabs, in a form whose bytes have the parts' order.
    -- The CHECKs of all tables have no IN of more than two values: SQLite would build a table of them for each insert.
    sort_type         TEXT NOT NULL CHECK (sort_type = 'arrival' OR sort_type = 'integer' OR sort_type = 'date'
                                           OR sort_type = 'real' OR sort_type = 'text'
                                           OR sort_type GLOB 'composite:[idrt]*,[idrt]*'),
    -- Why the queue is blocked, in addition to the head's own state:
    --   failed, exhausted, expired, crashed: a failure policy parked the queue, and new actions do not unpark it.
    --       Cleared by an operator's retry, or when the action that parked it is removed.
    --   failing: all actions after the failed one, up to fail_through_id, become dead letters, in batches. The last
    --       batch clears it. Actions enqueued, moved or requeued into the queue since then are spared.
    --   undecodable: parked in the same way. Also cleared by an edit of that action, a new route and a start of the
    --       broker.
    --   unknown kind, no route: the broker could not run the head. Applies only to blocked_action_id. Cleared when that
    --       action is claimed, edited or removed, or must wait for a hold, a gate or its time.
    --   gate: the head's route needs a gate that is closed. Applies only to blocked_action_id, and only while the gate
    --       is closed. Cleared when that action is claimed or removed.
    blocked_by        TEXT CHECK (blocked_by = 'failed' OR blocked_by = 'exhausted' OR blocked_by = 'expired'
                                  OR blocked_by = 'crashed' OR blocked_by = 'failing' OR blocked_by = 'undecodable'
                                  OR blocked_by = 'unknown kind' OR blocked_by = 'no route' OR blocked_by = 'gate'),
    blocked_action_id INTEGER,
    blocked_at_us     INTEGER,
    -- The error that parked the queue; for 'gate', the gate's name.
    blocked_error     TEXT,
    -- 1: blocked_action_id is the head, in a queue whose discipline is not first in, first out. Set with blocked_by,
    -- and valid only with it.
    blocked_is_head   INTEGER NOT NULL DEFAULT 0 CHECK (blocked_is_head IN (0, 1)),
    fail_through_id   INTEGER,
    -- The sort key of the failed action, kept even if its dead letter is deleted. Set and cleared like fail_through_id.
    fail_key          ANY,
    -- 1: the queue is last in, first out, so actions that sort before the failed one run after it. Set with fail_key,
    -- and valid only with it.
    fail_is_reversed  INTEGER NOT NULL DEFAULT 0 CHECK (fail_is_reversed IN (0, 1)),
    -- 1: the queue is last in, first out. Disciplines are code: the claim that finds another value updates this one,
    -- for readers without that code.
    is_reversed       INTEGER NOT NULL DEFAULT 0 CHECK (is_reversed IN (0, 1)),
    CHECK ((blocked_by IS NULL) = (blocked_action_id IS NULL)),
    CHECK ((blocked_by IS NULL) = (blocked_at_us IS NULL)),
    CHECK ((blocked_by IS 'failing') = (fail_through_id IS NOT NULL)),
    CHECK ((fail_through_id IS NULL) = (fail_key IS NULL))
) STRICT;

-- Finds queues that a start of the broker, a new route or an operator may unblock.
CREATE INDEX sluice_queue_blocked ON sluice_queue_rows (blocked_by) WHERE blocked_by IS NOT NULL;

-- Actions that wait or run. A row is written once, by the enqueue, and deleted once. Values that change with attempts
-- are in sluice_state_rows, so a large payload is never written again.
CREATE TABLE sluice_action_rows (
    -- The sequence: from the counter 'action', given in the committing transaction, never used again.
    id             INTEGER PRIMARY KEY,
    queue_id       INTEGER NOT NULL,
    -- 0 for the order of arrival, microseconds for a date.
    sort_key       ANY NOT NULL CHECK (typeof(sort_key) <> 'blob'),
    -- When the action gets its place in the order. Set by the enqueue for a later time, and when the action is deferred
    -- (QueueDiscipline). Cleared when it is due. While deferred for a retry, it is the time of the next attempt. While
    -- deferred for a gate, it is the second largest integer, and the action has a row in sluice_deferred_rows.
    not_before_us  INTEGER,
    enqueued_at_us INTEGER NOT NULL,
    -- A random number of the opening of the file that enqueued the action; part of its idempotency key.
    nonce          INTEGER NOT NULL,
    -- No NUL: length() stops at one. For most kinds length() equals the number of bytes, so instr() rarely runs.
    kind           TEXT NOT NULL
                   CHECK (length(CAST(kind AS BLOB)) BETWEEN 1 AND 255
                          AND (length(kind) = length(CAST(kind AS BLOB)) OR instr(kind, char(0)) = 0)),
    -- JSON text, checked by its writer: the engine encodes it, the trigger calls json_valid().
    payload        TEXT NOT NULL,
    -- The version of the kind in which the payload was written.
    version        INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
    -- A name by which the application finds the action; several actions may share it. Like all columns below, NULL for
    -- most actions.
    tag            TEXT CHECK (tag IS NULL
                               OR (length(CAST(tag AS BLOB)) BETWEEN 1 AND 255 AND instr(tag, char(0)) = 0)),
    -- The action does not start after this time. Set by the enqueue or an edit.
    expires_at_us  INTEGER,
    -- A gate that must be open when the action starts. Set by the enqueue or an edit.
    gate           TEXT,
    -- The trace of the enqueue: a JSON object of the fields that a propagator has written.
    trace          TEXT
) STRICT;

CREATE INDEX sluice_action_tag ON sluice_action_rows (tag) WHERE tag IS NOT NULL;

-- Finds the actions that expire next.
CREATE INDEX sluice_action_expiry ON sluice_action_rows (expires_at_us) WHERE expires_at_us IS NOT NULL;

-- Deduplication keys. A row is written with its action and kept for a time after the action has ended.
CREATE TABLE sluice_key_rows (
    queue_id  INTEGER NOT NULL,
    key       TEXT NOT NULL CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 255),
    -- The last action enqueued under the key.
    action_id INTEGER NOT NULL,
    -- How long the key is kept after its action has ended.
    keep_us   INTEGER NOT NULL CHECK (keep_us >= 0),
    -- When the row may be deleted. Set when the action ends, cleared by a requeue; NULL while the action waits or runs.
    until_us  INTEGER,
    -- Whether the action has ended and succeeded. Set with until_us, cleared by the key's next action.
    has_succeeded INTEGER NOT NULL DEFAULT 0 CHECK (has_succeeded IN (0, 1)),
    PRIMARY KEY (queue_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX sluice_key_action ON sluice_key_rows (action_id);
CREATE INDEX sluice_key_end ON sluice_key_rows (until_us) WHERE until_us IS NOT NULL;

-- Find the next scheduled actions, of all queues and of one queue.
CREATE INDEX sluice_action_schedule ON sluice_action_rows (not_before_us) WHERE not_before_us IS NOT NULL;
CREATE INDEX sluice_action_scheduled ON sluice_action_rows (queue_id, not_before_us) WHERE not_before_us IS NOT NULL;

-- The order inside each queue. An index over all queues costs a page for each new action, so the engine only appends
-- actions, and later writes many places here at once, sorted. Up to the counter 'ordered', each action that waits or
-- runs and is not scheduled for later has its row. Newer actions have none: readers sort them. A row is invalid if its
-- action was removed or has another place. The engine deletes invalid rows later, many at a time.
CREATE TABLE sluice_order_rows (
    queue_id  INTEGER NOT NULL,
    sort_key  ANY NOT NULL,
    action_id INTEGER NOT NULL,
    PRIMARY KEY (queue_id, sort_key, action_id)
) STRICT, WITHOUT ROWID;

-- Facts about an action from its attempts. Most actions never have a row here.
CREATE TABLE sluice_state_rows (
    action_id          INTEGER PRIMARY KEY,
    -- Ended attempts that count: retries, failures, and deaths of the process while this action ran alone.
    attempts           INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Set by a retry or a release; cleared by an operator's retry. A time in the past counts as due.
    next_attempt_at_us INTEGER,
    -- 1: a wait after a release, not for a retry. Set with each wait. A start of the broker ends the wait and clears
    -- it.
    is_released        INTEGER NOT NULL DEFAULT 0 CHECK (is_released IN (0, 1)),
    -- The requested delay. After a jump of the wall clock the wait is never longer than this.
    retry_delay_us     INTEGER CHECK (retry_delay_us >= 0),
    last_error         TEXT,
    -- 1: the action ran when its process died; it is tried before others start. Cleared when an attempt finishes or
    -- survives a trial.
    is_suspect         INTEGER NOT NULL DEFAULT 0 CHECK (is_suspect IN (0, 1)),
    -- How often the process died while this action ran alone. Cleared when an attempt finishes or survives a trial.
    crashes            INTEGER NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    -- Suspects with the highest value are tried first. Increased if the process dies while this action runs as a
    -- suspect. Decreased if it survives a trial, cleared when an attempt finishes.
    suspicion          INTEGER NOT NULL DEFAULT 0,
    -- 1: cancelled while it ran. Any outcome except success removes the action.
    is_cancelled       INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelled IN (0, 1)),
    -- The queue to which the action moves when the running attempt ends. Set by a move, cleared when it is carried out.
    moves_to_queue_id  INTEGER,
    -- The gate that the action waits for, in addition to the time. Set by a retry or a release that names one; cleared
    -- by the next wait.
    waits_for_gate     TEXT,
    -- Set when the action enters a failing queue by a move or a requeue: a new number of the counter 'action', above
    -- fail_through_id, so the action is spared.
    arrived_as_id         INTEGER,
    -- The claim that ran when the payload was edited: its attempt has not seen the edit. Ignored for other claims.
    edited_claim       INTEGER,
    CHECK ((next_attempt_at_us IS NULL) = (retry_delay_us IS NULL))
) STRICT;

-- Finds suspects when a broker starts.
CREATE INDEX sluice_state_suspect ON sluice_state_rows (action_id) WHERE is_suspect = 1;

-- Finds the actions that a failing queue spares.
CREATE INDEX sluice_state_arrived ON sluice_state_rows (arrived_as_id) WHERE arrived_as_id IS NOT NULL;

-- Actions deferred until a gate opens. A row is deleted when its action gets its place back or is removed.
CREATE TABLE sluice_deferred_rows (
    action_id INTEGER PRIMARY KEY,
    -- The first of the gates that the action waits for.
    gate      TEXT NOT NULL
) STRICT;

CREATE INDEX sluice_deferred_gate ON sluice_deferred_rows (gate);

-- Groups that actions start or belong to. Rows are written and deleted with their action; a dead letter keeps its rows.
-- Most actions have none.
CREATE TABLE sluice_group_rows (
    action_id INTEGER NOT NULL,
    name      TEXT NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 255 AND instr(name, char(0)) = 0),
    -- 1: the action starts the group; 0: it is a member.
    is_start  INTEGER NOT NULL CHECK (is_start IN (0, 1)),
    -- The queue of the action and the group. Updated by a move.
    queue_id  INTEGER NOT NULL,
    PRIMARY KEY (action_id, name, is_start)
) STRICT, WITHOUT ROWID;

CREATE INDEX sluice_group_start ON sluice_group_rows (queue_id, name) WHERE is_start = 1;

-- One row for each used slot. Written before the handler starts, deleted by the settlement with the same action and
-- claim. It is also the lease of the queue: no other process claims from it. Rows left by a dead process are the
-- suspects.
--
-- Its page is some 32 before the end of the schema: each commit of a run writes it and the first leaf of the actions,
-- which follows all tables. SQLite finds pages in the WAL by a hash, in which these two must be far apart:
-- (page * 383) % 8192, <https://sqlite.org/walformat.html>. As neighbours they cost a drain a tenth more instructions.
CREATE TABLE sluice_claim_rows (
    queue_id      INTEGER NOT NULL,
    slot          INTEGER NOT NULL CHECK (slot >= 0),
    action_id     INTEGER NOT NULL,
    -- The epoch of the broker that has the slot, times 2^32, plus a number that it counts up; never used again. The
    -- claim is valid while that epoch has a row in sluice_runner_rows.
    claim         INTEGER NOT NULL,
    started_at_us INTEGER NOT NULL,
    -- How many suspects were tried together, with no other action in their process; 0: no trial. Cleared when the
    -- action survives the trial.
    trial_size    INTEGER NOT NULL CHECK (trial_size >= 0),
    -- The counter 'opening' at the claim. A gate with a higher number was opened during the attempt.
    opening       INTEGER NOT NULL DEFAULT 0,
    -- The slots of the queue. If there are several, other processes claim from the queue too.
    slots         INTEGER NOT NULL DEFAULT 1 CHECK (slots >= 1),
    PRIMARY KEY (queue_id, slot)
) STRICT, WITHOUT ROWID;

-- The progress of passes, for queues whose discipline passes over failed actions. Written when an action is passed
-- over, deleted when the pass ends.
CREATE TABLE sluice_pass_rows (
    queue_id  INTEGER PRIMARY KEY,
    -- The place of the last action that was passed over.
    sort_key  ANY NOT NULL,
    action_id INTEGER NOT NULL,
    -- 1: an action was tried in this pass, or the start of a group was removed. Otherwise another pass would pass over
    -- the same actions.
    is_worth_repeating INTEGER NOT NULL CHECK (is_worth_repeating IN (0, 1))
) STRICT;

-- Groups whose start has failed permanently in the current pass, which passes over their members. Deleted when the pass
-- ends.
CREATE TABLE sluice_closed_group_rows (
    queue_id INTEGER NOT NULL,
    name     TEXT NOT NULL,
    PRIMARY KEY (queue_id, name)
) STRICT, WITHOUT ROWID;

-- Batches of queues that run in batches. Written at the first claim of the batch, deleted when it has ended, unless it
-- leaves actions that it passed over. A broker that starts to run the queues deletes batches that have not started or
-- have no actions left.
CREATE TABLE sluice_batch_rows (
    queue_id INTEGER PRIMARY KEY,
    -- When the batch starts at the latest.
    due_us   INTEGER NOT NULL,
    -- 1: the batch has started. It continues after a restart until no action of it can start.
    is_open  INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    -- For a batch that left actions: when it ended, and the last action at that time. Actions up to that one do not
    -- count for this batch, but start with it. Set when that batch ends, cleared when this one starts.
    rest_us  INTEGER,
    rest_through_id INTEGER,
    CHECK ((rest_us IS NULL) = (rest_through_id IS NULL)),
    CHECK (is_open = 0 OR rest_us IS NULL)
) STRICT;

-- Attempts that did not succeed. Deleted with their action; a dead letter keeps them.
CREATE TABLE sluice_attempt_rows (
    action_id     INTEGER NOT NULL,
    claim         INTEGER NOT NULL,
    -- The attempt's number, counted from 1.
    number        INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome = 'retry' OR outcome = 'failed' OR outcome = 'exhausted'
                                       OR outcome = 'undecodable' OR outcome = 'crashed'),
    error         TEXT NOT NULL,
    started_at_us INTEGER NOT NULL,
    ended_at_us   INTEGER NOT NULL,
    PRIMARY KEY (action_id, claim)
) STRICT, WITHOUT ROWID;

-- Dead letters: actions removed from their queue by a failure policy or an operator, and kept.
CREATE TABLE sluice_dead_rows (
    -- The action's id. A requeue keeps it.
    id             INTEGER PRIMARY KEY,
    queue_id       INTEGER NOT NULL,
    sort_key       ANY NOT NULL,
    sort_type      TEXT NOT NULL,
    enqueued_at_us INTEGER NOT NULL,
    nonce          INTEGER NOT NULL,
    kind           TEXT NOT NULL,
    attempts       INTEGER NOT NULL,
    died_at_us     INTEGER NOT NULL,
    -- behind: it waited after an action whose failure policy made dead letters of the whole queue.
    -- skipped: an operator skipped it.
    cause          TEXT NOT NULL CHECK (cause = 'failed' OR cause = 'exhausted' OR cause = 'expired'
                                        OR cause = 'undecodable' OR cause = 'crashed' OR cause = 'behind'
                                        OR cause = 'skipped'),
    error          TEXT NOT NULL,
    payload        TEXT NOT NULL,
    version        INTEGER NOT NULL,
    tag            TEXT,
    gate           TEXT,
    trace          TEXT
) STRICT;

-- Finds the dead letters to purge next.
CREATE INDEX sluice_dead_age ON sluice_dead_rows (died_at_us);

-- Gates: conditions that are open or closed. A gate without a row is closed.
CREATE TABLE sluice_gate_rows (
    name          TEXT PRIMARY KEY NOT NULL
                  CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 255 AND instr(name, char(0)) = 0),
    is_open       INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    -- The value of the counter 'opening' when the gate was last opened; 0 if it never was.
    opening       INTEGER NOT NULL DEFAULT 0,
    changed_at_us INTEGER NOT NULL,
    -- The opening of the file (its nonce) that set the gate, and its process, as in sluice_runner_rows; NULL: the row
    -- stays. Rows of ended openings are deleted by a broker that starts to run the queues or finds another process
    -- dead.
    owner         INTEGER,
    owner_pid     INTEGER,
    owner_process TEXT,
    -- When the gate opens by itself; NULL: it does not. Set by a closing for a time; cleared when the gate opens, and
    -- when it is closed without an end.
    opens_at_us   INTEGER CHECK (opens_at_us IS NULL OR NOT is_open),
    -- How long the last closing was to last. Kept when the gate opens by itself: the starts are spread over a part of
    -- this time. Cleared when somebody opens or closes the gate.
    closed_for_us INTEGER CHECK (closed_for_us >= 0),
    CHECK ((owner IS NULL) = (owner_pid IS NULL) AND (owner IS NULL) = (owner_process IS NULL)),
    CHECK (opens_at_us IS NULL OR closed_for_us IS NOT NULL)
) STRICT, WITHOUT ROWID;

-- Holds: pauses of one queue, of all queues with a prefix, or of all queues. Several can apply at once.
CREATE TABLE sluice_hold_rows (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- A queue's name, a prefix that ends in /*, or *.
    scope      TEXT NOT NULL
               CHECK (length(CAST(scope AS BLOB)) BETWEEN 1 AND 512 AND instr(scope, char(0)) = 0
                      AND (instr(scope, '*') = 0 OR scope = '*'
                           OR (instr(scope, '*') = length(scope) AND scope LIKE '%/*'))),
    -- Who holds the queues, and why: text for people.
    holder     TEXT NOT NULL CHECK (length(holder) <= 255),
    reason     TEXT NOT NULL CHECK (length(reason) <= 1000),
    since_us   INTEGER NOT NULL,
    -- When the hold ends; NULL: it does not end before somebody deletes it.
    until_us   INTEGER
) STRICT;

-- What operators did, for people: the operator's page writes it. Old rows are deleted when new ones come.
CREATE TABLE sluice_audit_rows (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us      INTEGER NOT NULL,
    -- Who, and what: never a payload.
    operator   TEXT NOT NULL CHECK (length(operator) BETWEEN 1 AND 255),
    act        TEXT NOT NULL CHECK (length(act) BETWEEN 1 AND 1000),
    -- What came of it.
    result     TEXT NOT NULL CHECK (length(result) <= 1000)
) STRICT;

-- Rate limits of routes. A row is written with each start; a broker that starts to run the queues deletes the rows of
-- limits whose time has passed, which equal no row.
CREATE TABLE sluice_rate_rows (
    -- The limit's name, by default the pattern and the kinds of its route.
    name       TEXT PRIMARY KEY NOT NULL
               CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 512 AND instr(name, char(0)) = 0),
    -- When the limit has recovered from its last starts. Each start moves it by the limit's interval. While it is
    -- further ahead than the burst allows, nothing starts.
    next_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each process that runs the queues of this file. Added when it starts to run them, deleted when it stops,
-- or by another process that finds it dead or its lease expired.
CREATE TABLE sluice_runner_rows (
    -- From the counter 'epoch'. A live process that was taken for dead gets a new number.
    epoch          INTEGER PRIMARY KEY,
    pid            INTEGER NOT NULL,
    -- Distinguishes processes with the same pid: start of the machine, pid namespace, start of the process.
    process        TEXT NOT NULL,
    -- A random number of this opening of the file; identifies the gates that it owns.
    nonce          INTEGER NOT NULL,
    -- Renewed while the broker runs. After this time another process may make its claims suspects.
    lease_until_us INTEGER NOT NULL,
    -- The same, in microseconds since the start of the machine, written with it. Processes on one machine compare this
    -- value, which no jump of the wall clock changes. NULL if the system does not provide it.
    lease_until_boot_us INTEGER,
    -- The process's routes, as a JSON object of their patterns with their kinds, or null for any kind: a queue that
    -- another process has no route for may be one of this process. A route by predicate has the pattern *.
    routes         TEXT NOT NULL DEFAULT '{}'
) STRICT;

-- The process that checkpoints the WAL for all, if SQLite has the WAL-reset bug and several processes of the engine
-- commit (Store/WAL/CheckpointLease.swift). No row: no process has needed to coordinate with others yet.
CREATE TABLE sluice_checkpointer (
    only           INTEGER PRIMARY KEY CHECK (only = 1),
    -- The opening of the file that checkpoints.
    nonce          INTEGER NOT NULL,
    pid            INTEGER NOT NULL,
    -- As in sluice_runner_rows.
    process        TEXT NOT NULL,
    -- Renewed while other processes commit too. After this time any process may take over.
    lease_until_us INTEGER NOT NULL,
    -- As in sluice_runner_rows.
    lease_until_boot_us INTEGER
) STRICT;

-- Changes for the processes that run the queues: one row for each change and process, which reads and deletes it.
-- Written by the triggers of 0003 and by the engines of other processes.
CREATE TABLE sluice_changes (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The process to notify.
    epoch     INTEGER NOT NULL,
    -- NULL: the change is not about one queue.
    queue_id  INTEGER,
    -- NULL: the change is about the whole queue, or about several of its actions.
    action_id INTEGER,
    -- cancel: the action runs and is marked in sluice_state_rows; its handler must be cancelled.
    -- runner: another process has started or stopped running the queues.
    -- look: another process leaves the queues to the others, which check all of them for work.
    change    TEXT NOT NULL CHECK (change = 'wake' OR change = 'insert' OR change = 'update' OR change = 'delete'
                                   OR change = 'cancel' OR change = 'hold' OR change = 'gate' OR change = 'runner'
                                   OR change = 'look'),
    CHECK ((queue_id IS NULL) = (change = 'hold' OR change = 'gate' OR change = 'runner' OR change = 'look'))
) STRICT;

CREATE INDEX sluice_change_epoch ON sluice_changes (epoch);

-- Find dead letters by tag and by queue. At the end, so that the pages of the tables above stay where they are.
CREATE INDEX sluice_dead_tag ON sluice_dead_rows (tag) WHERE tag IS NOT NULL;
CREATE INDEX sluice_dead_queue ON sluice_dead_rows (queue_id);
