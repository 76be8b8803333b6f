"""The command line that all drivers share, and the loops around what each of them does."""

import argparse
import json
import resource
import sqlite3
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FULL = "full"
# Seconds for what is not measured: to open all queues, and to make a backlog.
PATIENCE = 120.0
# Actions of a backlog in one call, and SQLite's instructions, between two looks at the clock.
FILL_BATCH, FILL_INSTRUCTIONS = 256, 1_000_000
# Open files that are no connection of a queue's.
OTHER_FILES = 64

Message = dict[str, Any]


class Unsupported(Exception):
    """The peer cannot do this work; the text says why."""


class TooSlow(Exception):
    """The peer was not ready for what is measured; the text says with what."""


class Patience:
    """The time for what is not measured."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.end = time.perf_counter() + seconds

    @property
    def is_over(self) -> bool:
        return time.perf_counter() > self.end

    def check(self, what: str) -> None:
        if self.is_over:
            raise TooSlow(f"{what} were not there after {self.seconds:.0f} seconds")


class Peer(ABC):
    """A peer at work on one file. `durability` is `full`, for a sync at each commit, or `default`."""

    # The table that a backlog is copied in, and its columns but the one that numbers the rows.
    table: str
    columns: str

    def __init__(self, folder: Path, durability: str, queues: int):
        self.folder = folder
        self.durability = durability
        self.names = [f"conversation/{number}" for number in range(queues)]
        self.patience = Patience(PATIENCE)

    @property
    @abstractmethod
    def file(self) -> Path:
        """The database."""

    @abstractmethod
    def open(self) -> None:
        """Opens the file, all queues, and makes what is missing."""

    def each_name(self) -> Iterator[str]:
        """The names, for a peer that opens queue after queue; ends the work if that takes too long."""
        for number, name in enumerate(self.names):
            self.patience.check(f"{number:,} of {len(self.names):,} queues opened; the others")
            yield name

    @abstractmethod
    def put(self, queue: int, message: Message) -> None:
        """Enqueues; committed when it returns."""

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        """Enqueues a batch, in one transaction where there is a way."""
        for queue, message in items:
            self.put(queue, message)

    @abstractmethod
    def run(self, queue: int) -> bool:
        """Takes the oldest action of a queue, decodes it and removes it for good; false if there is none."""

    def run_round(self, queues: list[int]) -> int:
        """Runs one action of each of several queues; a peer may commit them together. How many there were."""
        return sum(self.run(queue) for queue in queues)

    @abstractmethod
    def settings(self) -> tuple[int, str, str]:
        """The level of `synchronous`, the journal's mode and SQLite's version, as they are in force."""

    @abstractmethod
    def close(self) -> None:
        """Closes the file, so that another SQLite in this process may open it."""

    def left(self, file: sqlite3.Connection) -> int:
        """How many actions have not run, seen by another connection."""
        return count_rows(file, self.table)

    def copy(self, file: sqlite3.Connection, count: int) -> None:
        """Appends as many copies of the oldest rows."""
        file.execute(
            f"INSERT INTO {self.table} ({self.columns}) SELECT {self.columns} FROM {self.table}"
            " ORDER BY rowid LIMIT ?", (count,))


def open_at_once() -> int:
    """How many connections this process can hold, with two files each: the database and its log."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        limit = most
    except (OSError, ValueError):
        # Some systems allow less than they say.
        pass
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(1, (limit - OTHER_FILES) // 2)


def count_rows(file: sqlite3.Connection, table: str, where: str = "1") -> int:
    return int(file.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0])


def read_settings(connection: sqlite3.Connection) -> tuple[int, str, str]:
    """What is in force on a connection of Python's own module."""
    level = connection.execute("PRAGMA synchronous").fetchone()[0]
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return int(level), str(mode), sqlite3.sqlite_version


@dataclass
class Load:
    """What is done, until it is done or the time is over."""

    peer: Peer
    messages: list[Message]
    count: int
    backlog: int
    batch: int
    callers: int
    limit: float
    # Queues that one round of draining takes an action of.
    round: int = 64
    found: dict[str, Any] = field(default_factory=dict)

    def fill(self) -> None:
        """A backlog: one action for each message through the peer itself, the others as copies by SQL."""
        chosen = self.messages[:self.backlog]
        patience, what = self.peer.patience, f"{self.backlog:,} actions that wait"
        for first in range(0, len(chosen), FILL_BATCH):
            patience.check(what)
            self.peer.put_many([(0, message) for message in chosen[first:first + FILL_BATCH]])
        # One SQLite in this process has the file at a time: they would drop each other's locks.
        self.peer.close()
        with closing(sqlite3.connect(self.peer.file)) as file, file:
            # What it answers ends the statement, also in its midst.
            file.set_progress_handler(lambda: patience.is_over, FILL_INSTRUCTIONS)
            filled = len(chosen)
            while filled < self.backlog:
                more = min(filled, self.backlog - filled)
                try:
                    self.peer.copy(file, more)
                except sqlite3.OperationalError:
                    patience.check(what)
                    raise
                filled += more
            file.commit()
            file.set_progress_handler(None, 0)
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.peer.open()

    def enqueue(self) -> None:
        share = self.count // self.callers
        done = [0] * self.callers
        errors: list[BaseException] = []
        start = time.perf_counter()

        def call(caller: int) -> None:
            try:
                done[caller] = self._enqueue(range(caller * share, (caller + 1) * share), start + self.limit)
            except BaseException as error:  # Raised again where all callers have ended.
                errors.append(error)

        if self.callers == 1:
            done[0] = self._enqueue(range(share), start + self.limit)
        else:
            threads = [threading.Thread(target=call, args=(caller,)) for caller in range(self.callers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        self._note("enqueue", start, sum(done), share * self.callers)

    def _enqueue(self, indices: range, deadline: float) -> int:
        messages, queues = self.messages, len(self.peer.names)
        # Without a way for a batch it is as many calls, and between any two the time can be over.
        batch = 1 if type(self.peer).put_many is Peer.put_many else self.batch
        for first in range(indices.start, indices.stop, batch):
            if time.perf_counter() > deadline:
                return first - indices.start
            if batch == 1:
                self.peer.put(first % queues, messages[first % len(messages)])
            else:
                last = min(first + batch, indices.stop)
                self.peer.put_many([(i % queues, messages[i % len(messages)]) for i in range(first, last)])
        return len(indices)

    def drain(self, waiting: int) -> None:
        count = min(self.count, waiting)
        queues = len(self.peer.names)
        start = time.perf_counter()
        done = 0
        while done < count and time.perf_counter() - start <= self.limit:
            if queues == 1:
                ran = int(self.peer.run(0))
            else:
                width = min(self.round, count - done)
                ran = self.peer.run_round([(done + turn) % queues for turn in range(width)])
            if ran == 0:
                raise RuntimeError(f"nothing was left after {done} of {count}")
            done += ran
        self._note("drain", start, done, count)

    def _note(self, phase: str, start: float, done: int, count: int) -> None:
        seconds = time.perf_counter() - start
        self.found[phase] = {"seconds": seconds, "done": done, "stopped": done < count}

    def check(self, expected: int) -> None:
        with closing(sqlite3.connect(self.peer.file)) as file:
            left = self.peer.left(file)
        if left != expected:
            raise RuntimeError(f"{left} are left, not {expected}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="One workload, once, on one peer; the seconds as JSON.")
    parser.add_argument("--folder", type=Path, required=True, help="for the database; it must be empty")
    parser.add_argument("--payloads", type=Path, required=True, help="one message a line, JSON")
    parser.add_argument("--phases", nargs="+", choices=["enqueue", "drain"], required=True)
    parser.add_argument("--count", type=int, required=True, help="actions to enqueue, and to drain")
    parser.add_argument("--backlog", type=int, default=0, help="actions that wait before that")
    parser.add_argument("--queues", type=int, default=1, help="queues that they go into, in turn")
    parser.add_argument("--batch", type=int, default=1, help="actions in one call")
    parser.add_argument("--callers", type=int, default=1, help="threads that enqueue at the same time")
    parser.add_argument("--durability", choices=[FULL, "default"], required=True)
    parser.add_argument("--seconds", type=float, default=20, help="after which a phase stops")
    return parser.parse_args()


def measure(kind: type[Peer], options: argparse.Namespace) -> dict[str, Any]:
    messages = [json.loads(line) for line in options.payloads.read_bytes().splitlines()]
    peer = kind(options.folder, options.durability, options.queues)
    peer.open()
    load = Load(peer, messages, options.count, options.backlog, options.batch, options.callers,
                options.seconds)
    if options.backlog:
        load.fill()
    waiting = options.backlog
    if "enqueue" in options.phases:
        load.enqueue()
        waiting += load.found["enqueue"]["done"]
    if "drain" in options.phases:
        load.drain(waiting)
        waiting -= load.found["drain"]["done"]
    level, mode, version = peer.settings()
    peer.close()
    load.check(waiting)
    return load.found | {"synchronous": level, "journal": mode, "sqlite": version}


def main(kind: type[Peer]) -> None:
    """What a driver does when it is run: prints what it measured, or why its peer cannot do the work."""
    try:
        found = measure(kind, arguments())
    except Unsupported as reason:
        found = {"unsupported": str(reason)}
    except TooSlow as reason:
        found = {"failed": str(reason)}
    json.dump(found, sys.stdout)
    print()
