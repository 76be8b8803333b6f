"""Queues without a worker of their own, for what views say about them."""


def add_route(db, pattern, worker=None, kind=None, gates=(), rate=None, expired="skip"):
    """Has a worker run a pattern; without one the pattern is only known."""
    db.run("INSERT INTO sluice_pool_rows (pattern) VALUES (%s) ON CONFLICT DO NOTHING", pattern)
    if worker:
        db.run(
            "INSERT INTO sluice_route_rows (worker, route, pool, kind, gates, expired, crashed, rate, rate_interval,"
            " rate_tolerance) SELECT %s, 1, pool, %s, %s, %s, 'block', %s, '10 s', '0 s' FROM sluice_pool_rows"
            " WHERE pattern = %s",
            worker,
            kind,
            list(gates),
            expired,
            rate,
            pattern,
        )


def fresh(db, has_worker=True, **route):
    """Nothing but a worker, if any, for all queues; returns it."""
    db.reset()
    worker = db.worker("host-a/17") if has_worker else None
    add_route(db, "*", worker, **route)
    return worker
