-- Names, sort keys, enqueues and tokens, and the internal functions that 0003 to 0005 use too.
--
-- A temporary table hides a table of the same name unless pg_temp is named last. Each function keeps this path, so that
-- neither the caller's path nor a temporary table changes what a function with the owner's rights does.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- MARK: Names

-- Whether a pattern (a queue's name, a prefix that ends in /*, or *) matches a queue's name.
CREATE FUNCTION sluice_matches(pattern text, name text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pattern = name OR pattern = '*' OR (right(pattern, 2) = '/*' AND starts_with(name, left(pattern, -1)));

-- The pool of a queue's name: that of the exact pattern, else of the longest; 0 if no pattern matches. A transaction
-- that adds a pattern and one that creates a queue do not see each other before they commit: a step that creates the
-- lane calls this function again, and locks sluice_pool_rows against the other.
CREATE FUNCTION sluice_pool_of(name text) RETURNS integer
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
    SELECT coalesce(
        (SELECT p.pool FROM sluice_pool_rows AS p
         WHERE p.pattern = ANY (ARRAY[sluice_pool_of.name, '*']
                                || ARRAY(SELECT left(sluice_pool_of.name, i) || '*'
                                         FROM generate_series(1, length(sluice_pool_of.name)) AS i
                                         WHERE substr(sluice_pool_of.name, i, 1) = '/'))
         ORDER BY p.pattern = sluice_pool_of.name DESC, octet_length(p.pattern) DESC LIMIT 1),
        0)
$$;

-- MARK: Sort keys

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
    -- Rounded down: the division of a negative rounds up.
    fraction bigint := (microseconds % 1000000 + 1000000) % 1000000;
    second bigint := (microseconds - fraction) / 1000000;
    second_of_day bigint;
    day date;
    year integer;
BEGIN
    IF microseconds NOT BETWEEN -62167219200000000 AND 253402300799999999 THEN
        RETURN microseconds::text;
    END IF;
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
        RETURN '';
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

-- MARK: Ends of actions

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
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    UPDATE sluice_key_rows AS k SET until = sluice_now() + k.keep, has_succeeded = succeeded
    WHERE k.action_id = ANY (actions) AND k.until IS NULL;
END
$$;

-- Deletes actions that have succeeded or are removed, with their state and attempts. Whoever calls it has the lanes'
-- locks.
CREATE FUNCTION sluice_drop(actions bigint[], succeeded boolean) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
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
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off
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

-- MARK: Arrivals

-- Rings the doorbell if a worker waits. NOTIFY takes one lock for the whole server at commit, so it is not rung while
-- all workers are busy. The channel has the schema's name, cut off like all names of PostgreSQL.
CREATE FUNCTION sluice_ring() RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    IF EXISTS (SELECT FROM sluice_worker_rows AS w WHERE w.waits) THEN
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

-- MARK: Queues

-- Locks queues for an append, in one order: the appends of a queue wait for each other until their transactions end,
-- and only then is an id taken. So the ids of a queue rise in the order of the commits. A wait ends after 10 seconds,
-- or the caller's lock_timeout if that is shorter. Ids that are not there are ignored.
CREATE FUNCTION sluice_lock_queues(queues bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    blockers text;
BEGIN
    -- One queue that is free needs no savepoint: a transaction with more than 64 of them slows all others down.
    IF cardinality(queues) = 1 THEN
        PERFORM FROM sluice_queue_rows AS q WHERE q.queue_id = queues[1] FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    -- The setting ends with this function.
    IF current_setting('lock_timeout')::interval NOT BETWEEN interval '1 ms' AND interval '10 s' THEN
        PERFORM set_config('lock_timeout', '10s', true);
    END IF;
    BEGIN
        PERFORM FROM sluice_queue_rows AS q WHERE q.queue_id = ANY (queues) ORDER BY q.queue_id FOR NO KEY UPDATE;
    EXCEPTION WHEN lock_not_available THEN
        -- pg_blocking_pids() knows nothing of a wait that is over; the row names the transaction that has it.
        SELECT string_agg(DISTINCT l.pid::text, ', ') INTO blockers
        FROM sluice_queue_rows AS q
        JOIN pg_locks AS l ON l.locktype = 'transactionid' AND l.transactionid = q.xmax AND l.granted
        WHERE q.queue_id = ANY (queues) AND l.pid <> pg_backend_pid();
        RAISE EXCEPTION USING ERRCODE = '55P03', DETAIL = 'databaseLocked ' || coalesce(blockers, ''),
            MESSAGE = format('another transaction holds a queue: process %s', coalesce(blockers, 'unknown')),
            HINT = 'End its transaction. idle_in_transaction_session_timeout ends those that are left open.';
    END;
END
$$;

-- The queues of these names; creates those that are missing, with these types of sort keys, and locks all. One row for
-- each name, in order; types are as they are after the locking. Acts that add an action to a queue call it too.
CREATE FUNCTION sluice_queues_for(names text[], sort_types text[])
RETURNS TABLE (place integer, queue_id bigint, sort_type text)
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off
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
LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    queues bigint[];
    blockers text;
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
    IF current_setting('lock_timeout')::interval NOT BETWEEN interval '1 ms' AND interval '10 s' THEN
        PERFORM set_config('lock_timeout', '10s', true);
    END IF;
    BEGIN
        -- In the order of their names, before any queue is locked: so no two calls wait for each other.
        INSERT INTO sluice_queue_rows (name, sort_type, pool)
        SELECT n.name, n.sort_type, sluice_pool_of(n.name)
        FROM (SELECT DISTINCT ON (i.name COLLATE "C") i.name, i.sort_type
              FROM unnest(names, sort_types) WITH ORDINALITY AS i (name, sort_type, place)
              WHERE NOT EXISTS (SELECT FROM sluice_queue_rows AS q WHERE q.name = i.name)
              ORDER BY i.name COLLATE "C", i.place) AS n
        ORDER BY n.name COLLATE "C"
        ON CONFLICT DO NOTHING;
    EXCEPTION WHEN lock_not_available THEN
        -- The row that is waited for cannot be seen yet. These transactions have created queues.
        SELECT string_agg(DISTINCT l.pid::text, ', ') INTO blockers FROM pg_locks AS l
        WHERE l.locktype = 'relation' AND l.relation = 'sluice_queue_rows'::regclass AND l.mode = 'RowExclusiveLock'
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND l.granted AND l.pid <> pg_backend_pid();
        RAISE EXCEPTION USING ERRCODE = '55P03', DETAIL = 'databaseLocked ' || coalesce(blockers, ''),
            MESSAGE = format('another transaction creates the same queue: process %s', coalesce(blockers, 'unknown')),
            HINT = 'End its transaction. idle_in_transaction_session_timeout ends those that are left open.';
    END;
    RETURN ARRAY(SELECT q.queue_id FROM unnest(names) WITH ORDINALITY AS n (name, place)
                 LEFT JOIN sluice_queue_rows AS q ON q.name = n.name ORDER BY n.place);
END
$$;
