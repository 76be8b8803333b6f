"""Sluice on PostgreSQL beside plain SQL loops and procrastinate, on one server of its own."""

import argparse
import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from .machine import processor

REPOSITORY = Path(__file__).resolve().parents[2]
LOAD = REPOSITORY / "Benchmarks/PostgresLoad/.build/release/PostgresLoad"
RESULTS = REPOSITORY / "Benchmarks/Results/postgres.md"
# Seconds after which a program is stuck.
PATIENCE = 900

TABLE = """
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, payload text NOT NULL);
CREATE INDEX jobs_queue ON jobs (queue, id);
"""
PAYLOAD = '{"conversation": 1, "text": "A message of the length that people write on their telephones, more or less."}'
# Claims and settles in one statement; a worker that dies gives its rows back. No order within a queue.
SKIP_LOCKED = """
WITH next AS (SELECT id FROM jobs ORDER BY id LIMIT {batch} FOR UPDATE SKIP LOCKED)
DELETE FROM jobs USING next WHERE jobs.id = next.id;
"""
# The same in the order of each queue: only heads are taken.
HEAD_CHECK = """
WITH next AS (
    SELECT id FROM jobs AS j
    WHERE NOT EXISTS (SELECT FROM jobs AS e WHERE e.queue = j.queue AND e.id < j.id)
    ORDER BY id LIMIT {batch} FOR UPDATE SKIP LOCKED)
DELETE FROM jobs USING next WHERE jobs.id = next.id;
"""


class Server:
    """A server with a database for each measurement."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self._process = subprocess.Popen(
            [REPOSITORY / ".ci/postgres", "shared_buffers=1GB", "max_wal_size=8GB", "checkpoint_timeout=15min",
             "autovacuum_naptime=5s"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline().split()
        if not line:
            sys.exit("bench: there is no PostgreSQL server here: install postgresql")
        self.folder = line[0]
        self.version = self.ask("postgres", "SHOW server_version")[0].split()[0]

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    @contextlib.contextmanager
    def database(self):
        name = f"bench{next(self._numbers)}"
        self.ask("postgres", f"CREATE DATABASE {name}")
        try:
            yield name
        finally:
            self.ask("postgres", f"DROP DATABASE {name} WITH (FORCE)")

    def url(self, name):
        return f"postgresql:///{name}?host={self.folder}&user=postgres"

    def ask(self, name, sql):
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(name), "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def pgbench(self, name, script, clients, *limit):
        """Transactions a second of a script."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            os.chmod(file.name, 0o644)
            programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
            program = str(programs[-1]) if programs else "pgbench"
            command = [program, "-n", "-f", file.name, "-c", str(clients), "-j", str(min(clients, 2)), *limit,
                       "-h", self.folder, "-U", "postgres", name]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return next(float(line.split()[2]) for line in output.splitlines() if line.startswith("tps"))


class Workers:
    """Processes of Sluice that run what is there."""

    def __init__(self, url, count, concurrency=64, poll=250, listens=True):
        self._counts = [0] * count
        self.used = [0.0] * count
        self._processes = [
            subprocess.Popen([LOAD, "work", url, str(concurrency), str(poll), str(int(listens))],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        for process in self._processes:
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("a worker did not start")
        self._threads = [threading.Thread(target=self._read, args=(index,)) for index in range(count)]

    def _read(self, index):
        for line in self._processes[index].stdout:
            if line.startswith("used"):
                self.used[index] = float(line.split()[1])
            else:
                self._counts[index] = int(line)

    def start(self):
        for process in self._processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        for thread in self._threads:
            thread.start()

    @property
    def count(self):
        return sum(self._counts)

    def rate(self, warm, target):
        """Actions a second between two counts."""
        start, begun = self._wait(warm)
        end, ended = self._wait(target)
        return (ended - begun) / (end - start)

    def _wait(self, target):
        deadline = time.monotonic() + PATIENCE
        while self.count < target:
            if time.monotonic() > deadline:
                raise RuntimeError(f"only {self.count} of {target} were run")
            time.sleep(0.02)
        return time.monotonic(), self.count

    def stop(self):
        for process in self._processes:
            process.stdin.close()
        for process, thread in zip(self._processes, self._threads):
            thread.join()
            if process.wait(timeout=PATIENCE) != 0:
                raise RuntimeError("a worker has failed")


def enqueue(server, name, callers, batch, count, queues):
    """Actions a second that Sluice stores."""
    command = [LOAD, "enqueue", server.url(name), *map(str, (callers, batch, count, queues))]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    return count / float(output)


def drain(server, queues, workers, backlog, target, prepare=lambda name: None, holder=None, is_known=False):
    """Actions a second that workers of Sluice run of a backlog.

    is_known: only from when they have seen all arrivals, as they would have if they had run before.
    """
    with server.database() as name:
        enqueue(server, name, 8, 1_000, backlog, queues)
        prepare(name)
        server.ask(name, "VACUUM ANALYZE")
        fleet = Workers(server.url(name), workers)
        held = holder(name) if holder else None
        fleet.start()
        if is_known:
            while server.ask(name, "SELECT EXISTS (SELECT FROM sluice.sluice_arrival_rows)") != ["f"]:
                time.sleep(0.1)
            target += fleet.count
        rate = fleet.rate(max(fleet.count, target // 10), target)
        fleet.stop()
        if held:
            held.kill()
            held.wait()
        return rate


def plain(server, script, queues, clients, batch, backlog, *limit):
    """Jobs a second that a plain statement takes of a backlog."""
    with server.database() as name:
        server.ask(name, TABLE)
        server.ask(name, f"""INSERT INTO jobs (queue, payload) SELECT 'conversation/' || n % {queues}, '{PAYLOAD}'
                             FROM generate_series(1, {backlog}) AS n""")
        server.ask(name, "VACUUM ANALYZE")
        start = time.monotonic()
        server.pgbench(name, script.format(batch=batch), clients, *limit)
        took = time.monotonic() - start
        left = int(server.ask(name, "SELECT count(*) FROM jobs")[0])
        return (backlog - left) / took


def plain_enqueue(server, clients, batch, seconds):
    with server.database() as name:
        server.ask(name, TABLE)
        rows = ", ".join([f"('conversation/' || (random() * 1000)::int, '{PAYLOAD}')"] * batch)
        return batch * server.pgbench(name, f"INSERT INTO jobs (queue, payload) VALUES {rows};", clients,
                                      "-T", str(seconds))


def procrastinate(server, python, queues, workers, count):
    """Jobs a second of procrastinate, whose locks keep the order of a queue."""
    program = REPOSITORY / "Benchmarks/PostgresLoad/procrastinate_load.py"
    with server.database() as name:
        def run(*arguments, **options):
            return subprocess.Popen([python, program, server.url(name), *map(str, arguments)], text=True, **options)
        if run("defer", queues, count).wait(timeout=PATIENCE) != 0:
            raise RuntimeError("procrastinate could not defer")
        server.ask(name, "VACUUM ANALYZE")
        start = time.monotonic()
        processes = [run("work", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(workers)]
        for process in processes:
            process.wait(timeout=PATIENCE)
        took = time.monotonic() - start
        done = int(server.ask(name, "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'")[0])
        return done / took


def latencies(server, count, poll, listens):
    with server.database() as name:
        command = [LOAD, "latency", server.url(name), str(count), "100", str(poll), str(int(listens))]
        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    times = sorted(float(line) for line in output.split())
    return times[len(times) // 2], times[len(times) * 99 // 100]


def idle(server, seconds):
    """Milliseconds of processor time a second of an idle worker, and statements a second."""
    with server.database() as name:
        fleet = Workers(server.url(name), 1)
        fleet.start()
        time.sleep(2)
        question = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        before = int(server.ask(name, question)[0])
        time.sleep(seconds)
        after = int(server.ask(name, question)[0])
        fleet.stop()
        return fleet.used[0] * 1_000 / (seconds + 2), (after - before) / seconds


def blocked(server, count):
    """Fills a database with queues whose heads are held."""
    def prepare(name):
        first = 10_000_000
        server.ask(name, f"""
            SELECT count(*) FROM sluice.sluice_enqueue_many(
                NULL, 1, NULL, ARRAY(SELECT 'stuck/' || n FROM generate_series({first}, {first + count - 1}) AS n),
                array_fill('message'::text, ARRAY[{count}]), NULL,
                array_fill('{{"conversation": 1, "text": ""}}'::text, ARRAY[{count}]),
                NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""")
        server.ask(name, "SELECT sluice.sluice_hold('stuck/*', 'bench', '', NULL)")
    return prepare


def snapshot(server):
    """Holds a snapshot in a transaction that does nothing."""
    def hold(name):
        process = subprocess.Popen(["psql", "-X", "-q", "-d", server.url(name)], stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.DEVNULL)
        process.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;\n")
        process.stdin.flush()
        time.sleep(0.5)
        return process
    return hold


class Table:
    """Cells with a median and their range, as Markdown."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.rows = []

    def measure(self, title, what, *, unit="a second"):
        values = []
        for _ in range(self.rounds):
            values.append(what())
        middle = statistics.median(values)
        self.rows.append((title, middle, min(values), max(values), unit))
        print(f"{title}: {middle:,.0f} ({min(values):,.0f} to {max(values):,.0f}) {unit}", flush=True)
        return middle

    def markdown(self):
        lines = ["| what | median | range | |", "| --- | ---: | ---: | --- |"]
        for title, middle, low, high, unit in self.rows:
            digits = 1 if middle < 100 else 0
            lines.append(f"| {title} | {middle:,.{digits}f} | {low:,.{digits}f} to {high:,.{digits}f} | {unit} |")
        return "\n".join(lines)


def measure(server, options):
    table = Table(options.rounds)
    scale = lambda number: max(int(number * options.scale), 64)
    seconds = max(int(10 * options.scale), 2)
    ratios = []

    def goal(title, value, least, reason="not known"):
        ratios.append((title, value, least, reason))

    for callers, batch in ((1, 1), (64, 1), (1, 100)):
        form = f"{callers} caller{'s' if callers > 1 else ''}, {batch} a call"
        def ours():
            with server.database() as name:
                return enqueue(server, name, callers, batch, scale(2_000 if callers == batch == 1 else 40_000), 1_000)
        table.measure(f"enqueue, {form}", ours)
        table.measure(f"enqueue, {form}, plain INSERT", lambda: plain_enqueue(server, callers, batch, seconds))
    rates = {}
    for queues, workers in itertools.product((1, 64, 10_000), (1, 4, 8)):
        count = scale(4_000 if queues == 1 else 100_000)
        rates[queues, workers] = table.measure(
            f"drain {queues:,} queue{'s' if queues > 1 else ''}, {workers} worker{'s' if workers > 1 else ''}",
            lambda: drain(server, queues, workers, count, count * 9 // 10))
    skip = table.measure("SKIP LOCKED, 4 clients, 1 a commit, no order",
                         lambda: plain(server, SKIP_LOCKED, 64, 4, 1, scale(400_000), "-T", str(seconds)))
    bulk = table.measure("SKIP LOCKED, 4 clients, 64 a commit, no order",
                         lambda: plain(server, SKIP_LOCKED, 64, 4, 64, scale(400_000), "-t",
                                       str(scale(360_000) // 64 // 4)))
    head = table.measure("SKIP LOCKED with a head check, 4 clients, 64 a commit, 64 queues",
                         lambda: plain(server, HEAD_CHECK, 64, 4, 64, scale(400_000), "-T", str(seconds)))
    goal("64 queues, 4 workers : SKIP LOCKED, 1 a commit", rates[64, 4] / skip, None)
    goal("10,000 queues, 4 workers : SKIP LOCKED, 64 a commit", rates[10_000, 4] / bulk, None)
    goal("64 queues, 4 workers : head check (the prototype: 1,500)", rates[64, 4] / max(head, 1), 1_500,
         "the prototype's figure is of another backlog: here the heads stand first in the table, and the statement is "
         "slow only when a client meets heads that others have locked, and reads on to the end")
    if options.procrastinate:
        peer = table.measure("procrastinate with locks, 64 queues, 4 workers",
                             lambda: procrastinate(server, options.procrastinate, 64, 4, scale(2_000)))
        goal("64 queues, 4 workers : procrastinate", rates[64, 4] / peer, 3)
    few, many, steady = scale(100_000), scale(1_000_000), scale(1_200_000)
    part = few // 2
    short = table.measure(f"{part:,} of a backlog of {few:,} in 1,000 queues, 1 worker",
                          lambda: drain(server, 1_000, 1, few, part, is_known=True))
    long = table.measure(f"{part:,} of a backlog of {many:,} in 1,000 queues, 1 worker",
                         lambda: drain(server, 1_000, 1, many, part, is_known=True))
    table.measure("the same from its start, while the worker takes in a million arrivals",
                  lambda: drain(server, 1_000, 1, many, part))
    goal("a backlog ten times as long : the short one", long / short, 0.8,
         "meanwhile vacuum clears away the million arrivals that were taken in, on the same cores; see the range")
    stuck = table.measure(f"{part:,} of a backlog of {few:,}, beside {few:,} held queues",
                          lambda: drain(server, 1_000, 1, few, part, blocked(server, few), is_known=True))
    goal("beside held queues : without", stuck / short, 0.8)
    free = table.measure(f"{steady:,} in 64 queues, 4 workers",
                         lambda: drain(server, 64, 4, steady, steady * 9 // 10))
    old = table.measure("the same beside a snapshot that is as old as the run",
                        lambda: drain(server, 64, 4, steady, steady * 9 // 10, holder=snapshot(server)))
    goal("beside an old snapshot : without", old / free, 0.3)
    waits = []
    for title, poll, listens in (("doorbell", 250, True), ("polling each 50 ms", 50, False),
                                 ("polling each 250 ms", 250, False)):
        pairs = [latencies(server, scale(2_000), poll, listens) for _ in range(options.rounds)]
        middle, late = (statistics.median(pair[index] for pair in pairs) for index in (0, 1))
        waits.append((title, middle, late))
        print(f"from commit to start, {title}: {middle:.1f} ms, 99 of 100 within {late:.1f} ms", flush=True)
    goal("99 of 100 start within 20 ms (ms, doorbell)", waits[0][2], -20)
    used, statements = idle(server, 20)
    return table, ratios, waits, (used, statements)


def report(server, options, table, ratios, waits, idle_costs):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True,
                            check=False).stdout.strip()
    lines = [
        "# Sluice on PostgreSQL, measured", "",
        f"Written by `make bench-postgres` at commit {commit}, on {processor()} with {os.cpu_count()} cores, which the "
        f"server, the workers and the callers share. PostgreSQL {server.version}, each commit synced "
        "(`synchronous_commit = on`), claims and settlements too. Handlers do nothing. Medians of "
        f"{options.rounds} rounds with their range" + ("." if options.scale == 1 else f", at {options.scale} of the size."),
        "", table.markdown(), "",
        "From the commit of an enqueue to the start of its handler, at 100 a second, in milliseconds:", "",
        "| idle workers are woken by | half within | 99 of 100 within |", "| --- | ---: | ---: |",
        *(f"| {title} | {middle:.1f} | {late:.1f} |" for title, middle, late in waits), "",
        f"An idle worker uses {idle_costs[0]:.1f} ms of processor time a second and sends {idle_costs[1]:.1f} statements "
        "a second.", "",
        "| ratio, of the medians above | measured | goal |", "| --- | ---: | --- |",
    ]
    for title, value, least, _ in ratios:
        said = "none" if least is None else f"at most {-least}" if least < 0 else f"at least {least:,}"
        lines.append(f"| {title} | {value:,.2f} | {said} |")
    missed = [f"- {title}: {reason}." for title, value, least, reason in ratios
              if least is not None and (value > -least if least < 0 else value < least)]
    lines += ["", "Goals that are missed, and why:", "", *missed] if missed else ["", "No goal is missed."]
    return "\n".join(lines) + "\n"


def bloat(server, minutes):
    """Prints the sizes of the tables under a steady load of 2,000 actions a second, minute by minute."""
    with server.database() as name:
        fleet = Workers(server.url(name), 2)
        fleet.start()
        for minute in range(minutes):
            for _ in range(60):
                end = time.monotonic() + 1
                enqueue(server, name, 8, 100, 2_000, 1_000)
                time.sleep(max(end - time.monotonic(), 0))
            rows = server.ask(name, """SELECT sum(pg_total_relation_size(c.oid)) / 1000000, sum(s.n_dead_tup)
                FROM pg_class AS c JOIN pg_stat_user_tables AS s ON s.relid = c.oid WHERE s.schemaname = 'sluice'""")
            print(f"minute {minute + 1}: {rows[0]} (MB | dead rows), {fleet.count:,} actions run", flush=True)
        fleet.stop()


def main():
    parser = argparse.ArgumentParser(prog="Benchmarks/postgres", description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="how much of each load (default: 1)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--procrastinate", type=Path, help="a Python with procrastinate installed")
    parser.add_argument("--bloat", type=int, metavar="MINUTES", help="instead, the tables' sizes under a steady load")
    options = parser.parse_args()
    server = Server()
    try:
        if options.bloat:
            bloat(server, options.bloat)
            return
        text = report(server, options, *measure(server, options))
    finally:
        server.close()
    print(text)
    if options.scale == 1:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
