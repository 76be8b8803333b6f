"""Sort keys: their bytes have their order, and their texts come back (G2)."""

import datetime
import random
import struct

from checks import check, group

REFUSED = ("SL003", "invalidOptions")


def key_bytes(db, sort_type, text):
    return bytes(db.value("SELECT sluice_sort_bytes(%s, %s)", sort_type, text))


def has_order(db, sort_type, texts):
    """Whether the bytes of keys rise as the keys do."""
    keys = [key_bytes(db, sort_type, text) for text in texts]
    return keys == sorted(set(keys))


def again(db, sort_type, text):
    """A key's text, made of its bytes."""
    return db.value("SELECT sluice_sort_text(%s, sluice_sort_bytes(%s, %s))", sort_type, sort_type, text)


@group
def integers(db):
    numbers = [-(2**63), -(2**63) + 1, -(10**12), -256, -1, 0, 1, 255, 256, 10**12, 2**63 - 2, 2**63 - 1]
    check("bytes of integers have their order, to both ends", has_order(db, "integer", map(str, numbers)))
    check(
        "and their texts come back",
        [again(db, "integer", str(number)) for number in numbers],
        [str(number) for number in numbers],
    )
    for text in ("9223372036854775808", "1.5", "x", "", "1e3", "99999999999999999999999"):
        check(f"{text!r} is no integer", db.error("SELECT sluice_sort_bytes('integer', %s)", text), REFUSED)


def text_of(real):
    if abs(real) == float("inf"):
        return "Infinity" if real > 0 else "-Infinity"
    return repr(real)


def real_of(bits):
    return struct.unpack(">d", struct.pack(">Q", bits))[0]


@group
def reals(db):
    numbers = [
        float("-inf"),
        -1.7976931348623157e308,
        -10000000000.0,
        -1.5,
        -1,
        -5e-324,
        0.0,
        5e-324,
        2.2250738585072014e-308,
        1 / 3,
        1,
        1.5,
        10000000000.0,
        1.7976931348623157e308,
        float("inf"),
    ]
    check("bytes of reals have their order, infinities too", has_order(db, "real", map(text_of, numbers)))
    check("minus zero is zero", key_bytes(db, "real", "-0.0"), key_bytes(db, "real", "0"))
    choice = random.Random(5)
    bits = [choice.getrandbits(64) for _ in range(3000)] + [choice.getrandbits(52) for _ in range(300)]
    numbers = [real for real in map(real_of, bits) if real == real]
    texts = db.column(
        "SELECT sluice_sort_text('real',sluice_sort_bytes('real',v)) FROM unnest(%s::text[]) WITH ORDINALITY AS"
        " u(v,o) ORDER BY o",
        [text_of(real) for real in numbers],
    )
    check("3,300 random reals come back exactly, subnormals among them", [float(text) for text in texts], numbers)
    check(
        "NaN is refused as sortKeyNotANumber",
        db.error("SELECT sluice_enqueue('q','k','{}','NaN','real')"),
        ("SL003", "sortKeyNotANumber"),
    )


@group
def dates(db):
    shown = [
        "0000-01-01T00:00:00.000000Z",
        "0000-02-29T23:59:59.999999Z",
        "1899-12-31T23:59:59.000001Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00.000000Z",
        "2000-02-29T12:00:00.500000Z",
        "2026-11-26T20:00:00.000000Z",
        "9999-12-31T23:59:59.999999Z",
    ]
    check("bytes of dates have their order", has_order(db, "date", shown))
    check(
        "dates of the years 0 to 9999 are shown as ISO 8601 with microseconds",
        [again(db, "date", text) for text in shown],
        shown,
    )
    check(
        "dates outside are numbers, beyond the range of timestamptz too",
        [again(db, "date", str(v)) for v in (-(2**63), 2**63 - 1, -62167219200000001, 253402300800000000)],
        [str(v) for v in (-(2**63), 2**63 - 1, -62167219200000001, 253402300800000000)],
    )
    check(
        "a date is read with a zone, without seconds, as a day, with a space; other digits of the fraction are"
        " cut off",
        [
            db.value("SELECT sluice_date_text(sluice_microseconds(%s))", v)
            for v in (
                "2026-05-01T12:00:00+02:00",
                "2026-05-01T12:00",
                "2026-05-01",
                "2026-05-01 12:00:00.1234567Z",
                "2026-05-01T12:00:00-0130",
                "2026-05-01T12:00:00+02",
            )
        ],
        [
            "2026-05-01T10:00:00.000000Z",
            "2026-05-01T12:00:00.000000Z",
            "2026-05-01T00:00:00.000000Z",
            "2026-05-01T12:00:00.123456Z",
            "2026-05-01T13:30:00.000000Z",
            "2026-05-01T10:00:00.000000Z",
        ],
    )
    for v in (
        "2026-02-29",
        "2026-13-01",
        "2026-00-10",
        "2026-04-31",
        "2026-05-01T24:00",
        "2026-05-01T12:60",
        "yesterday",
        "2026-05-01T12:00:00.",
        "",
        "1900-02-29",
    ):
        check(f"{v!r} is no date", db.error("SELECT sluice_sort_bytes('date',%s)", v), ("SL003", "invalidOptions"))
    choice = random.Random(5)
    days = [choice.randrange(1, 3652059) for _ in range(500)]
    found = [db.value("SELECT sluice_microseconds(%s)", datetime.date.fromordinal(d).isoformat()) for d in days]
    check("500 random days count as in another calendar", found, [(d - 719163) * 86400 * 10**6 for d in days])
    db.all("SET timezone='Asia/Tokyo'; SET datestyle='German'; SET extra_float_digits=0")
    check(
        "settings of the session change nothing",
        [again(db, "date", "2026-05-01T12:00:00Z"), again(db, "real", "0.30000000000000004")],
        ["2026-05-01T12:00:00.000000Z", "0.30000000000000004"],
    )
    db.all("RESET timezone; RESET datestyle; RESET extra_float_digits")


@group
def texts(db):
    check("text has the order of its UTF-8", has_order(db, "text", ["", "A", "a", "aa", "z", "é", "中", "😀"]))
    check(
        "a text key of 2,000 bytes is stored, one of 2,001 is refused",
        [
            db.value(
                "SELECT sluice_enqueue('long','k','{}',%s,'text')",
                "".join(
                    random.choice("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                    for _ in range(2000)
                ),
            )
            > 0,
            db.error("SELECT sluice_enqueue('long','k','{}',%s,'text')", "x" * 2001),
        ],
        [True, ("SL003", "invalidOptions")],
    )


@group
def composite_keys(db):
    sort_type = "composite:date,integer,real,text"
    good = "2026-05-01T12:00:00.000000Z\t0000000000000000007\tbff0000000000000\tab\n*c"
    check(
        "a composite key is the text of the file",
        [key_bytes(db, sort_type, good), again(db, sort_type, good)],
        [good.encode(), good],
    )
    for why, t, v in [
        ("too few parts", "composite:integer,integer", "0000000000000000007"),
        ("an integer of fewer digits", "composite:integer,integer", "7\t0000000000000000007"),
        ("too large an integer", "composite:integer,integer", "9999999999999999999\t0000000000000000007"),
        ("a date without microseconds", "composite:date,integer", "2026-05-01T12:00:00Z\t0000000000000000007"),
        ("a real that is not a number", "composite:real,integer", "ffffffffffffffff\t0000000000000000007"),
        ("a lone escape", "composite:text,integer", "a\n\t0000000000000000007"),
        ("a control that is not escaped", "composite:text,integer", "a\x01\t0000000000000000007"),
    ]:
        check(
            f"a composite key with {why} is refused",
            db.error("SELECT sluice_sort_bytes(%s,%s)", t, v),
            ("SL003", "invalidOptions"),
        )
    check(
        "a composite key may hold a date before the year 0, and after 9999, in order",
        has_order(
            db,
            "composite:date,integer",
            ["-0000000000000000007\t0000000000000000007", ":0253402300800000000\t-0000000000000000007"],
        ),
    )
    for t in (
        "composite:i,t",
        "composite:integer",
        "composite:integer,text,text,text,text",
        "float",
        None,
        "composite:arrival,text",
    ):
        check(
            f"there is no type of key {t}",
            db.error("SELECT sluice_sort_bytes(%s,%s)", t, "1"),
            ("SL003", "invalidOptions"),
        )
    check(
        "a key without a type, and a type without a key, are refused",
        [
            db.error("SELECT sluice_enqueue('q','k','{}','5')"),
            db.error("SELECT sluice_enqueue('q','k','{}',NULL,'date')"),
        ],
        [("SL003", "invalidOptions")] * 2,
    )
