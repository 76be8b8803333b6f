-- Names, sort keys, enqueues and tokens, and the internal functions that 0003 to 0005 use too.
--
-- A temporary table hides a table of the same name unless pg_temp is named last. Each function keeps this path, so that
-- neither the caller's path nor a temporary table changes what a function with the owner's rights does. A SET clause
-- takes some 3 µs, longer than many functions: those that are called often, and by others of these alone, have none
-- and run with the path of their caller.
--
-- Functions that read or write tables also have planner settings: a plan is made while tables are small and kept when
-- they have grown, so it must use the index from the start; and without force_generic_plan the statements with arrays
-- would be planned for each call, which takes longer than to run them.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- A time that every reader can hold: brokers count microseconds in 64 bits, and the file and ISO 8601 have the years 1
-- to 9999. Each step that reads a time beyond would fail.
CREATE FUNCTION sluice_is_time(at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN at >= timestamptz '0001-01-01 00:00:00+00' AND at < timestamptz '10000-01-01 00:00:00+00';

-- Raises SL003 if a time is not one of those; NULL is none.
CREATE FUNCTION sluice_check_time(name text, at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT sluice_is_time(at) THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = format('%s is not a time in the years 1 to 9999', name), HINT = 'Give another time.';
    END IF;
END
$$;

-- Whether a pattern (a queue's name, a prefix that ends in /*, or *) matches a queue's name.
CREATE FUNCTION sluice_matches(pattern text, name text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pattern = name OR pattern = '*' OR (right(pattern, 2) = '/*' AND starts_with(name, left(pattern, -1)));

-- Whether a lane is blocked by this until a person or an edit changes something. A failing queue is not: it goes on
-- when its actions are dead letters.
CREATE FUNCTION sluice_parks(reason text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN reason IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable');

-- The patterns that match a name, or each name that a pattern matches.
CREATE FUNCTION sluice_patterns_for(name text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    patterns text[] := ARRAY[name];
    prefix text := '';
    rest text := name;
BEGIN
    IF name <> '*' THEN
        patterns := patterns || '*'::text;
    END IF;
    WHILE strpos(rest, '/') > 0 LOOP
        prefix := prefix || left(rest, strpos(rest, '/'));
        rest := substr(rest, strpos(rest, '/') + 1);
        IF prefix || '*' <> name THEN
            patterns := patterns || (prefix || '*');
        END IF;
    END LOOP;
    RETURN patterns;
END
$$;

-- The pool of a queue's name: that of the exact pattern, else of the longest; 0 if no pattern matches. A transaction
-- that adds a pattern and one that creates a queue do not see each other before they commit: a step that creates the
-- lane calls this function again, and locks sluice_pool_rows against the other.
CREATE FUNCTION sluice_pool_of(name text) RETURNS integer
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
    SELECT coalesce(
        (SELECT p.pool FROM sluice_pool_rows AS p
         WHERE p.pattern = ANY (sluice_patterns_for(sluice_pool_of.name))
         ORDER BY p.pattern = sluice_pool_of.name DESC, octet_length(p.pattern) DESC LIMIT 1),
        0)
$$;

-- The microseconds since 1970 of a date in ISO 8601; NULL if the text is none. The forms are those that the library
-- reads. No cast: casts depend on the session's settings and do not know the year 0.
CREATE FUNCTION sluice_microseconds(value text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    part text[] := regexp_match(
        value,
        '^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?'
        || '(?:[Zz]|([+-][0-9]{2})(?::?([0-9]{2}))?)?)?$');
    year integer := part[1]::integer;
    month integer := part[2]::integer;
    day integer := part[3]::integer;
    -- From March, so that the leap day is the last of its year; 400 years later, so that no division is of a negative.
    shifted integer := year + 400 - CASE WHEN month > 2 THEN 0 ELSE 1 END;
    last_day integer := CASE WHEN month IN (4, 6, 9, 11) THEN 30
                             WHEN month <> 2 THEN 31
                             WHEN year % 4 = 0 AND (year % 100 <> 0 OR year % 400 = 0) THEN 29
                             ELSE 28 END;
    days bigint;
    seconds bigint;
BEGIN
    IF part IS NULL OR month NOT BETWEEN 1 AND 12
        OR day NOT BETWEEN 1 AND last_day
        OR part[4]::integer > 23 OR part[5]::integer > 59 OR part[6]::integer > 60
        OR abs(part[8]::integer) > 23 OR part[9]::integer > 59
    THEN
        RETURN NULL;
    END IF;
    days := shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400
        + (153 * ((month + 9) % 12) + 2) / 5 + day - 1 - 719468 - 146097;
    seconds := coalesce(part[4]::integer, 0) * 3600 + coalesce(part[5]::integer, 0) * 60 + coalesce(part[6]::integer, 0)
        - coalesce(part[8]::integer, 0) * 3600
        - CASE WHEN part[8] LIKE '-%' THEN -1 ELSE 1 END * coalesce(part[9]::integer, 0) * 60;
    RETURN (days * 86400 + seconds) * 1000000 + coalesce(left(part[7] || '00000', 6)::integer, 0);
END
$$;

-- The date of microseconds since 1970 as the views show it: ISO 8601 with microseconds; a number outside the years 0
-- to 9999.
CREATE FUNCTION sluice_date_text(microseconds bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    fraction bigint;
    second bigint;
    second_of_day bigint;
    day date;
    year integer;
BEGIN
    IF microseconds NOT BETWEEN -62167219200000000 AND 253402300799999999 THEN
        RETURN microseconds::text;
    END IF;
    -- Rounded down: the division of a negative rounds up.
    fraction := (microseconds % 1000000 + 1000000) % 1000000;
    second := (microseconds - fraction) / 1000000;
    second_of_day := (second % 86400 + 86400) % 86400;
    day := DATE '1970-01-01' + ((second - second_of_day) / 86400)::integer;
    -- The year 0 is PostgreSQL's year -1.
    year := greatest(extract(year FROM day)::integer, 0);
    RETURN lpad(year::text, 4, '0') || '-' || lpad(extract(month FROM day)::text, 2, '0')
        || '-' || lpad(extract(day FROM day)::text, 2, '0') || 'T' || lpad((second_of_day / 3600)::text, 2, '0')
        || ':' || lpad((second_of_day / 60 % 60)::text, 2, '0') || ':' || lpad((second_of_day % 60)::text, 2, '0')
        || '.' || lpad(fraction::text, 6, '0') || 'Z';
END
$$;

-- Whether a text has the parts of a composite key in the form whose bytes have their order, as in the file: integers
-- with 19 digits, a negative one as '-' and its distance from the smallest; dates as the views show them, or ':' or '-'
-- and an integer; reals as 16 hexadecimal digits; in texts a line feed before what is up to a line feed.
CREATE FUNCTION sluice_is_composite(sort_type text, key text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    types text[] := string_to_array(substr(sort_type, 11), ',');
    parts text[] := string_to_array(key, E'\t');
    part text;
BEGIN
    IF cardinality(parts) <> cardinality(types) THEN
        RETURN false;
    END IF;
    FOR i IN 1 .. cardinality(types) LOOP
        part := parts[i];
        IF NOT coalesce(
            CASE types[i]
                WHEN 'integer' THEN part ~ '^-?[0-9]{19}$' AND ltrim(part, '-') <= '9223372036854775807' COLLATE "C"
                WHEN 'date' THEN
                    CASE WHEN part ~ '^[:-][0-9]{19}$' THEN substr(part, 2) <= '9223372036854775807' COLLATE "C"
                         ELSE sluice_date_text(sluice_microseconds(part)) = part
                    END
                -- From minus to plus infinity; what lies outside is not a number.
                WHEN 'real' THEN part ~ '^[0-9a-f]{16}$'
                    AND part COLLATE "C" BETWEEN '000fffffffffffff' AND 'fff0000000000000'
                ELSE part COLLATE "C" ~ E'^(?:[^\u0001-\u000A]|\n[ -*])*$'
            END, false)
        THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

-- The bytes of a sort key, whose order is that of the keys, from its text: an integer; a date in ISO 8601 or in
-- microseconds since 1970; a real; a text; a composite key as in the file. NULL for the order of arrival alone.
CREATE FUNCTION sluice_sort_bytes(sort_type text, key text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT
AS $$
DECLARE
    number bigint;
    real_number double precision;
    bits bigint;
BEGIN
    IF sort_type = 'arrival' AND key IS NULL THEN
        RETURN '\x80';
    ELSIF sort_type = 'arrival' OR key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = CASE WHEN key IS NULL THEN format('a sort key of the type %s is missing', sort_type)
                           ELSE 'an action in the order of arrival has no sort key' END,
            HINT = 'Give both a sort_key and its sort_type (integer, date, real, text or composite:…), or neither.';
    ELSIF sort_type IN ('integer', 'date') THEN
        IF key ~ '^[+-]?[0-9]{1,19}$' AND key::numeric BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
            number := key;
        ELSIF sort_type = 'date' THEN
            number := sluice_microseconds(key);
        END IF;
        IF number IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
                MESSAGE = format('the sort key is not of the type %s', sort_type),
                HINT = CASE sort_type
                           WHEN 'date' THEN 'Write a date as 2026-05-01T12:00:00Z, or as microseconds since 1970.'
                           ELSE 'Write an integer of 64 bits.'
                       END;
        END IF;
        RETURN int8send(number # (-9223372036854775808));
    ELSIF sort_type = 'real' THEN
        BEGIN
            real_number := key;
        EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range THEN
            RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
                MESSAGE = 'the sort key is not of the type real', HINT = 'Write a number of double precision.';
        END;
        IF real_number = 'NaN' THEN
            RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'sortKeyNotANumber',
                MESSAGE = 'the sort key is not a number, so it has no order', HINT = 'Give a number.';
        END IF;
        -- The sum makes a negative zero positive. A negative number has all bits flipped, another one the sign alone.
        bits := ('x' || encode(float8send(real_number + 0.0::double precision), 'hex'))::bit(64)::bigint;
        RETURN int8send(CASE WHEN bits < 0 THEN ~bits ELSE bits # (-9223372036854775808) END);
    ELSIF sort_type = 'text' OR sort_type ~ '^composite:(integer|date|real|text)(,(integer|date|real|text)){1,3}$' THEN
        IF sort_type <> 'text' AND NOT sluice_is_composite(sort_type, key) THEN
            RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
                MESSAGE = format('the sort key is not of the type %s', sort_type),
                HINT = 'Separate the parts by tabs: integers with 19 digits, dates as 2026-05-01T12:00:00.000000Z.';
        ELSIF octet_length(convert_to(key, 'UTF8')) > 2000 THEN
            RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
                MESSAGE = 'the sort key has more than 2000 bytes',
                HINT = 'Keys are stored in an index: use a shorter one.';
        END IF;
        RETURN convert_to(key, 'UTF8');
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
        MESSAGE = format('there is no type of sort key %s', quote_nullable(sort_type)),
        HINT = 'Use arrival, integer, date, real, text or composite: and 2 to 4 types, such as composite:date,integer.';
END
$$;

-- The text of a sort key as the views show it: the inverse of sluice_sort_bytes.
CREATE FUNCTION sluice_sort_text(sort_type text, key bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT SET extra_float_digits = 1
AS $$
DECLARE
    number bigint;
BEGIN
    IF sort_type = 'arrival' OR key IS NULL THEN
        RETURN NULL;
    ELSIF sort_type IN ('integer', 'date', 'real') THEN
        number := ('x' || encode(key, 'hex'))::bit(64)::bigint;
        IF sort_type = 'integer' THEN
            RETURN number # (-9223372036854775808);
        ELSIF sort_type = 'date' THEN
            RETURN sluice_date_text(number # (-9223372036854775808));
        END IF;
        RETURN sluice_double(CASE WHEN number < 0 THEN number # (-9223372036854775808) ELSE ~number END);
    END IF;
    RETURN convert_from(key, 'UTF8');
END
$$;

-- The number of double precision with these bits. SQL has no cast for it.
CREATE FUNCTION sluice_double(bits bigint) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    exponent integer := (bits >> 52) & 2047;
    fraction bigint := bits & 4503599627370495;
    sign double precision := CASE WHEN bits < 0 THEN -1 ELSE 1 END;
BEGIN
    IF exponent = 2047 THEN
        RETURN sign * 'Infinity'::double precision;
    ELSIF exponent = 0 THEN
        RETURN sign * fraction * 2.0::double precision ^ -1022 / 4503599627370496;
    ELSIF exponent > 1075 THEN
        RETURN sign * (fraction + 4503599627370496) * 2.0::double precision ^ (exponent - 1075);
    END IF;
    RETURN sign * ((fraction + 4503599627370496)::double precision / 4503599627370496)
        * 2.0::double precision ^ (exponent - 1023);
END
$$;

-- The first 2000 bytes of an error's text, as in the file.
CREATE FUNCTION sluice_bounded(error text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    bytes bytea;
    length integer := 2000;
BEGIN
    IF octet_length(error) <= length THEN
        RETURN error;
    END IF;
    bytes := convert_to(error, 'UTF8');
    -- Not within a character: its second byte and those after it begin with the bits 10.
    WHILE octet_length(bytes) > length AND get_byte(bytes, length) & 192 = 128 LOOP
        length := length - 1;
    END LOOP;
    RETURN convert_from(substring(bytes FROM 1 FOR length), 'UTF8');
END
$$;

-- Begins the time for which the keys of ended actions are kept.
CREATE FUNCTION sluice_end_keys(actions bigint[], succeeded boolean) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    UPDATE sluice_key_rows AS k SET until = sluice_now() + k.keep, has_succeeded = succeeded
    WHERE k.action_id = ANY (actions) AND k.until IS NULL;
END
$$;

-- Deletes actions that have succeeded or are removed, with their state and attempts. Whoever calls it has the lanes'
-- locks.
CREATE FUNCTION sluice_drop(actions bigint[], succeeded boolean) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    DELETE FROM sluice_action_rows AS a WHERE a.id = ANY (actions);
    DELETE FROM sluice_state_rows AS s WHERE s.action_id = ANY (actions);
    -- An action without state has no attempts.
    IF FOUND THEN
        DELETE FROM sluice_attempt_rows AS t WHERE t.action_id = ANY (actions);
    END IF;
    UPDATE sluice_key_rows AS k SET until = sluice_now() + k.keep, has_succeeded = succeeded
    WHERE k.action_id = ANY (actions) AND k.until IS NULL;
END
$$;

-- Makes dead letters of actions; keeps their attempts. Whoever calls it has the lanes' locks.
CREATE FUNCTION sluice_bury(actions bigint[], cause text, error text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
    INSERT INTO sluice_dead_rows (id, queue_id, sort_key, sort_type, enqueued_at, nonce, kind, version, payload,
                                  attempts, died_at, cause, error, tag, gate, trace)
    SELECT a.id, a.queue_id, a.sort_key, q.sort_type, a.enqueued_at, a.nonce, a.kind, a.version, a.payload,
           coalesce(s.attempts, 0), sluice_now(), sluice_bury.cause, sluice_bounded(sluice_bury.error),
           a.tag, a.gate, a.trace
    FROM sluice_action_rows AS a
    JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
    LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
    WHERE a.id = ANY (actions);
    DELETE FROM sluice_action_rows AS a WHERE a.id = ANY (actions);
    DELETE FROM sluice_state_rows AS s WHERE s.action_id = ANY (actions);
    PERFORM sluice_end_keys(actions, false);
END
$$;

-- Rings the doorbell if a worker waits, unless the setting sluice.doorbell is off: a transaction that rings cannot be
-- prepared for a commit in two phases. Without it a worker finds the action when it polls. NOTIFY takes one lock for
-- the whole server at commit, so it is not rung while all workers are busy. The channel has the schema's name, cut off
-- like all names of PostgreSQL.
CREATE FUNCTION sluice_ring() RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.waits)
        AND current_setting('sluice.doorbell', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify(('sluice_' || current_schema())::name::text, '');
    END IF;
END
$$;

-- Lets steps look at these queues. With rewind, an action may have a place before others that a lane has passed.
CREATE FUNCTION sluice_arrive(queues bigint[], rewind boolean) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO sluice_arrival_rows (queue_id, rewind)
    SELECT DISTINCT q.queue_id, sluice_arrive.rewind FROM unnest(queues) AS q (queue_id) WHERE q.queue_id IS NOT NULL;
    IF FOUND THEN
        PERFORM sluice_ring();
    END IF;
END
$$;

-- The processes that have locked or, by RowExclusiveLock, created any queue, and do not wait themselves.
CREATE FUNCTION sluice_lockers(mode text) RETURNS text
LANGUAGE sql SET search_path FROM CURRENT
AS $$
    SELECT string_agg(DISTINCT l.pid::text, ', ') FROM pg_locks AS l
    WHERE l.locktype = 'relation' AND l.relation = 'sluice_queue_rows'::regclass AND l.mode = sluice_lockers.mode
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
      AND l.granted AND l.pid <> pg_backend_pid()
      AND NOT EXISTS (SELECT FROM pg_locks AS w WHERE w.pid = l.pid AND NOT w.granted)
$$;

-- Has waits for locks end after ten seconds, or after the caller's lock_timeout if that is shorter. Returns the
-- caller's: the transaction may be an application's, so who calls this sets it back at its end. An error does so by
-- itself.
CREATE FUNCTION sluice_limit_waits() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    before text := current_setting('lock_timeout');
BEGIN
    IF before::interval NOT BETWEEN interval '1 ms' AND interval '10 s' THEN
        PERFORM set_config('lock_timeout', '10s', true);
    END IF;
    RETURN before;
END
$$;

-- Locks queues for an append, in one order: the appends of a queue wait for each other until their transactions end,
-- and only then is an id taken. So the ids of a queue rise in the order of the commits. A wait ends after 10 seconds,
-- or the caller's lock_timeout if that is shorter. Ids that are not there are ignored.
CREATE FUNCTION sluice_lock_queues(queues bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    blockers text;
    before text;
BEGIN
    -- One queue that is free needs no savepoint: a transaction with more than 64 of them slows all others down.
    IF cardinality(queues) = 1 THEN
        PERFORM FROM sluice_queue_rows AS q WHERE q.queue_id = queues[1] FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    before := sluice_limit_waits();
    BEGIN
        PERFORM FROM sluice_queue_rows AS q WHERE q.queue_id = ANY (queues) ORDER BY q.queue_id FOR NO KEY UPDATE;
    EXCEPTION WHEN lock_not_available THEN
        -- pg_blocking_pids() knows nothing of a wait that is over. The row names the transaction that has it; but a
        -- savepoint that is released has no lock of its own, so then it is one of those that have locked any queue.
        SELECT string_agg(DISTINCT l.pid::text, ', ') INTO blockers
        FROM sluice_queue_rows AS q
        JOIN pg_locks AS l ON l.locktype = 'transactionid' AND l.transactionid = q.xmax AND l.granted
        WHERE q.queue_id = ANY (queues) AND l.pid <> pg_backend_pid();
        blockers := coalesce(blockers, sluice_lockers('RowShareLock'));
        RAISE EXCEPTION USING ERRCODE = '55P03', DETAIL = 'databaseLocked ' || coalesce(blockers, ''),
            MESSAGE = format('another transaction holds a queue: process %s', coalesce(blockers, 'unknown')),
            HINT = 'End its transaction. idle_in_transaction_session_timeout ends those that are left open.';
    END;
    PERFORM set_config('lock_timeout', before, true);
END
$$;

-- The queues of these names; creates those that are missing, with these types of sort keys, and locks all. One row for
-- each name, in order; types are as they are after the locking. Acts that add an action to a queue call it too.
CREATE FUNCTION sluice_queues_for(names text[], sort_types text[])
RETURNS TABLE (place integer, queue_id bigint, sort_type text)
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    queues bigint[] := sluice_make_queues(names, sort_types);
BEGIN
    PERFORM sluice_lock_queues(queues);
    RETURN QUERY
        SELECT n.place::integer, q.queue_id, q.sort_type
        FROM unnest(queues) WITH ORDINALITY AS n (queue_id, place)
        JOIN sluice_queue_rows AS q ON q.queue_id = n.queue_id
        ORDER BY n.place;
END
$$;

-- The ids of these names, in order; creates the queues that are missing.
CREATE FUNCTION sluice_make_queues(names text[], sort_types text[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    queues bigint[];
    blockers text;
    before text;
BEGIN
    queues := ARRAY(SELECT q.queue_id FROM unnest(names) WITH ORDINALITY AS n (name, place)
                    LEFT JOIN sluice_queue_rows AS q ON q.name = n.name ORDER BY n.place);
    IF array_position(queues, NULL) IS NULL THEN
        RETURN queues;
    END IF;
    IF EXISTS (SELECT FROM unnest(names) AS n (name)
               WHERE (octet_length(n.name) BETWEEN 1 AND 512 AND strpos(n.name, '*') = 0) IS NOT TRUE) THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidQueueName',
            MESSAGE = 'a queue name is empty, has more than 512 bytes, or contains ''*''',
            HINT = 'Give a name of 1 to 512 bytes. Only patterns have ''*''.';
    END IF;
    before := sluice_limit_waits();
    BEGIN
        -- In the order of their names, before any queue is locked: so no two calls wait for each other.
        INSERT INTO sluice_queue_rows (name, sort_type, pool)
        SELECT n.name, coalesce(n.sort_type, 'arrival'), sluice_pool_of(n.name)
        FROM (SELECT DISTINCT ON (i.name COLLATE "C") i.name, i.sort_type
              FROM unnest(names, sort_types) WITH ORDINALITY AS i (name, sort_type, place)
              WHERE NOT EXISTS (SELECT FROM sluice_queue_rows AS q WHERE q.name = i.name)
              ORDER BY i.name COLLATE "C", i.place) AS n
        ORDER BY n.name COLLATE "C"
        ON CONFLICT DO NOTHING;
    EXCEPTION WHEN lock_not_available THEN
        -- The row that is waited for cannot be seen yet. These transactions have created queues.
        blockers := sluice_lockers('RowExclusiveLock');
        RAISE EXCEPTION USING ERRCODE = '55P03', DETAIL = 'databaseLocked ' || coalesce(blockers, ''),
            MESSAGE = format('another transaction creates the same queue: process %s', coalesce(blockers, 'unknown')),
            HINT = 'End its transaction. idle_in_transaction_session_timeout ends those that are left open.';
    END;
    PERFORM set_config('lock_timeout', before, true);
    RETURN ARRAY(SELECT q.queue_id FROM unnest(names) WITH ORDINALITY AS n (name, place)
                 LEFT JOIN sluice_queue_rows AS q ON q.name = n.name ORDER BY n.place);
END
$$;

-- How many actions a queue has, those that run or are scheduled too; counts no further than most.
CREATE FUNCTION sluice_depth(queue bigint, most bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (SELECT count(*) FROM (SELECT FROM sluice_action_rows AS a
                                  WHERE a.queue_id = queue AND a.not_before IS NULL LIMIT most) AS placed)
        + (SELECT count(*) FROM (SELECT FROM sluice_action_rows AS a
                                 WHERE a.queue_id = queue AND a.not_before IS NOT NULL LIMIT most) AS scheduled);
END
$$;

-- Converts the sort keys of a queue's actions to the type that the options of an application set; somebody else has set
-- the other type. Without a key, an action gets the time of its enqueue, if dates order the queue. One whose key cannot
-- be converted becomes a dead letter; if it runs it sorts first. Whoever calls it has the locks of queue and lane.
CREATE FUNCTION sluice_convert_keys(queue bigint, old_type text, new_type text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    actions bigint[];
    new_keys bytea[];
    lost bigint[];
BEGIN
    SELECT array_agg(c.id), array_agg(coalesce(c.new_key, CASE WHEN c.runs THEN c.smallest END))
    INTO actions, new_keys
    FROM (
        SELECT a.id, EXISTS (SELECT FROM sluice_claim_rows AS l WHERE l.action_id = a.id) AS runs,
               CASE WHEN new_type IN ('integer', 'date') THEN '\x0000000000000000'
                    WHEN new_type = 'real' THEN '\x000fffffffffffff' ELSE '' END::bytea AS smallest,
               CASE new_type
                   WHEN 'arrival' THEN '\x80'::bytea
                   WHEN 'integer' THEN CASE old_type WHEN 'date' THEN a.sort_key END
                   WHEN 'real' THEN CASE old_type WHEN 'integer'
                                    THEN sluice_sort_bytes('real', sluice_sort_text('integer', a.sort_key)) END
                   WHEN 'date' THEN CASE old_type
                       WHEN 'integer' THEN a.sort_key
                       WHEN 'arrival' THEN sluice_sort_bytes(
                           'date', floor(extract(epoch FROM a.enqueued_at) * 1000000)::bigint::text)
                       WHEN 'text' THEN int8send(sluice_microseconds(convert_from(a.sort_key, 'UTF8'))
                                                 # (-9223372036854775808))
                   END
               END AS new_key
        FROM (SELECT p.id, p.sort_key, p.enqueued_at FROM sluice_action_rows AS p
              WHERE p.queue_id = queue AND p.not_before IS NULL
              UNION ALL
              SELECT s.id, s.sort_key, s.enqueued_at FROM sluice_action_rows AS s
              WHERE s.queue_id = queue AND s.not_before IS NOT NULL) AS a
    ) AS c;
    lost := ARRAY(SELECT n.id FROM unnest(actions, new_keys) AS n (id, new_key) WHERE n.new_key IS NULL);
    PERFORM sluice_bury(
        lost, 'undecodable',
        format('its sort key, of the type %s, cannot be made a key of the type %s, by which the options of the '
               'application order the queue', old_type, new_type));
    UPDATE sluice_lane_rows AS l
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
    WHERE l.queue_id = queue AND l.blocked_action_id = ANY (lost) AND l.blocked_by <> 'failing';
    UPDATE sluice_action_rows AS a SET sort_key = n.new_key
    FROM unnest(actions, new_keys) AS n (id, new_key) WHERE a.id = n.id AND n.new_key IS NOT NULL;
END
$$;

-- Whether arrays and objects of a JSON text are nested deeper than 512, which the library refuses to read.
CREATE FUNCTION sluice_is_too_deep(payload text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    brackets text;
BEGIN
    -- Most payloads do not have as many brackets.
    IF length(payload) <= 1024 OR length(payload) - length(translate(payload, '[{', '')) <= 512 THEN
        RETURN false;
    END IF;
    brackets := regexp_replace(regexp_replace(payload, '"(?:[^"\\]|\\.)*"', '', 'g'), '[^][{}]+', '', 'g');
    brackets := translate(brackets, '{}', '[]');
    -- Each round removes the innermost level.
    FOR level IN 1 .. 512 LOOP
        EXIT WHEN brackets = '';
        brackets := replace(brackets, '[]', '');
    END LOOP;
    RETURN brackets <> '';
END
$$;

-- Raises SL003 if a value of an enqueue is not as the tables and the library need it. Not left to the CHECKs of the
-- tables nor to casts: their errors show the payload.
CREATE FUNCTION sluice_check_actions(
    kinds text[], versions integer[], payloads text[], sort_types text[], sort_keys bytea[], not_before timestamptz[],
    expires_at timestamptz[], tags text[], gates text[], keys text[], key_policies text[], key_keep interval[],
    depths integer[])
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    wrong integer;
    code text;
BEGIN
    BEGIN
        SELECT c.place, c.code INTO wrong, code
        FROM (
            SELECT i.place, CASE
                WHEN (octet_length(i.kind) BETWEEN 1 AND 255) IS NOT TRUE THEN 'invalidKind'
                WHEN i.version < 1 THEN 'invalidVersion'
                WHEN i.payload::json IS NULL OR sluice_is_too_deep(i.payload) THEN 'payloadNotJSON'
                WHEN i.tag IS NOT NULL AND octet_length(i.tag) NOT BETWEEN 1 AND 255
                    OR i.key IS NOT NULL AND octet_length(i.key) NOT BETWEEN 1 AND 255
                    OR i.policy NOT IN ('keep', 'refuse', 'replace') OR i.keep < interval '0'
                    OR i.depth < 0 OR NOT sluice_is_time(i.not_before) OR NOT sluice_is_time(i.expires_at)
                THEN 'invalidOptions'
                WHEN i.gate IS NOT NULL AND octet_length(i.gate) NOT BETWEEN 1 AND 255 THEN 'invalidGate'
                WHEN i.sort_type IS NULL OR i.sort_type = 'arrival' THEN
                    CASE WHEN i.sort_key <> '\x80' THEN 'invalidOptions' END
                WHEN i.sort_type IN ('integer', 'date', 'real') THEN
                    CASE WHEN octet_length(i.sort_key) IS DISTINCT FROM 8 THEN 'invalidOptions'
                         -- From minus to plus infinity.
                         WHEN i.sort_type = 'real'
                              AND i.sort_key NOT BETWEEN '\x000fffffffffffff' AND '\xfff0000000000000'
                         THEN 'sortKeyNotANumber' END
                WHEN sluice_sort_bytes(i.sort_type, convert_from(i.sort_key, 'UTF8')) IS NULL THEN 'invalidOptions'
            END AS code
            FROM unnest(kinds, versions, payloads, sort_types, sort_keys, not_before, expires_at, tags, gates, keys,
                        key_policies, key_keep, depths)
                 WITH ORDINALITY AS i (kind, version, payload, sort_type, sort_key, not_before, expires_at, tag, gate,
                                       key, policy, keep, depth, place)
        ) AS c
        WHERE c.code IS NOT NULL
        LIMIT 1;
    EXCEPTION
        WHEN invalid_text_representation OR untranslatable_character OR statement_too_complex THEN
            code := 'payloadNotJSON';
        WHEN character_not_in_repertoire THEN
            code := 'invalidOptions';
    END;
    IF code IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = code,
            MESSAGE = CASE code
                WHEN 'invalidKind' THEN 'a kind is empty or has more than 255 bytes'
                WHEN 'invalidVersion' THEN 'the version of a payload is less than 1'
                WHEN 'payloadNotJSON' THEN 'a payload is not JSON, or is nested deeper than 512'
                WHEN 'invalidGate' THEN 'the name of a gate is empty or has more than 255 bytes'
                WHEN 'sortKeyNotANumber' THEN 'a sort key is not a number, so it has no order'
                ELSE 'an option is outside its limits'
            END || coalesce(' (action ' || wrong || ' of the call)', ''),
            HINT = CASE code
                WHEN 'invalidOptions' THEN 'Tags and keys have 1 to 255 bytes; times are in the years 1 to 9999, '
                    'depths not negative; a key is kept for 0 or longer, by the policy keep, refuse or replace; a sort '
                    'key has the bytes of its type.'
                ELSE 'Nothing was stored. Correct the action and enqueue it again.'
            END;
    END IF;
END
$$;

-- Whether an action may be refused, may replace another, or changes the type of its queue's sort keys. Usually none
-- does, and a few statements store all. sluice_enqueue_many alone calls this and the functions before and after it; a
-- SET clause would take longer than most of them.
CREATE FUNCTION sluice_needs_care(queue_ids bigint[], sort_types text[], keys text[], depths integer[]) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    needs_care boolean;
BEGIN
    needs_care := EXISTS (
        SELECT FROM (SELECT DISTINCT i.queue_id, coalesce(i.sort_type, 'arrival') AS sort_type
                     FROM unnest(queue_ids, sort_types) AS i (queue_id, sort_type)) AS i
        JOIN sluice_queue_rows AS q ON q.queue_id = i.queue_id
        WHERE q.sort_type <> i.sort_type);
    -- Most calls have no keys and no depths: a condition within the query would not save its start.
    IF NOT needs_care AND array_remove(keys, NULL) <> '{}' THEN
        SELECT count(*) <> count(DISTINCT (i.queue_id, i.key))
            OR bool_or(EXISTS (SELECT FROM sluice_key_rows AS k WHERE k.queue_id = i.queue_id AND k.key = i.key))
        INTO needs_care FROM unnest(queue_ids, keys) AS i (queue_id, key) WHERE i.key IS NOT NULL;
    END IF;
    IF NOT needs_care AND array_remove(depths, NULL) <> '{}' THEN
        SELECT bool_or(i.limit_ IS NOT NULL AND sluice_depth(i.queue_id, i.limit_) + i.added > i.limit_)
        INTO needs_care
        FROM (SELECT n.queue_id, min(n.depth) AS limit_, count(*) AS added
              FROM unnest(queue_ids, depths) AS n (queue_id, depth) GROUP BY n.queue_id) AS i;
    END IF;
    RETURN needs_care;
END
$$;

-- Stores the keys of actions, none of which is refused.
CREATE FUNCTION sluice_store_keys(queue_ids bigint[], keys text[], ids bigint[], key_keep interval[]) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO sluice_key_rows AS k (queue_id, key, action_id, keep)
    SELECT i.queue_id, i.key, i.id, least(coalesce(i.keep, interval '0'), interval '36600 days')
    FROM unnest(queue_ids, keys, ids, key_keep) AS i (queue_id, key, id, keep) WHERE i.key IS NOT NULL
    -- With an old snapshot the key may only seem free: then this is an error of serialization.
    ON CONFLICT ON CONSTRAINT sluice_key_rows_pkey DO UPDATE
    SET action_id = excluded.action_id, keep = excluded.keep, until = NULL, has_succeeded = false;
END
$$;

-- Notes the ids of a call under its token, for sluice_token.
CREATE FUNCTION sluice_take_token(token uuid, ids bigint[], refusals text[], at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO sluice_token_rows (token, ids, at)
    SELECT sluice_take_token.token, array_agg(CASE WHEN i.refused IS NULL THEN i.id END ORDER BY i.place),
           sluice_take_token.at
    FROM unnest(sluice_take_token.ids, refusals) WITH ORDINALITY AS i (id, refused, place)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SL004', DETAIL = 'staleReceipt',
            MESSAGE = 'the token of this enqueue was used before: it is stored, or was given up',
            HINT = 'Ask sluice_token which, and take a new token for each enqueue.';
    END IF;
END
$$;

-- What a call enqueues one by one: the arrays of sluice_enqueue_many, one element for each action. The functions that
-- get it or one of its entries have no settings of their own: sluice_enqueue_many alone calls them.
CREATE TYPE sluice_batch AS (
    -- The time of the call, read when the queues are locked.
    at timestamptz, nonce bigint, calls integer[], queue_ids bigint[], kinds text[], versions integer[],
    payloads text[], sort_types text[], sort_keys bytea[], fixes_sort boolean[], not_before timestamptz[],
    expires_at timestamptz[], tags text[], gates text[], keys text[], key_policies text[], key_keep interval[],
    traces text[], depths integer[]);

-- One action of it.
CREATE TYPE sluice_entry AS (
    at timestamptz, nonce bigint, queue_id bigint, kind text, version integer, payload text, sort_type text,
    sort_key bytea, fixes_sort boolean, not_before timestamptz, expires_at timestamptz, tag text, gate text, key text,
    policy text, keep interval, trace text, depth integer);

-- Enqueues actions in order, in the caller's transaction. All arrays have one length; NULL stands for an array of NULL.
--   token:        NULL, or a new one by which sluice_token finds out whether the transaction was committed.
--   nonce:        a random number of the call, part of the idempotency keys; NULL: one is drawn.
--   calls:        actions with one number are stored all or none; NULL: each for itself.
--   sort_keys:    as from sluice_sort_bytes. fixes_sort: the type is set by options, so it is the queue's from now on.
--   key_policies: keep (default), refuse or replace, as in DeduplicationKey; key_keep: none by default.
--   depths:       the most actions that the queue may have with this one; those that run or are scheduled count. In
--                 another isolation level than READ COMMITTED they are counted as the transaction sees them.
-- One row for each action: its id, and whether it was stored or has replaced one that waits (is_new). A refused action
-- costs the other calls nothing: its refusal is queueFull, duplicateKey (then id is that of the key's action) or
-- sortKeyMismatch, and the other actions of its call have no id.
--
-- The lane of a replaced action, and of a queue whose keys are converted, is locked until the transaction ends, and
-- the next step of the worker that runs the lane waits for it: do not leave a transaction open after a replace. Nothing
-- else here stops a queue from running.
CREATE FUNCTION sluice_enqueue_many(
    token uuid, nonce bigint, calls integer[], queues text[], kinds text[], versions integer[], payloads text[],
    sort_types text[], sort_keys bytea[], fixes_sort boolean[], not_before timestamptz[], expires_at timestamptz[],
    tags text[], gates text[], keys text[], key_policies text[], key_keep interval[], traces text[], depths integer[])
RETURNS TABLE (place integer, id bigint, is_new boolean, refusal text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    now_ timestamptz;
    queue_ids bigint[];
    has_keys boolean := coalesce(array_remove(keys, NULL) <> '{}', false);
    is_singly boolean;
    one_by_one record;
    ids bigint[];
    news boolean[];
    refusals text[];
    before text;
BEGIN
    nonce := coalesce(nonce, hashtextextended(gen_random_uuid()::text, 0));
    IF coalesce(cardinality(queues), 0) = 0 THEN
        RETURN;
    END IF;
    IF (cardinality(queues) = ALL (array_remove(ARRAY[
            coalesce(cardinality(kinds), 0), coalesce(cardinality(payloads), 0), cardinality(calls),
            cardinality(versions), cardinality(sort_types), cardinality(sort_keys), cardinality(fixes_sort),
            cardinality(not_before), cardinality(expires_at), cardinality(tags), cardinality(gates), cardinality(keys),
            cardinality(key_policies), cardinality(key_keep), cardinality(traces), cardinality(depths)], NULL)))
        IS NOT TRUE
    THEN
        RAISE EXCEPTION USING ERRCODE = 'SL003', DETAIL = 'invalidOptions',
            MESSAGE = 'the arrays of an enqueue do not have one length',
            HINT = 'Give as many of each as there are queues, or NULL. Kinds and payloads are needed.';
    END IF;
    PERFORM sluice_check_actions(kinds, versions, payloads, sort_types, sort_keys, not_before, expires_at, tags, gates,
                                 keys, key_policies, key_keep, depths);
    before := sluice_limit_waits();
    queue_ids := sluice_make_queues(queues, sort_types);
    -- From here on the appends of others to these queues wait. Each statement below sees what they have committed.
    PERFORM sluice_lock_queues(ARRAY(SELECT DISTINCT q.queue_id FROM unnest(queue_ids) AS q (queue_id)));
    now_ := sluice_now();
    is_singly := sluice_needs_care(queue_ids, sort_types, keys, depths);
    IF is_singly THEN
        one_by_one := sluice_enqueue_singly(ROW(
            now_, nonce, calls, queue_ids, kinds, versions, payloads, sort_types, sort_keys, fixes_sort, not_before,
            expires_at, tags, gates, keys, key_policies, key_keep, traces, depths));
        ids := one_by_one.ids;
        news := one_by_one.news;
        refusals := one_by_one.refusals;
        PERFORM sluice_arrive(one_by_one.rewinds, true);
        PERFORM sluice_arrive(ARRAY(SELECT i.queue_id FROM unnest(queue_ids, news) AS i (queue_id, is_new)
                                    WHERE i.is_new), false);
    ELSE
        WITH stored AS (
            INSERT INTO sluice_action_rows AS a (queue_id, sort_key, not_before, expires_at, enqueued_at, nonce, kind,
                                                 version, payload, tag, gate, trace)
            SELECT i.queue_id, coalesce(i.sort_key, '\x80'), CASE WHEN i.not_before > now_ THEN i.not_before END,
                   i.expires_at, now_, sluice_enqueue_many.nonce, i.kind, coalesce(i.version, 1), i.payload, i.tag,
                   i.gate, i.trace
            FROM unnest(queue_ids, sort_keys, not_before, expires_at, kinds, versions, payloads, tags, gates, traces)
                 WITH ORDINALITY AS i (queue_id, sort_key, not_before, expires_at, kind, version, payload, tag, gate,
                                       trace, place)
            ORDER BY i.place
            RETURNING a.id)
        -- Ids rise in the order of the rows.
        SELECT array_agg(s.id ORDER BY s.id) INTO ids FROM stored AS s;
        IF has_keys THEN
            PERFORM sluice_store_keys(queue_ids, keys, ids, key_keep);
        END IF;
        PERFORM sluice_arrive(queue_ids, false);
    END IF;
    IF token IS NOT NULL THEN
        PERFORM sluice_take_token(token, ids, refusals, now_);
    END IF;
    PERFORM set_config('lock_timeout', before, true);
    RETURN QUERY
        SELECT i.place::integer, i.id, coalesce(i.is_new, is_singly IS NOT TRUE), i.refusal
        FROM unnest(ids, news, refusals) WITH ORDINALITY AS i (id, is_new, refusal, place);
END
$$;

-- Locks the lanes of actions that a call replaces, and of queues whose keys it converts: as in an operator's act, none
-- of them may start before it has committed.
CREATE FUNCTION sluice_lock_changed(batch sluice_batch) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    lanes bigint[];
BEGIN
    lanes := ARRAY(
        SELECT DISTINCT n.queue_id
        FROM unnest(batch.queue_ids, batch.keys, batch.key_policies, batch.fixes_sort, batch.sort_types)
             AS n (queue_id, key, policy, fixes, sort_type)
        JOIN sluice_queue_rows AS q ON q.queue_id = n.queue_id
        WHERE (n.fixes AND q.sort_type <> coalesce(n.sort_type, 'arrival'))
           OR (n.policy = 'replace' AND EXISTS (SELECT FROM sluice_key_rows AS k
                                                WHERE k.queue_id = n.queue_id AND k.key = n.key)));
    IF lanes <> '{}' THEN
        -- A queue that no step has seen yet has no lane. Its arrival makes the lane ready.
        INSERT INTO sluice_lane_rows (queue_id, pool)
        SELECT q.queue_id, q.pool FROM sluice_queue_rows AS q
        WHERE q.queue_id = ANY (lanes)
          AND NOT EXISTS (SELECT FROM sluice_lane_rows AS l WHERE l.queue_id = q.queue_id)
        ORDER BY q.queue_id
        ON CONFLICT DO NOTHING;
        PERFORM FROM sluice_lane_rows AS l WHERE l.queue_id = ANY (lanes) ORDER BY l.queue_id FOR NO KEY UPDATE;
    END IF;
END
$$;

-- Enqueues actions one after the other, for queues that are locked: where one may be refused, or may replace another.
-- ids, news and refusals are as in the rows of sluice_enqueue_many; rewinds are queues whose keys were converted.
CREATE FUNCTION sluice_enqueue_singly(batch sluice_batch, OUT ids bigint[], OUT news boolean[], OUT refusals text[],
                                      OUT rewinds bigint[])
LANGUAGE plpgsql
AS $$
DECLARE
    count_ CONSTANT integer := cardinality(batch.queue_ids);
    entries CONSTANT sluice_entry[] := ARRAY(
        SELECT ROW(batch.at, batch.nonce, i.queue_id, i.kind, i.version, i.payload, i.sort_type, i.sort_key,
                   i.fixes_sort, i.not_before, i.expires_at, i.tag, i.gate, i.key, i.policy, i.keep, i.trace,
                   i.depth)::sluice_entry
        FROM unnest(batch.queue_ids, batch.kinds, batch.versions, batch.payloads, batch.sort_types, batch.sort_keys,
                    batch.fixes_sort, batch.not_before, batch.expires_at, batch.tags, batch.gates, batch.keys,
                    batch.key_policies, batch.key_keep, batch.traces, batch.depths)
             WITH ORDINALITY AS i (queue_id, kind, version, payload, sort_type, sort_key, fixes_sort, not_before,
                                   expires_at, tag, gate, key, policy, keep, trace, depth, place)
        ORDER BY i.place);
    places integer[];
    i integer;
    one record;
    old_ids bigint[];
    old_rewinds bigint[];
BEGIN
    ids := array_fill(NULL::bigint, ARRAY[count_]);
    news := array_fill(false, ARRAY[count_]);
    refusals := array_fill(NULL::text, ARRAY[count_]);
    rewinds := '{}';
    PERFORM sluice_lock_changed(batch);
    FOR places IN
        SELECT array_agg(n.place::integer ORDER BY n.place)
        FROM unnest(batch.queue_ids, batch.calls) WITH ORDINALITY AS n (queue_id, call, place)
        GROUP BY n.call, CASE WHEN n.call IS NULL THEN n.place END
        ORDER BY min(n.place)
    LOOP
        IF cardinality(places) = 1 THEN
            i := places[1];
            one := sluice_enqueue_one(entries[i]);
            ids[i] := one.id;
            news[i] := one.is_new;
            refusals[i] := one.refusal;
            IF one.is_converted THEN
                rewinds := rewinds || entries[i].queue_id;
            END IF;
            CONTINUE;
        END IF;
        -- The savepoint undoes what a call has stored before one of its actions is refused. A call of one needs none:
        -- a transaction with more than 64 of them slows all others down.
        old_ids := ids;
        old_rewinds := rewinds;
        BEGIN
            FOREACH i IN ARRAY places LOOP
                one := sluice_enqueue_one(entries[i]);
                IF one.refusal IS NOT NULL THEN
                    RAISE EXCEPTION USING ERRCODE = 'SL006', MESSAGE = one.refusal;
                END IF;
                ids[i] := one.id;
                news[i] := one.is_new;
                IF one.is_converted THEN
                    rewinds := rewinds || entries[i].queue_id;
                END IF;
            END LOOP;
        EXCEPTION WHEN SQLSTATE 'SL006' THEN
            -- Variables keep their values when a savepoint is undone.
            ids := old_ids;
            rewinds := old_rewinds;
            ids[i] := one.id;
            refusals[i] := one.refusal;
            FOREACH i IN ARRAY places LOOP
                news[i] := false;
            END LOOP;
        END;
    END LOOP;
END
$$;

-- The action that has a key in its queue, if one has it, and whether that can be replaced: it neither runs nor is
-- cancelled.
CREATE FUNCTION sluice_find_key(entry sluice_entry, OUT id bigint, OUT waits boolean)
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT k.action_id, k.is_there
        AND NOT EXISTS (SELECT FROM sluice_claim_rows AS c WHERE c.action_id = k.action_id)
        AND NOT EXISTS (SELECT FROM sluice_state_rows AS s WHERE s.action_id = k.action_id AND s.is_cancelled)
    INTO id, waits
    FROM (SELECT t.action_id, t.until,
                 EXISTS (SELECT FROM sluice_action_rows AS a WHERE a.id = t.action_id) AS is_there
          FROM sluice_key_rows AS t WHERE t.queue_id = entry.queue_id AND t.key = entry.key) AS k
    WHERE k.is_there OR k.until > entry.at;
    -- The clock was set back: the key is kept for its time, counted from now.
    UPDATE sluice_key_rows AS k SET until = entry.at + k.keep
    WHERE k.queue_id = entry.queue_id AND k.key = entry.key AND k.until > entry.at + k.keep;
END
$$;

-- Replaces a waiting action that has the same key.
CREATE FUNCTION sluice_replace(entry sluice_entry, id bigint) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE sluice_action_rows AS a
    SET kind = entry.kind, version = coalesce(entry.version, 1), payload = entry.payload, tag = entry.tag,
        gate = entry.gate, expires_at = entry.expires_at
    WHERE a.id = sluice_replace.id;
    UPDATE sluice_key_rows AS k SET keep = entry.keep WHERE k.queue_id = entry.queue_id AND k.key = entry.key;
    -- Clears blocks that the old values alone may have caused; a parked queue stays parked. The arrival makes the lane
    -- ready.
    UPDATE sluice_lane_rows AS l
    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at = NULL, blocked_error = NULL
    WHERE l.queue_id = entry.queue_id AND l.blocked_action_id = sluice_replace.id
      AND l.blocked_by IN ('undecodable', 'unknown kind', 'no route', 'gate', 'permit', 'rate');
END
$$;

-- Gives a queue the type of an action's sort key, if it has another: an empty queue, or one whose keys are converted
-- since the type is set by options. Returns whether the type fits now, and whether keys were converted.
CREATE FUNCTION sluice_fit_sort_type(entry sluice_entry, OUT fits boolean, OUT is_converted boolean)
LANGUAGE plpgsql
AS $$
DECLARE
    new_type CONSTANT text := coalesce(entry.sort_type, 'arrival');
    old_type CONSTANT text := (SELECT q.sort_type FROM sluice_queue_rows AS q WHERE q.queue_id = entry.queue_id);
BEGIN
    fits := true;
    is_converted := false;
    IF old_type = new_type THEN
        RETURN;
    END IF;
    is_converted := sluice_depth(entry.queue_id, 1) > 0;
    -- An action that moves here when its attempt ends has a key of the old type.
    IF EXISTS (SELECT FROM sluice_state_rows AS s WHERE s.moves_to = entry.queue_id)
        OR is_converted AND entry.fixes_sort IS NOT TRUE
    THEN
        fits := false;
        is_converted := false;
        RETURN;
    END IF;
    -- With an old snapshot the queue may only seem empty.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'SL005', DETAIL = 'sortKeyMismatch',
            MESSAGE = 'the type of a queue''s sort keys cannot change in a transaction that is '
                || current_setting('transaction_isolation'),
            HINT = 'Enqueue the first action of this type in READ COMMITTED.';
    END IF;
    IF is_converted THEN
        PERFORM sluice_convert_keys(entry.queue_id, old_type, new_type);
    END IF;
    UPDATE sluice_queue_rows AS q SET sort_type = new_type WHERE q.queue_id = entry.queue_id;
END
$$;

-- Enqueues one action: its id or that of the action which has its key, what the rows of sluice_enqueue_many say, and
-- whether the keys of its queue were converted.
CREATE FUNCTION sluice_enqueue_one(entry sluice_entry, OUT id bigint, OUT is_new boolean, OUT refusal text,
                                   OUT is_converted boolean)
LANGUAGE plpgsql
AS $$
DECLARE
    type record;
    same record;
    waits boolean;
BEGIN
    is_new := false;
    is_converted := false;
    entry.keep := least(coalesce(entry.keep, interval '0'), interval '36600 days');
    IF entry.key IS NOT NULL THEN
        same := sluice_find_key(entry);
        id := same.id;
        waits := same.waits;
    END IF;
    IF id IS NOT NULL AND entry.policy = 'refuse' THEN
        refusal := 'duplicateKey';
        RETURN;
    ELSIF id IS NOT NULL AND coalesce(entry.policy, 'keep') = 'keep' THEN
        RETURN;
    ELSIF id IS NOT NULL AND waits THEN
        PERFORM sluice_replace(entry, id);
        is_new := true;
        RETURN;
    END IF;

    id := NULL;
    IF entry.depth IS NOT NULL AND sluice_depth(entry.queue_id, entry.depth) >= entry.depth THEN
        refusal := 'queueFull';
        RETURN;
    END IF;
    type := sluice_fit_sort_type(entry);
    IF NOT type.fits THEN
        refusal := 'sortKeyMismatch';
        RETURN;
    END IF;
    is_converted := type.is_converted;
    INSERT INTO sluice_action_rows AS a (queue_id, sort_key, not_before, expires_at, enqueued_at, nonce, kind, version,
                                         payload, tag, gate, trace)
    VALUES (entry.queue_id, coalesce(entry.sort_key, '\x80'),
            CASE WHEN entry.not_before > entry.at THEN entry.not_before END, entry.expires_at, entry.at, entry.nonce,
            entry.kind, coalesce(entry.version, 1), entry.payload, entry.tag, entry.gate, entry.trace)
    RETURNING a.id INTO id;
    is_new := true;
    IF entry.key IS NOT NULL THEN
        INSERT INTO sluice_key_rows AS k (queue_id, key, action_id, keep)
        VALUES (entry.queue_id, entry.key, id, entry.keep)
        ON CONFLICT ON CONSTRAINT sluice_key_rows_pkey DO UPDATE
        SET action_id = excluded.action_id, keep = excluded.keep, until = NULL, has_succeeded = false;
    END IF;
END
$$;

-- Enqueues an action in the caller's transaction, and returns its id. A role needs USAGE of the schema and EXECUTE of
-- this function alone. The transaction holds the queue until it ends: other enqueues of the queue wait for it, up to 10
-- seconds, while workers go on.
--   sort_key: a text, of the type sort_type: integer, date (ISO 8601, or microseconds since 1970), real, text or
--             composite:…; neither: in the order of arrival.
--   not_before, expires_at: when the action gets its place; when it may not start any more.
--   key:       if the queue has an action with this key, or had one within key_kept of its end, that one's id is
--              returned and nothing is stored.
--   gate:      a gate that must be open for the action to start.
--   max_depth: the most actions that the queue may have with this one.
-- Errors: SL003 invalid values, SL006 refused (DETAIL queueFull or sortKeyMismatch), 55P03 (DETAIL databaseLocked).
CREATE FUNCTION sluice_enqueue(
    queue text, kind text, payload json, sort_key text DEFAULT NULL, sort_type text DEFAULT 'arrival',
    not_before timestamptz DEFAULT NULL, expires_at timestamptz DEFAULT NULL, key text DEFAULT NULL,
    key_kept interval DEFAULT '1 day', tag text DEFAULT NULL, gate text DEFAULT NULL, version integer DEFAULT 1,
    max_depth integer DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
AS $$
DECLARE
    action bigint;
    refused text;
BEGIN
    SELECT r.id, r.refusal INTO action, refused
    FROM sluice_enqueue_many(
        NULL, NULL, NULL, ARRAY[queue], ARRAY[kind], ARRAY[version],
        ARRAY[payload::text], ARRAY[sort_type], ARRAY[sluice_sort_bytes(sort_type, sort_key)], NULL, ARRAY[not_before],
        ARRAY[expires_at], ARRAY[tag], ARRAY[gate], ARRAY[key], NULL, ARRAY[key_kept], NULL, ARRAY[max_depth]) AS r;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SL006', DETAIL = refused,
            MESSAGE = CASE refused
                WHEN 'queueFull' THEN format('the queue %L may have at most %s actions', queue, max_depth)
                ELSE format('the actions of the queue %L have another type of sort key than %s', queue, sort_type)
            END,
            HINT = CASE refused WHEN 'queueFull' THEN 'Enqueue it later.'
                                ELSE 'Give a key of their type, or wait until the queue is empty.' END;
    END IF;
    RETURN action;
END
$$;

-- Whether the transaction that enqueued with a token was committed: the ids of its actions in order (NULL: refused). If
-- it was not, NULL: it cannot be committed any more, as its token is taken. Waits for one that is about to commit. The
-- token must be less than an hour old: then chores delete it.
CREATE FUNCTION sluice_token(token uuid) RETURNS TABLE (ids bigint[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    before text := sluice_limit_waits();
BEGIN
    INSERT INTO sluice_token_rows (token, ids, at) VALUES (sluice_token.token, '{}', sluice_now())
    ON CONFLICT DO NOTHING;
    PERFORM set_config('lock_timeout', before, true);
    RETURN QUERY SELECT nullif(t.ids, '{}') FROM sluice_token_rows AS t WHERE t.token = sluice_token.token;
END
$$;
