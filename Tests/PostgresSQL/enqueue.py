"""Enqueuing: calls and their refusals, types of keys, dead letters, the doorbell (G2, G12, G14)."""

from checks import check, group


@group
def calls_and_refusals(db):
    rows = db.many(["d", "d", "d", "e"], depths=[2, 2, 2, 2])
    check(
        "a full queue refuses one row, and the others are stored (G12)",
        [(row[2], row[3]) for row in rows],
        [(True, None), (True, None), (False, "queueFull"), (True, None)],
    )
    rows = db.many(["d", "e", "e", "e"], calls=[1, 1, 2, 3], depths=[2, None, None, None])
    check(
        "a call is stored all or none, and its refusal refuses no other call",
        [(row[1] is not None, row[2], row[3]) for row in rows],
        [(False, False, "queueFull"), (False, False, None), (True, True, None), (True, True, None)],
    )
    rows = db.many(["e", "d", "e"], calls=[1, 1, 2], depths=[None, 2, None])
    check(
        "what a call has stored before its refusal is undone",
        [(row[1] is not None, row[2], row[3]) for row in rows]
        + [
            db.value(
                "SELECT count(*) FROM sluice_action_rows a JOIN sluice_queue_rows q USING (queue_id) WHERE q.name='e'"
            )
        ],
        [(False, False, None), (False, False, "queueFull"), (True, True, None), 4],
    )
    ids = [row[1] for row in db.many(["m%d" % (i % 7) for i in range(1000)])]
    check("ids rise in input order", ids == sorted(ids) and len(set(ids)) == 1000)
    check(
        "one arrival for each queue that was named",
        db.all(
            "SELECT count(*), count(DISTINCT queue_id), bool_or(rewind) FROM sluice_arrival_rows a JOIN"
            " sluice_queue_rows q USING (queue_id) WHERE name LIKE 'm%'"
        ),
        [(7, 7, False)],
    )
    db.all(
        "SELECT sluice_enqueue('max','k','{}',max_depth=>2),"
        " sluice_enqueue('max','k','{}',max_depth=>2,not_before=>'2100-01-01')"
    )
    check(
        "depth counts scheduled actions; sluice_enqueue raises SL006 queueFull",
        db.error("SELECT sluice_enqueue('max','k','{}',max_depth=>2)"),
        ("SL006", "queueFull"),
    )


@group
def types_of_keys(db):
    db.all("SELECT sluice_enqueue('s','k','{}','5','integer')")
    check(
        "another type of key is refused as sortKeyMismatch",
        [
            db.error("SELECT sluice_enqueue('s','k','{}')"),
            [
                row[3]
                for row in db.many(
                    ["s", "s", "u"],
                    sort_types=["date", "integer", "text"],
                    sort_keys=[b"\x80" + b"\x00" * 7] * 2 + [b"x"],
                )
            ],
        ],
        [("SL006", "sortKeyMismatch"), ["sortKeyMismatch", None, None]],
    )
    db.run("DELETE FROM sluice_action_rows")
    db.all("SELECT sluice_enqueue('s','k','{}','x','text')")
    check(
        "an empty queue takes the type of its next action",
        db.value("SELECT sort_type FROM sluice_queue_rows WHERE name='s'"),
        "text",
    )
    db.run("DELETE FROM sluice_action_rows")
    db.run(
        "INSERT INTO sluice_state_rows (action_id,moves_to) SELECT 999,queue_id FROM sluice_queue_rows WHERE name='s'"
    )
    check(
        "but not while an action is to move to it",
        db.error("SELECT sluice_enqueue('s','k','{}')"),
        ("SL006", "sortKeyMismatch"),
    )
    db.reset()
    rows = db.many(["n", "n", "n"], sort_types=["text", "integer", "text"], sort_keys=[b"x", b"\x00" * 8, b"y"])
    check(
        "the first action of a new queue sets its type within one call of many",
        [row[3] for row in rows],
        [None, "sortKeyMismatch", None],
    )
    db.reset()
    db.all(
        "SELECT sluice_enqueue('c','k','{}'), sluice_enqueue('c','k','{}'),"
        " sluice_enqueue('c','k','{}',not_before=>'2100-01-01')"
    )
    rows = db.many(["c"], sort_types=["date"], sort_keys=[b"\x80" + b"\x00" * 7], fixes_sort=[True])
    check(
        "options fix the type: keys of arrival become dates of the enqueue, scheduled ones too",
        db.all(
            "SELECT a.sort_key = sluice_sort_bytes('date',(extract(epoch from a.enqueued_at)*1000000)::bigint::text)"
            " FROM sluice_action_rows a WHERE a.id<%s",
            rows[0][1],
        )
        + db.all("SELECT sort_type FROM sluice_queue_rows"),
        [(True,)] * 3 + [("date",)],
    )
    check(
        "and the queue is looked through from its start",
        db.all("SELECT DISTINCT rewind FROM sluice_arrival_rows ORDER BY 1"),
        [(False,), (True,)],
    )
    db.reset()
    db.all(
        "SELECT sluice_enqueue('c','k','{}','2026-01-01','text'), sluice_enqueue('c','k','{}','no date','text'),"
        " sluice_enqueue('c','k','{}','nor this','text')"
    )
    ids = db.column("SELECT id FROM sluice_action_rows ORDER BY id")
    db.run("INSERT INTO sluice_claim_rows VALUES (1,%s,(SELECT queue_id FROM sluice_queue_rows),1,1,now(),0)", ids[2])
    db.run(
        "INSERT INTO sluice_lane_rows (queue_id,pool,blocked_by,blocked_action_id,blocked_at) SELECT"
        " queue_id,0,'failed',%s,now() FROM sluice_queue_rows",
        ids[1],
    )
    db.many(["c"], sort_types=["date"], sort_keys=[b"\x80" + b"\x00" * 7], fixes_sort=[True])
    check(
        "an action whose key cannot be converted becomes a dead letter with its old type and its block is lifted; one"
        " that runs sorts first",
        db.all("SELECT id, cause, sort_type, convert_from(sort_key,'UTF8') FROM sluice_dead_rows")
        + db.all(
            "SELECT id, sluice_sort_text('date',sort_key) FROM sluice_action_rows WHERE id = ANY(%s) ORDER BY id", ids
        )
        + db.all("SELECT blocked_by FROM sluice_lane_rows"),
        [
            (ids[1], "undecodable", "text", "no date"),
            (ids[0], "2026-01-01T00:00:00.000000Z"),
            (ids[2], "-9223372036854775808"),
            (None,),
        ],
    )


@group
def ends_of_actions(db):
    buried, dropped = [
        row[1]
        for row in db.many(
            ["b", "b"],
            sort_types=["text"] * 2,
            sort_keys=[b"x", b"y"],
            tags=["t", "t"],
            gates=["g", "g"],
            traces=["{}", None],
        )
    ]
    db.run("INSERT INTO sluice_state_rows (action_id,attempts) VALUES (%s,2),(%s,1)", buried, dropped)
    db.run(
        "INSERT INTO sluice_attempt_rows VALUES (%s,1,1,'retry','e',now(),now()),(%s,2,1,'retry','e',now(),now())",
        buried,
        dropped,
    )
    db.all("SELECT sluice_bury(%s,'exhausted',%s)", [buried], "é" * 1500)
    db.all("SELECT sluice_drop(%s,true)", [dropped])
    check(
        "a dead letter keeps what the action had and its attempts; a dropped action leaves nothing",
        [
            db.all(
                "SELECT id,sort_type,convert_from(sort_key,'UTF8'),attempts,cause,octet_length(error),tag,gate,trace"
                " FROM sluice_dead_rows"
            ),
            db.all("SELECT action_id FROM sluice_attempt_rows"),
            db.all("SELECT count(*) FROM sluice_action_rows"),
            db.all("SELECT count(*) FROM sluice_state_rows"),
        ],
        [[(buried, "text", "x", 2, "exhausted", 2000, "t", "g", "{}")], [(buried,)], [(0,)], [(0,)]],
    )
    check(
        "an error is cut between characters",
        [
            len(db.value("SELECT sluice_bounded(%s)", t).encode())
            for t in ("x" * 2000, "x" * 2001, "x" + "é" * 1500, "x" + "中" * 1500, "xy" + "😀" * 999, "é")
        ],
        [2000, 2000, 1999, 1999, 1998, 2],
    )


@group
def doorbell(db):
    db.rings()
    db.all("SELECT sluice_enqueue('q','k','{}')")
    check("no doorbell rings if no worker waits", db.rings(), 0)
    db.run(
        "INSERT INTO sluice_worker_rows (name,nonce,lease_until,continuous_since,waits) VALUES"
        " ('w',1,now(),now(),false)"
    )
    db.all("SELECT sluice_enqueue('q','k','{}')")
    check("no doorbell rings while workers are busy", db.rings(), 0)
    db.run("UPDATE sluice_worker_rows SET waits=true")
    db.many(["q", "r", "s"])
    check("the doorbell rings once for a call if a worker waits (G11)", db.rings(), 1)
    prepared = db.another(autocommit=False)
    prepared.run("SET sluice.doorbell = off")
    prepared.enqueue("prepared")
    prepared.run("PREPARE TRANSACTION 'sluice'")
    prepared.commit()
    db.run("COMMIT PREPARED 'sluice'")
    check("a transaction that is prepared can do without it", (db.rings(), len(db.order("prepared"))), (0, 1))
