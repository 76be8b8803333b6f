-- The tables of a fleet, in the schema that the migration runs in. Those whose names end in _rows are internal: use the
-- functions of 0002 to 0004 and the views of 0005 instead. The clock is the server's: see sluice_now().

-- Tests replace it, to set the time.
CREATE FUNCTION sluice_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT clock_timestamp()';

-- One row for each pattern that a worker has ever routed. Workers say for each pool how many more actions they may run.
CREATE TABLE sluice_pool_rows (
    pool    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- A queue's name, a prefix that ends in /*, or *.
    pattern text COLLATE "C" NOT NULL UNIQUE
);

-- One row for each queue that an action has named. Enqueues lock it; steps never do.
CREATE TABLE sluice_queue_rows (
    queue_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(name) BETWEEN 1 AND 512 AND strpos(name, '*') = 0),
    -- The type of all sort keys in the queue, as in the file. Set by the first action of an empty queue.
    sort_type text NOT NULL
              CHECK (sort_type IN ('arrival', 'integer', 'date', 'real', 'text')
                     OR sort_type ~ '^composite:(integer|date|real|text)(,(integer|date|real|text)){1,3}$'),
    -- The most specific pattern that matches; 0: none does.
    pool      integer NOT NULL
);

CREATE INDEX sluice_queue_pool ON sluice_queue_rows (pool);

-- Actions that wait or run. A row is written once, by the enqueue, and deleted once.
CREATE TABLE sluice_action_rows (
    -- Taken while the queue's row is locked, so the ids of a queue rise in the order of the commits.
    id          bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    queue_id    bigint NOT NULL,
    -- Bytes in the keys' order. One byte: arrival. 8 bytes: integer, date (microseconds since 1970) and real, and an
    -- action that an operator has moved to the front of a queue in the order of arrival. Else UTF-8.
    sort_key    bytea NOT NULL DEFAULT '\x80',
    -- When the action gets its place in the order. Cleared when it is due.
    not_before  timestamptz,
    expires_at  timestamptz,
    enqueued_at timestamptz NOT NULL,
    -- A random number of the call that enqueued the action; part of its idempotency key.
    nonce       bigint NOT NULL,
    kind        text NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 255),
    version     integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    payload     text NOT NULL,
    tag         text CHECK (octet_length(tag) BETWEEN 1 AND 255),
    -- A gate that must be open when the action starts.
    gate        text,
    -- The trace of the enqueue: a JSON object of the fields that a propagator has written.
    trace       text
);

CREATE INDEX sluice_action_order ON sluice_action_rows (queue_id, sort_key, id) WHERE not_before IS NULL;
CREATE INDEX sluice_action_schedule ON sluice_action_rows (not_before) WHERE not_before IS NOT NULL;
-- For conditions on queue_id alone: without the second half a step that asks for the next time of all could read and
-- sort the whole index, if the statistics are from before there were scheduled actions.
CREATE INDEX sluice_action_scheduled ON sluice_action_rows (queue_id, not_before)
    WHERE not_before IS NOT NULL AND queue_id IS NOT NULL;
CREATE INDEX sluice_action_expiry ON sluice_action_rows (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX sluice_action_tag ON sluice_action_rows (tag) WHERE tag IS NOT NULL;

-- Facts about an action from its attempts. Most actions never have a row here.
CREATE TABLE sluice_state_rows (
    action_id        bigint PRIMARY KEY,
    -- Ended attempts that count: retries, failures, and deaths of the worker while this action ran alone.
    attempts         integer NOT NULL DEFAULT 0,
    next_attempt_at  timestamptz,
    -- The requested delay: after a jump of the server's clock the wait is never longer.
    retry_delay      interval,
    -- Whether the wait follows a release, and not a retry.
    is_released      boolean NOT NULL DEFAULT false,
    last_error       text,
    -- The gate that the action waits for, in addition to the time.
    waits_for_gate   text,
    -- The action ran when its worker was taken off, and may be the cause; cleared when an attempt has outlived its
    -- trial, or ends.
    is_suspect       boolean NOT NULL DEFAULT false,
    -- It starts with nothing beside it but other suspects; cleared when the time for trials is over too.
    awaits_trial     boolean NOT NULL DEFAULT false,
    -- Raised when a worker is taken off while the suspect runs, lowered when it outlives a trial.
    suspicion        integer NOT NULL DEFAULT 0,
    -- How often a worker was taken off while this action ran alone.
    crashes          integer NOT NULL DEFAULT 0,
    -- Cancelled while it ran. Any outcome except success removes the action.
    is_cancelled     boolean NOT NULL DEFAULT false,
    -- The queue to which the action moves when the running attempt ends.
    moves_to         bigint,
    -- The claim that ran when the payload was edited: its attempt has not seen the edit.
    edited_claim     bigint,
    -- The fail_through_id of the failing queue that the action was moved or requeued into: that failing spares it.
    spared_through   bigint
);

-- Each step reads it: which of the worker's claims an operator has cancelled.
CREATE INDEX sluice_state_cancelled ON sluice_state_rows (action_id) WHERE is_cancelled;
-- Finds the heads whose waits a start ends.
CREATE INDEX sluice_state_released ON sluice_state_rows (action_id) WHERE is_released;
-- Finds the queues to which an action moves.
CREATE INDEX sluice_state_move ON sluice_state_rows (moves_to) WHERE moves_to IS NOT NULL;

-- Who runs a queue, and when to look at its head. Written when a queue changes hands or is put to sleep, not for each
-- action.
CREATE TABLE sluice_lane_rows (
    queue_id          bigint PRIMARY KEY,
    pool              integer NOT NULL,
    -- Look at the head then; NULL: there is nothing to look for before an arrival or an operator's act.
    ready_at          timestamptz,
    -- The worker that runs the queue, and a number that each hand-over raises.
    worker            bigint,
    term              bigint NOT NULL DEFAULT 0,
    -- In a queue in the order of arrival: nothing waits up to this id, unless rewind.
    low_id            bigint NOT NULL DEFAULT 0,
    rewind            boolean NOT NULL DEFAULT false,
    -- The head waits for its trial; no longer when it is claimed.
    is_suspect        boolean NOT NULL DEFAULT false,
    -- Why the queue is blocked, as in the file, and:
    --   hold: the hold's number is in blocked_error.
    --   permit: the head's route has no free handler; blocked_error has the route's pool and kind. Any worker with a
    --       free handler for them takes the queue that has waited longest. A time in ready_at instead would let
    --       thousands of such queues be looked at again and again before others.
    --   rate: the same for the rate limit in blocked_error.
    blocked_by        text CHECK (blocked_by IN ('failed', 'exhausted', 'expired', 'crashed', 'failing', 'undecodable',
                                                 'unknown kind', 'no route', 'gate', 'hold', 'permit', 'rate')),
    blocked_action_id bigint,
    blocked_at        timestamptz,
    -- The error that parked the queue; for 'gate' the gate's name.
    blocked_error     text,
    -- All actions up to this id become dead letters, in batches.
    fail_through_id   bigint,
    -- The sort key of the failed action: only actions that sort after it become dead letters.
    fail_key          bytea
) WITH (fillfactor = 70);

CREATE INDEX sluice_lane_ready ON sluice_lane_rows (pool, ready_at)
    WHERE worker IS NULL AND ready_at IS NOT NULL AND NOT is_suspect;
CREATE INDEX sluice_lane_suspect ON sluice_lane_rows (ready_at)
    WHERE worker IS NULL AND ready_at IS NOT NULL AND is_suspect;
CREATE INDEX sluice_lane_worker ON sluice_lane_rows (worker) WHERE worker IS NOT NULL;
CREATE INDEX sluice_lane_blocked ON sluice_lane_rows (blocked_by, blocked_error, blocked_at)
    WHERE blocked_by IS NOT NULL;

-- For new routes. The second half is for conditions on the pool alone.
CREATE INDEX sluice_lane_unrouted ON sluice_lane_rows (pool, queue_id)
    WHERE blocked_by IN ('unknown kind', 'no route', 'permit', 'rate', 'undecodable') AND pool IS NOT NULL;

-- Inserted by a claim, deleted by its settling. No claim is ever given twice.
CREATE TABLE sluice_claim_rows (
    -- The worker's epoch times 2^32, plus a number that the worker counts up.
    claim      bigint PRIMARY KEY,
    action_id  bigint NOT NULL,
    queue_id   bigint NOT NULL,
    worker     bigint NOT NULL,
    term       bigint NOT NULL,
    started_at timestamptz NOT NULL,
    -- The highest opening of a gate at the claim: a gate with a higher one was opened during the attempt.
    opening    bigint NOT NULL,
    -- How much of the queue's turn was used before: actions, or their time in sixteenths of 50 ms. Ends at 16.
    turn       integer NOT NULL DEFAULT 0,
    -- How many suspects were tried together with this one, and with nothing beside them; 0: it is not on trial.
    trial_size integer NOT NULL DEFAULT 0,
    -- The application has settled it with success in a transaction of its own.
    is_settled boolean NOT NULL DEFAULT false
);

CREATE INDEX sluice_claim_worker ON sluice_claim_rows (worker);
CREATE INDEX sluice_claim_action ON sluice_claim_rows (action_id);

-- A queue in which an action has arrived. Visible together with the action; taken in by a step and deleted. No index:
-- rows are found by their place in the table.
CREATE TABLE sluice_arrival_rows (
    queue_id bigint NOT NULL,
    -- The action may have a place before the lane's low_id.
    rewind   boolean NOT NULL DEFAULT false
);

-- The processes that run queues.
CREATE TABLE sluice_worker_rows (
    epoch            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Machine and process, for people.
    name             text NOT NULL,
    nonce            bigint NOT NULL,
    -- Renewed while the worker runs. After this time another one may take it off.
    lease_until      timestamptz NOT NULL,
    -- Since when the lease has not lapsed: only a worker whose lease has lasted for a whole lease may judge others.
    continuous_since timestamptz NOT NULL,
    -- Raised by a resync: calls with smaller numbers were given up before it, and come too late.
    first_claim      bigint NOT NULL DEFAULT 0,
    -- The worker has nothing to do and listens: an enqueue rings.
    waits            boolean NOT NULL DEFAULT false,
    -- It has no lease any more, and never gets one again; some of its queues are locked, and are given back later.
    -- lost: its lease was over; left: it signed off. NULL while it lives.
    ending           text CHECK (ending IN ('lost', 'left')),
    -- Why its steps fail again and again, and since when; NULL after one that succeeds.
    refusal          text,
    refused_at       timestamptz,
    -- The expired action at which the worker's last sweep stopped.
    swept_at         timestamptz NOT NULL DEFAULT '-infinity',
    swept_id         bigint NOT NULL DEFAULT 0
);

-- Which worker tries suspects, with nothing beside them: one of the fleet at a time. There is one row.
CREATE TABLE sluice_trial_rows (
    is_only    boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- NULL, or one that lives no longer: nobody does.
    worker     bigint,
    since      timestamptz,
    -- When the trial is over, whatever was tried.
    until      timestamptz,
    -- By when the suspects that are tried now must have returned; NULL while the worker has other actions to end.
    part_until timestamptz
);

INSERT INTO sluice_trial_rows DEFAULT VALUES;

-- What each worker can run.
CREATE TABLE sluice_route_rows (
    worker      bigint NOT NULL,
    -- The worker's number of the route.
    route       integer NOT NULL,
    pool        integer NOT NULL,
    -- NULL: any kind for which the pool has no other route.
    kind        text,
    gates       text[] NOT NULL DEFAULT '{}',
    crash_limit integer,
    -- What happens to an expired head and to one that has reached crash_limit: skip, block or failQueue.
    expired     text NOT NULL CHECK (expired IN ('skip', 'block', 'failQueue')),
    crashed     text NOT NULL CHECK (crashed IN ('skip', 'block', 'failQueue')),
    rate        text,
    rate_interval  interval,
    rate_tolerance interval
);

CREATE INDEX sluice_route_pool ON sluice_route_rows (pool);
CREATE UNIQUE INDEX sluice_route_kind ON sluice_route_rows (worker, pool, coalesce(kind, ''));

-- Groups of enqueues, so that a client whose connection broke at the commit finds out whether it was made.
CREATE TABLE sluice_token_rows (
    token uuid PRIMARY KEY,
    -- The ids in the order of the call; NULL where an action was refused.
    ids   bigint[] NOT NULL,
    at    timestamptz NOT NULL
);

CREATE INDEX sluice_token_age ON sluice_token_rows (at);

-- Deduplication keys, as in the file.
CREATE TABLE sluice_key_rows (
    queue_id      bigint NOT NULL,
    key           text COLLATE "C" NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    action_id     bigint NOT NULL,
    keep          interval NOT NULL,
    -- When the row may be deleted; NULL while the action waits or runs.
    until         timestamptz,
    has_succeeded boolean NOT NULL DEFAULT false,
    PRIMARY KEY (queue_id, key)
);

CREATE INDEX sluice_key_action ON sluice_key_rows (action_id);
CREATE INDEX sluice_key_end ON sluice_key_rows (until) WHERE until IS NOT NULL;

-- Attempts that did not succeed. Deleted with their action; a dead letter keeps them.
CREATE TABLE sluice_attempt_rows (
    action_id  bigint NOT NULL,
    claim      bigint NOT NULL,
    -- Counted from 1.
    number     integer NOT NULL,
    outcome    text NOT NULL CHECK (outcome IN ('retry', 'failed', 'exhausted', 'undecodable', 'crashed')),
    error      text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    PRIMARY KEY (action_id, claim)
);

-- Dead letters, as in the file.
CREATE TABLE sluice_dead_rows (
    -- The action's id. A requeue keeps it.
    id          bigint PRIMARY KEY,
    queue_id    bigint NOT NULL,
    sort_key    bytea NOT NULL,
    sort_type   text NOT NULL,
    enqueued_at timestamptz NOT NULL,
    nonce       bigint NOT NULL,
    kind        text NOT NULL,
    version     integer NOT NULL,
    payload     text NOT NULL,
    attempts    integer NOT NULL,
    died_at     timestamptz NOT NULL,
    cause       text NOT NULL CHECK (cause IN ('failed', 'exhausted', 'expired', 'undecodable', 'crashed', 'behind',
                                               'skipped')),
    error       text NOT NULL,
    tag         text,
    gate        text,
    trace       text
);

CREATE INDEX sluice_dead_age ON sluice_dead_rows (died_at);
CREATE INDEX sluice_dead_tag ON sluice_dead_rows (tag) WHERE tag IS NOT NULL;
CREATE INDEX sluice_dead_queue ON sluice_dead_rows (queue_id);

-- How often a gate was opened.
CREATE SEQUENCE sluice_opening CACHE 1;

-- Gates: conditions that are open or closed. A gate without a row is closed; a lane that waits for it makes the row.
CREATE TABLE sluice_gate_rows (
    name       text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 255),
    is_open    boolean NOT NULL,
    -- The value of sluice_opening when the gate was last opened; 0 if it never was.
    opening    bigint NOT NULL DEFAULT 0,
    -- NULL: nobody has set the gate; it is only waited for.
    changed_at timestamptz,
    -- When the gate opens by itself, as in the file, and how long the closing was to last.
    opens_at   timestamptz CHECK (opens_at IS NULL OR NOT is_open),
    closed_for interval
);

CREATE INDEX sluice_gate_opening ON sluice_gate_rows (opening);
CREATE INDEX sluice_gate_unset ON sluice_gate_rows (name) WHERE changed_at IS NULL AND NOT is_open;
-- Lanes to be woken or moved that may be too many for one transaction: chores do some of them in each call, and pass
-- over those that others have locked.
CREATE TABLE sluice_task_rows (
    task    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- gate, hold:  the lanes that sleep for the gate or hold `detail` wake.
    -- route:       the lanes of `pool` that slept for a route, a permit or a rate, or were undecodable, wake.
    -- released:    the waits of released heads end, in the pools of `worker`.
    -- pool:        the lanes of the pattern `detail` move to its pool, from less specific ones.
    -- clock:       waits that are longer than was asked are shortened: the clock was set back.
    what    text NOT NULL CHECK (what IN ('gate', 'hold', 'route', 'released', 'pool', 'clock')),
    detail  text COLLATE "C",
    pool    integer,
    worker  bigint,
    -- The starts of the lanes are spread over this time.
    spread  interval NOT NULL DEFAULT '0',
    -- How far the task has come: a queue's or an action's number; for a pool a name.
    after   bigint NOT NULL DEFAULT 0,
    after_name text COLLATE "C" NOT NULL DEFAULT '',
    -- The lanes before that which were locked.
    passed  bigint[] NOT NULL DEFAULT '{}'
);

CREATE UNIQUE INDEX sluice_task_clock ON sluice_task_rows (what) WHERE what = 'clock';
CREATE INDEX sluice_task_pool ON sluice_task_rows (task) WHERE what = 'pool';

CREATE INDEX sluice_gate_end ON sluice_gate_rows (opens_at) WHERE opens_at IS NOT NULL;

-- Holds: pauses of one queue, of all queues with a prefix, or of all queues. Several can apply at once.
CREATE TABLE sluice_hold_rows (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope    text COLLATE "C" NOT NULL CHECK (octet_length(scope) BETWEEN 1 AND 512
                                              AND (strpos(scope, '*') = 0 OR scope = '*'
                                                   OR (strpos(scope, '*') = length(scope) AND scope LIKE '%/*'))),
    holder   text NOT NULL CHECK (length(holder) <= 255),
    reason   text NOT NULL CHECK (length(reason) <= 1000),
    since    timestamptz NOT NULL,
    -- NULL: it does not end before somebody ends it.
    until    timestamptz
);

-- What operators did, for people, as in the file.
CREATE TABLE sluice_audit_rows (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    operator text NOT NULL CHECK (length(operator) BETWEEN 1 AND 255),
    act      text NOT NULL CHECK (length(act) BETWEEN 1 AND 1000),
    result   text NOT NULL CHECK (length(result) <= 1000)
);

-- Rate limits of routes, as in the file.
CREATE TABLE sluice_rate_rows (
    name    text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 512),
    -- When the limit has recovered from its last starts. Each start moves it by the limit's interval.
    next_at timestamptz NOT NULL
);

-- Tables without a key: a publication of all tables, which other programs make to copy changes, refuses to delete from
-- a table that does not say which row is meant. It costs nothing else.
ALTER TABLE sluice_arrival_rows REPLICA IDENTITY FULL;
ALTER TABLE sluice_route_rows REPLICA IDENTITY FULL;

-- Dead row versions are removed by their number, not by their part of the table: the tables are small when drained.
ALTER TABLE sluice_lane_rows SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE sluice_claim_rows SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE sluice_arrival_rows SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE sluice_state_rows SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE sluice_worker_rows SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE sluice_action_rows SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
