-- The tables. Those that end in _rows are the engine's own: read and write them through the views and
-- triggers of 0002 and 0003. Times are whole microseconds since 1970 (UTC), written by the engine, because
-- SQLite before 3.42 answers NULL to datetime('now', 'subsec').

-- Numbers that only go up.
CREATE TABLE sluice_counters (
    -- 'action': the last id given to an action. 'epoch': the last number given to a broker that began to run.
    -- 'ordered': the last id whose action has its place in sluice_order_rows, if it has one.
    -- 'opening': how often a gate has been opened.
    -- 'barrier': commits that were made to have earlier ones synced.
    name  TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL CHECK (value >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO sluice_counters (name, value) VALUES ('action', 0), ('epoch', 0), ('ordered', 0), ('opening', 0);

-- One row for each queue that an action has named. A row stays when its queue is drained.
CREATE TABLE sluice_queue_rows (
    queue_id          INTEGER PRIMARY KEY,
    -- Compared by its UTF-8 bytes.
    name              TEXT NOT NULL UNIQUE
                      CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 512 AND instr(name, char(0)) = 0),
    -- The one type that all sort keys in the queue have. Set by the first action of an empty queue.
    sort_type         TEXT NOT NULL CHECK (sort_type IN ('arrival', 'integer', 'date', 'real', 'text')),
    -- Why the queue does not move, beyond what its head says:
    --   failed, exhausted, expired, crashed: parked by a failure policy, whatever arrives. Cleared by an
    --       operator's retry, or when the action that parked it is removed.
    --   failing: all actions behind it, up to fail_through_id, are becoming dead letters, in batches. Cleared by the last.
    --       What comes meanwhile, be it new, moved or requeued, is spared.
    --   undecodable: parked likewise. Cleared also when that action is edited, by a new route and by the start
    --       of a broker.
    --   unknown kind, no route: the broker could not run the head. Holds for blocked_action_id alone. Cleared
    --       when that action is claimed, edited or removed, or is found to wait for a hold, a gate or its time.
    --   gate: the head's route asks for a gate that is closed. Holds for blocked_action_id alone, and while the
    --       gate is closed. Cleared when that action is claimed or removed.
    blocked_by        TEXT CHECK (blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'failing',
                                                 'undecodable', 'unknown kind', 'no route', 'gate')),
    blocked_action_id INTEGER,
    blocked_at_us     INTEGER,
    -- The error that parked it; where a gate blocks it, the gate's name.
    blocked_error     TEXT,
    -- 1: blocked_action_id is the head by the queue's discipline, which is not first in, first out. Written with
    -- blocked_by, and means nothing without.
    blocked_is_head   INTEGER NOT NULL DEFAULT 0 CHECK (blocked_is_head IN (0, 1)),
    fail_through_id   INTEGER,
    -- The sort key of the action that failed, whatever becomes of its dead letter.
    fail_key          ANY,
    -- 1: the queue runs its last first, so that what sorts before that action is behind it. Written with fail_key, and
    -- means nothing without.
    fail_is_reversed  INTEGER NOT NULL DEFAULT 0 CHECK (fail_is_reversed IN (0, 1)),
    -- 1: it runs its last first (QueueDiscipline), so that this is its next. The discipline stands in code: written by
    -- the claim that finds it otherwise, for those who do not have that code.
    is_reversed       INTEGER NOT NULL DEFAULT 0 CHECK (is_reversed IN (0, 1)),
    CHECK ((blocked_by IS NULL) = (blocked_action_id IS NULL)),
    CHECK ((blocked_by IS NULL) = (blocked_at_us IS NULL)),
    CHECK ((blocked_by IS 'failing') = (fail_through_id IS NOT NULL)),
    CHECK ((fail_through_id IS NULL) = (fail_key IS NULL))
) STRICT;

-- Finds what a start of the broker, a new route or an operator may unblock.
CREATE INDEX sluice_queue_blocked ON sluice_queue_rows (blocked_by) WHERE blocked_by IS NOT NULL;

-- What waits and what runs. A row is written once, when the action is enqueued, and deleted once; what
-- changes with its attempts stands in sluice_state_rows, so that a large payload is never written again.
CREATE TABLE sluice_action_rows (
    -- The sequence: from the counter 'action', given in the committing transaction, never used again.
    id             INTEGER PRIMARY KEY,
    queue_id       INTEGER NOT NULL,
    -- 0 where the order is that of arrival; microseconds where it is a date. An integer, a real or text; said so
    -- because SQLite would make a table of the three names for each insert.
    sort_key       ANY NOT NULL CHECK (typeof(sort_key) <> 'blob'),
    -- Set while the action is scheduled for later and has no place in the order; cleared when it is due. Where a wait
    -- blocks nothing (QueueDiscipline), an action that waits stands aside likewise: with the time of its next attempt
    -- here, or, while it waits for a gate, with the largest integer but one and a row in sluice_deferred_rows.
    not_before_us  INTEGER,
    enqueued_at_us INTEGER NOT NULL,
    -- A random number of the opening that enqueued the action; part of its idempotency key.
    nonce          INTEGER NOT NULL,
    -- No NUL: length() ends at one, so that it agrees with the bytes of most kinds, and instr() is asked about few.
    kind           TEXT NOT NULL
                   CHECK (length(CAST(kind AS BLOB)) BETWEEN 1 AND 255
                          AND (length(kind) = length(CAST(kind AS BLOB)) OR instr(kind, char(0)) = 0)),
    -- JSON text. Whoever writes it has checked it: the engine by encoding it, the trigger by json_valid().
    payload        TEXT NOT NULL,
    -- The version of the kind that the payload was written in.
    version        INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
    -- What follows is NULL for most actions.
    -- A name under which the application finds the action again, alone or among others.
    tag            TEXT CHECK (tag IS NULL
                               OR (length(CAST(tag AS BLOB)) BETWEEN 1 AND 255 AND instr(tag, char(0)) = 0)),
    -- After this it is not started any more. Set by whoever enqueues or edits it.
    expires_at_us  INTEGER,
    -- A gate that must be open for it to start.
    gate           TEXT,
    -- The trace that it was enqueued in: a JSON object of the fields that a propagator has written.
    trace          TEXT
) STRICT;

CREATE INDEX sluice_action_tag ON sluice_action_rows (tag) WHERE tag IS NOT NULL;

-- What expires next.
CREATE INDEX sluice_action_expiry ON sluice_action_rows (expires_at_us) WHERE expires_at_us IS NOT NULL;

-- Keys by which callers have their actions enqueued once. A row is written with its action and stays for a time
-- after the action has gone.
CREATE TABLE sluice_key_rows (
    queue_id  INTEGER NOT NULL,
    key       TEXT NOT NULL CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 255),
    -- The action that was enqueued under the key last.
    action_id INTEGER NOT NULL,
    -- How long the key is kept when the action has gone.
    keep_us   INTEGER NOT NULL CHECK (keep_us >= 0),
    -- When the row may go. Set when the action goes, cleared by a requeue; NULL while it waits or runs.
    until_us  INTEGER,
    PRIMARY KEY (queue_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX sluice_key_action ON sluice_key_rows (action_id);
CREATE INDEX sluice_key_end ON sluice_key_rows (until_us) WHERE until_us IS NOT NULL;

-- What is due next, in any queue, and what is scheduled in a queue.
CREATE INDEX sluice_action_schedule ON sluice_action_rows (not_before_us) WHERE not_before_us IS NOT NULL;
CREATE INDEX sluice_action_scheduled ON sluice_action_rows (queue_id, not_before_us) WHERE not_before_us IS NOT NULL;

-- The order inside each queue, written behind: an index over all queues costs a page for each action that is
-- added, so actions are only appended, and take their places here later, many at a time and sorted. Those up to
-- the counter 'ordered' have: each that waits or runs and is not scheduled for later has its row. Those after it
-- have none, and are ordered by who reads them. A row whose action is gone, or has another place by now, means
-- nothing: it is removed later too, many at a time.
CREATE TABLE sluice_order_rows (
    queue_id  INTEGER NOT NULL,
    sort_key  ANY NOT NULL,
    action_id INTEGER NOT NULL,
    PRIMARY KEY (queue_id, sort_key, action_id)
) STRICT, WITHOUT ROWID;

-- What is known of an action beyond its first attempt. Most actions never have a row here.
CREATE TABLE sluice_state_rows (
    action_id          INTEGER PRIMARY KEY,
    -- Attempts that ended and count. Raised by a retry, a failure and a death while running alone.
    attempts           INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Set by a retry or a release; cleared by an operator's retry. Past values count as due.
    next_attempt_at_us INTEGER,
    -- 1: the wait is that of a release, not of a retry; written with each wait. The start of a broker ends such a
    -- wait and clears it.
    is_released        INTEGER NOT NULL DEFAULT 0 CHECK (is_released IN (0, 1)),
    -- The delay that was asked for: after a wall-clock jump the wait is never longer than this.
    retry_delay_us     INTEGER CHECK (retry_delay_us >= 0),
    last_error         TEXT,
    -- 1: it ran when its process died, and is tried before others start. Cleared when an attempt finishes, or
    -- survives a trial.
    is_suspect         INTEGER NOT NULL DEFAULT 0 CHECK (is_suspect IN (0, 1)),
    -- Deaths of a process while this action ran alone. Cleared when an attempt finishes, or survives a trial.
    crashes            INTEGER NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    -- What speaks against it when a process has died: raised when it ran as a suspect, lowered by a trial that it
    -- survives, cleared when an attempt finishes. Those with the highest value are tried first.
    suspicion          INTEGER NOT NULL DEFAULT 0,
    -- 1: cancelled while it ran. Anything but success removes the action.
    is_cancelled       INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelled IN (0, 1)),
    -- The queue it moves to when the running attempt ends.
    moves_to_queue_id  INTEGER,
    -- The gate that it waits for, beside the time. Set by a retry or a release that names one; cleared by the next
    -- wait.
    waits_for_gate     TEXT,
    -- The number that it would have had as a new action when it came to a queue that was failing: it is not set aside
    -- with what was there. Set by a move and a requeue.
    arrived_as_id         INTEGER,
    -- The claim under which its payload was edited while it ran: that attempt has not seen the edit. Means nothing for
    -- another claim.
    edited_claim       INTEGER,
    CHECK ((next_attempt_at_us IS NULL) = (retry_delay_us IS NULL))
) STRICT;

-- What a queue that is failing has to spare.
-- For the start: what a dead process may have died of.
CREATE INDEX sluice_state_suspect ON sluice_state_rows (action_id) WHERE is_suspect = 1;

CREATE INDEX sluice_state_arrived ON sluice_state_rows (arrived_as_id) WHERE arrived_as_id IS NOT NULL;

-- One row for each slot that is taken. Written before the handler starts, deleted by the settling that names
-- the same action and claim. What a dead process left behind here are the suspects. So it is also the lease of the
-- queue: no other process claims from it meanwhile.
CREATE TABLE sluice_claim_rows (
    queue_id      INTEGER NOT NULL,
    slot          INTEGER NOT NULL CHECK (slot >= 0),
    action_id     INTEGER NOT NULL,
    -- The epoch of the broker that holds the slot, times 2^32, plus a number that it counts up: never used
    -- again. The claim holds as long as that epoch has its row in sluice_runner_rows.
    claim         INTEGER NOT NULL,
    started_at_us INTEGER NOT NULL,
    -- How many suspects were tried together when it was claimed, with nothing beside them in their process; 0: none.
    -- Cleared when it has survived its trial.
    trial_size    INTEGER NOT NULL CHECK (trial_size >= 0),
    -- The counter 'opening' at that time: a gate opened since has opened during the attempt.
    opening       INTEGER NOT NULL DEFAULT 0,
    -- How many slots the queue has. Where it is more than one, other processes claim from the queue too.
    slots         INTEGER NOT NULL DEFAULT 1 CHECK (slots >= 1),
    PRIMARY KEY (queue_id, slot)
) STRICT, WITHOUT ROWID;

-- Actions that stand aside until a gate opens. A row goes when the action comes back to its place, or goes.
CREATE TABLE sluice_deferred_rows (
    action_id INTEGER PRIMARY KEY,
    -- The first of the gates that it waits for.
    gate      TEXT NOT NULL
) STRICT;

CREATE INDEX sluice_deferred_gate ON sluice_deferred_rows (gate);

-- Groups that actions start or are members of. Rows are written with their action and go with it; a dead letter keeps
-- its own. Most actions have none.
CREATE TABLE sluice_group_rows (
    action_id INTEGER NOT NULL,
    name      TEXT NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 255 AND instr(name, char(0)) = 0),
    -- 1: the action starts the group; 0: it is a member.
    is_start  INTEGER NOT NULL CHECK (is_start IN (0, 1)),
    -- The queue of the action, and so of the group: follows a move.
    queue_id  INTEGER NOT NULL,
    PRIMARY KEY (action_id, name, is_start)
) STRICT, WITHOUT ROWID;

CREATE INDEX sluice_group_start ON sluice_group_rows (queue_id, name) WHERE is_start = 1;

-- How far the pass through a queue has come whose discipline is to pass over. Written when an action is passed over,
-- deleted when the pass ends.
CREATE TABLE sluice_pass_rows (
    queue_id  INTEGER PRIMARY KEY,
    -- The place of the last action that was passed over.
    sort_key  ANY NOT NULL,
    action_id INTEGER NOT NULL,
    -- 1: something has been tried since the pass began, or the start of a group has gone; else another pass would pass
    -- over the same actions again.
    is_worth_repeating INTEGER NOT NULL CHECK (is_worth_repeating IN (0, 1))
) STRICT;

-- Groups whose start has failed for good in the pass under way: their members are passed over. Deleted when the pass
-- ends.
CREATE TABLE sluice_closed_group_rows (
    queue_id INTEGER NOT NULL,
    name     TEXT NOT NULL,
    PRIMARY KEY (queue_id, name)
) STRICT, WITHOUT ROWID;

-- Batches of queues that run in batches. Written when the first action of a batch is looked at, deleted when the batch
-- is through, unless it leaves something that it has passed over. Who begins to run the queues deletes those that
-- gather, and those that have nothing left.
CREATE TABLE sluice_batch_rows (
    queue_id INTEGER PRIMARY KEY,
    -- When it starts at the latest.
    due_us   INTEGER NOT NULL,
    -- 1: it has started, and goes on over a restart until nothing is left to start.
    is_open  INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    -- When the batch before ended that left something, and the last action there was by then: what it left is due with
    -- this batch, and does not count. Set when that ends, cleared when this starts.
    rest_us  INTEGER,
    rest_through_id INTEGER,
    CHECK ((rest_us IS NULL) = (rest_through_id IS NULL)),
    CHECK (is_open = 0 OR rest_us IS NULL)
) STRICT;

-- Attempts that did not succeed. Deleted with their action, kept with its dead letter.
CREATE TABLE sluice_attempt_rows (
    action_id     INTEGER NOT NULL,
    claim         INTEGER NOT NULL,
    -- The attempt's number, counted from 1.
    number        INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome IN ('retry', 'failed', 'exhausted', 'undecodable', 'crashed')),
    error         TEXT NOT NULL,
    started_at_us INTEGER NOT NULL,
    ended_at_us   INTEGER NOT NULL,
    PRIMARY KEY (action_id, claim)
) STRICT, WITHOUT ROWID;

-- Actions set aside by a failure policy.
CREATE TABLE sluice_dead_rows (
    -- The action's id, which it keeps when it is requeued.
    id             INTEGER PRIMARY KEY,
    queue_id       INTEGER NOT NULL,
    sort_key       ANY NOT NULL,
    sort_type      TEXT NOT NULL,
    enqueued_at_us INTEGER NOT NULL,
    nonce          INTEGER NOT NULL,
    kind           TEXT NOT NULL,
    attempts       INTEGER NOT NULL,
    died_at_us     INTEGER NOT NULL,
    -- behind: it stood behind an action whose failure policy set the whole queue aside.
    -- skipped: an operator had the queue pass it over.
    cause          TEXT NOT NULL CHECK (cause IN ('failed', 'exhausted', 'expired', 'undecodable', 'crashed',
                                                  'behind', 'skipped')),
    error          TEXT NOT NULL,
    payload        TEXT NOT NULL,
    version        INTEGER NOT NULL,
    tag            TEXT,
    gate           TEXT,
    trace          TEXT
) STRICT;

-- What is purged next.
CREATE INDEX sluice_dead_age ON sluice_dead_rows (died_at_us);

-- Gates: conditions that are open or closed. One that has no row is closed.
CREATE TABLE sluice_gate_rows (
    name          TEXT PRIMARY KEY NOT NULL
                  CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 255 AND instr(name, char(0)) = 0),
    is_open       INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    -- The value that the counter 'opening' got when it was opened last; 0 if it never was.
    opening       INTEGER NOT NULL DEFAULT 0,
    changed_at_us INTEGER NOT NULL,
    -- The opening of the file (its nonce) for whose life the row holds, and the process that has it open, as in
    -- sluice_runner_rows; NULL: it stays. Who begins to run the queues, or finds another process dead, removes the
    -- rows of openings that have ended.
    owner         INTEGER,
    owner_pid     INTEGER,
    owner_process TEXT,
    CHECK ((owner IS NULL) = (owner_pid IS NULL) AND (owner IS NULL) = (owner_process IS NULL))
) STRICT, WITHOUT ROWID;

-- Holds: pauses of one queue, of those with a prefix, or of all. Several can stand at once.
CREATE TABLE sluice_hold_rows (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- A queue's name, a prefix that ends in /*, or *.
    scope      TEXT NOT NULL
               CHECK (length(CAST(scope AS BLOB)) BETWEEN 1 AND 512 AND instr(scope, char(0)) = 0
                      AND (instr(scope, '*') = 0 OR scope = '*'
                           OR (instr(scope, '*') = length(scope) AND scope LIKE '%/*'))),
    -- Who holds, and why, for people.
    holder     TEXT NOT NULL CHECK (length(holder) <= 255),
    reason     TEXT NOT NULL CHECK (length(reason) <= 1000),
    since_us   INTEGER NOT NULL,
    -- When it ends by itself; NULL: it does not.
    until_us   INTEGER
) STRICT;

-- The processes that run the queues of this file, a row each. One is added by a process that begins to run them,
-- and removed when it stops, or by another one that finds it dead or its lease over.
CREATE TABLE sluice_runner_rows (
    -- From the counter 'epoch'. A process that was taken for dead and is not gets another one.
    epoch          INTEGER PRIMARY KEY,
    pid            INTEGER NOT NULL,
    -- What tells this process from another with the same pid: machine start, pid namespace, start of the
    -- process.
    process        TEXT NOT NULL,
    -- A random number of this opening of the file, by which its gates are known.
    nonce          INTEGER NOT NULL,
    -- Renewed while the broker runs. Past it, its claims are the suspects of whoever notices.
    lease_until_us INTEGER NOT NULL,
    -- The same by the time since the start of the machine, in microseconds, written with it: what counts between
    -- processes of one start of the machine, as no jump of the wall clock moves it. NULL where the system does not tell.
    lease_until_boot_us INTEGER
) STRICT;

-- The process that copies the log for all, where SQLite has the WAL-reset bug and several processes of the engine commit
-- (Store/CheckpointLease.swift). No row: none has had to ask the others yet.
CREATE TABLE sluice_checkpointer (
    only           INTEGER PRIMARY KEY CHECK (only = 1),
    -- The opening of the file that copies.
    nonce          INTEGER NOT NULL,
    pid            INTEGER NOT NULL,
    -- As in sluice_runner_rows.
    process        TEXT NOT NULL,
    -- Renewed while others commit too. Past it, any process may take over.
    lease_until_us INTEGER NOT NULL,
    -- As in sluice_runner_rows.
    lease_until_boot_us INTEGER
) STRICT;

-- What others have changed, for each process that runs the queues: a row for each of them, which takes it in and
-- deletes it. Written by the triggers of 0003 and by the engines of other processes.
CREATE TABLE sluice_changes (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    -- For whom.
    epoch     INTEGER NOT NULL,
    -- NULL: nothing about one queue.
    queue_id  INTEGER,
    -- NULL: something about the queue as a whole, or several of its actions.
    action_id INTEGER,
    -- cancel: the action runs, and is marked in sluice_state_rows; its handler is to be told.
    -- runner: another process has begun or ended to run the queues.
    -- look: another process leaves the queues to the others, who look for work in all of them.
    change    TEXT NOT NULL CHECK (change IN ('insert', 'update', 'delete', 'cancel', 'wake', 'hold', 'gate',
                                              'runner', 'look')),
    CHECK ((queue_id IS NULL) = (change IN ('hold', 'gate', 'runner', 'look')))
) STRICT;

CREATE INDEX sluice_change_epoch ON sluice_changes (epoch);
