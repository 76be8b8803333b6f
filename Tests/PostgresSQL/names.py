"""What an enqueue accepts: names, kinds, payloads and other values (G10, G13)."""

import datetime
import json

import psycopg2

from checks import check, group


@group
def names(db):
    for pattern, name, matches in [
        ("a/*", "a/b", True),
        ("a/*", "a/b/c", True),
        ("a/*", "a", False),
        ("a/*", "ab/c", False),
        ("*", "x", True),
        ("x", "x", True),
        ("x", "x/y", False),
        ("a/*", "a/", True),
    ]:
        check(
            f"the pattern {pattern} {'matches' if matches else 'does not match'} {name}",
            db.value("SELECT sluice_matches(%s,%s)", pattern, name),
            matches,
        )
    db.run("INSERT INTO sluice_pool_rows (pattern) VALUES ('*'),('a/*'),('a/b/*'),('a/b/c'),('ä/*')")

    def pool(name):
        return db.value("SELECT p.pattern FROM sluice_pool_rows p WHERE p.pool=sluice_pool_of(%s)", name)

    check(
        "the pool is that of the exact pattern, then of the longest prefix, then of *",
        [pool(name) for name in ("a/b/c", "a/b/c/d", "a/x", "z", "a", "ä/ö")],
        ["a/b/c", "a/b/*", "a/*", "*", "*", "ä/*"],
    )
    db.run("DELETE FROM sluice_pool_rows WHERE pattern='*'")
    check("a name without a pattern has the pool 0", db.value("SELECT sluice_pool_of('z')"), 0)
    for name in ["", "a*", "*", "a/*", "é" * 257, None]:
        check(
            f"the queue name {str(name)[:8]!r} is refused as invalidQueueName",
            db.error("SELECT sluice_enqueue(%s,'k','{}')", name),
            ("SL003", "invalidQueueName"),
        )
    check("a queue name of 512 bytes is taken", db.value("SELECT sluice_enqueue(%s,'k','{}')", "é" * 256) > 0)
    for kind in ["", "x" * 256, "é" * 128, None]:
        check(
            f"a kind of {'no' if kind is None else len(kind.encode())} bytes is refused as invalidKind",
            db.error("SELECT sluice_enqueue('q',%s,'{}')", kind),
            ("SL003", "invalidKind"),
        )


@group
def payloads(db):
    kept = ['{"a": 1,  "a":2}', '"\\u0000"', "null", "1e400", '"\\ud800"', "[]"]
    db.many(["q"] * len(kept), payloads=kept)
    check(
        "payloads are kept as written, also with \\u0000, lone surrogates and double names",
        db.column("SELECT payload FROM sluice_action_rows ORDER BY id"),
        kept,
    )
    for payload in [
        "{secret",
        "",
        "NaN",
        '{"secret":1,}',
        "{'secret':1}",
        "1 2 secret",
        '"secret\nx"',
        None,
        "\ufeff{}",
    ]:
        try:
            db.many(["q"], payloads=[payload])
            refusal = None
        except psycopg2.Error as error:
            refusal = error.pgcode, error.diag.message_detail, "secret" in str(error)
        sentence = f"the payload {payload!r} is refused as payloadNotJSON, and is not shown (G13)"
        check(sentence, refusal, ("SL003", "payloadNotJSON", False))
    check("a payload of 512 levels is stored", len(db.many(["q"], payloads=["[" * 512 + "]" * 512])), 1)

    check(
        "deep payloads are refused",
        [db.many_error(["q"], payloads=["[" * n + "]" * n]) for n in (513, 100000)],
        [("SL003", "payloadNotJSON")] * 2,
    )
    check("brackets in strings are not levels", db.many_error(["q"], payloads=[json.dumps('[{\\"' * 2000)]), None)
    check(
        "objects and arrays count as levels alike",
        [db.many_error(["q"], payloads=['[{"a":' * n + "1" + "}]" * n]) for n in (256, 257)],
        [None, ("SL003", "payloadNotJSON")],
    )
    check("a wide payload is not deep", db.many_error(["q"], payloads=[json.dumps([[1]] * 2000)]), None)


@group
def other_values(db):
    for column, values, code in [
        ("versions", [0], "invalidVersion"),
        ("tags", [""], "invalidOptions"),
        ("tags", ["x" * 256], "invalidOptions"),
        ("gates", [""], "invalidGate"),
        ("gates", ["x" * 256], "invalidGate"),
        ("keys", [""], "invalidOptions"),
        ("keys", ["x" * 256], "invalidOptions"),
        ("not_before", ["infinity"], "invalidOptions"),
        ("expires_at", ["-infinity"], "invalidOptions"),
        ("not_before", ["10000-01-01 00:00+00"], "invalidOptions"),
        ("expires_at", ["294276-12-31 23:59:59+00"], "invalidOptions"),
        ("expires_at", ["0001-12-31 00:00+00 BC"], "invalidOptions"),
    ]:
        check(
            f"{column} {str(values[0])[:9]!r} is refused as {code}",
            db.many_error(["q"], **{column: values}),
            ("SL003", code),
        )
    check(
        "a negative time of a key and an unknown policy are refused",
        [
            db.many_error(["q"], keys=["x"], key_keep=["-1 s"]),
            db.many_error(["q"], keys=["x"], key_policies=["other"]),
        ],
        [("SL003", "invalidOptions")] * 2,
    )
    check(
        "sort keys whose bytes do not fit their type are refused",
        [
            db.many_error(["z"], sort_types=[t], sort_keys=[b])
            for t, b in (
                ("arrival", b"x"),
                ("integer", b"1234567"),
                ("date", None),
                ("real", b"\xff" * 8),
                ("text", b"\xff"),
                ("text", None),
                ("composite:integer,integer", b"1\t2"),
                ("other", b""),
            )
        ],
        [
            ("SL003", c)
            for c in (
                "invalidOptions",
                "invalidOptions",
                "invalidOptions",
                "sortKeyNotANumber",
                "invalidOptions",
                "invalidOptions",
                "invalidOptions",
                "invalidOptions",
            )
        ],
    )
    check(
        "arrays of different lengths are refused",
        [
            db.many_error(["q", "q"], tags=["t"]),
            db.many_error(["q", "q"], kinds=["k"]),
            db.many_error(["q"], kinds=None),
        ],
        [("SL003", "invalidOptions")] * 3,
    )
    check("no actions are no error", db.many([]), [])
    check(
        "a refused call stores no queue either", db.value("SELECT count(*) FROM sluice_queue_rows WHERE name='z'"), 0
    )
    db.all("SELECT sluice_enqueue('forever','k','{}',key=>'x',key_kept=>'170000 years')")
    check(
        "a key that is kept for longer than 100 years is kept for 36,600 days",
        db.value("SELECT keep FROM sluice_key_rows WHERE key='x'"),
        datetime.timedelta(days=36600),
    )
    db.reset()
    db.all(
        "SELECT sluice_enqueue('t','k','{}',not_before=>now()-interval '1 h'),"
        " sluice_enqueue('t','k','{}',not_before=>now()+interval '1"
        " h',expires_at=>'2100-01-01',tag=>'tag',gate=>'g',version=>3)"
    )
    check(
        "a time in the past is none, a later one is stored with the other values",
        db.all(
            "SELECT not_before IS NULL, expires_at::date::text, tag, gate, version FROM sluice_action_rows ORDER"
            " BY id"
        ),
        [(True, None, None, None, 1), (False, "2100-01-01", "tag", "g", 3)],
    )
