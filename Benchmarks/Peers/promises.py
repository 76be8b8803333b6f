"""What a peer does for its rate: three trials on a file of its own, the answers as JSON.

- `crash`: a process takes an action and dies. Does the action come back, and when?
- `failure`: an action fails and is to be tried again. Does the next one wait for it?
- `late`: a worker takes so long that another one gets the action. Can it still remove the action?

Where a peer has leases they last a second here.
"""

import json
import logging
import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

LEASE, PATIENCE = 1, 4.0

# What an action is taken with, and its text.
Taken = tuple[Any, str]


class Worker(ABC):
    """A peer's own way to do each step, on one queue."""

    # Whether to take an action leaves something of it.
    keeps = True
    has_lease = False

    def __init__(self, folder: Path, number: int):
        self.folder, self.number = folder, number

    @abstractmethod
    def put(self, text: str) -> None:
        """Enqueues."""

    @abstractmethod
    def take(self) -> Taken | None:
        """Takes the next action."""

    @abstractmethod
    def finish(self, taken: Any) -> None:
        """Removes an action that was taken."""

    @abstractmethod
    def fail(self, taken: Any) -> None:
        """Gives an action back, to be tried again: in a second, where it can wait."""

    def free(self) -> str:
        """Frees what a dead worker has taken, where somebody has to; says how."""
        return ""


class PlainLoop(Worker):
    keeps = False

    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        import sqlite3
        self.file = sqlite3.connect(folder / "plain.sqlite", isolation_level=None)
        self.file.execute("CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, payload TEXT NOT NULL)")

    def put(self, text: str) -> None:
        self.file.execute("INSERT INTO jobs (payload) VALUES (?)", (text,))

    def take(self) -> Taken | None:
        return self.file.execute("SELECT id, payload FROM jobs ORDER BY id LIMIT 1").fetchone()

    def finish(self, taken: Any) -> None:
        self.file.execute("DELETE FROM jobs WHERE id = ?", (taken,))

    def fail(self, taken: Any) -> None:
        """It is still there."""


class PersistQueue(Worker):
    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        from persistqueue import SQLiteAckQueue
        logging.disable(logging.CRITICAL)
        self.queue = SQLiteAckQueue(str(folder), multithreading=True, auto_commit=True)

    def put(self, text: str) -> None:
        self.queue.put(text)

    def take(self) -> Taken | None:
        if self.queue.size == 0:
            return None
        taken = self.queue.get(block=False, raw=True)
        return taken["pqid"], taken["data"]

    def finish(self, taken: Any) -> None:
        self.queue.ack(id=taken)

    def fail(self, taken: Any) -> None:
        self.queue.nack(id=taken)


class Lite(Worker):
    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        from litequeue import LiteQueue
        self.queue = LiteQueue(folder / "litequeue.db", queue_name="one")

    def put(self, text: str) -> None:
        self.queue.put(text)

    def take(self) -> Taken | None:
        taken = self.queue.pop()
        return taken and (taken.message_id, taken.data)

    def finish(self, taken: Any) -> None:
        self.queue.done(taken)

    def fail(self, taken: Any) -> None:
        self.queue.retry(taken)

    def free(self) -> str:
        time.sleep(LEASE)
        for message in list(self.queue.list_locked(0)):
            self.queue.retry(message.message_id)
        return "when the application looks for locked ones"


class Huey(Worker):
    keeps = False

    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        from huey import SqliteHuey
        self.queue = SqliteHuey("one", filename=str(folder / "huey.db"), strict_fifo=True, results=False)

        @self.queue.task(name="message", retries=3, retry_delay=1)
        def message(text: str) -> None:
            raise RuntimeError(text)

        self.message = message
        logging.disable(logging.CRITICAL)

    def put(self, text: str) -> None:
        self.message(text)

    def take(self) -> Taken | None:
        task = self.queue.dequeue()
        return task and (task, task.args[0])

    def finish(self, taken: Any) -> None:
        """To take it has removed it."""

    def fail(self, taken: Any) -> None:
        self.queue.execute(taken)


class Honker(Worker):
    has_lease = True

    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        import honker
        self.database = honker.open(str(folder / "honker.db"))
        self.queue = self.database.queue("one", visibility_timeout_s=LEASE)

    def put(self, text: str) -> None:
        self.queue.enqueue({"text": text})

    def take(self) -> Taken | None:
        job = self.queue.claim_one(f"worker {self.number}")
        return job and (job, job.payload["text"])

    def finish(self, taken: Any) -> None:
        taken.ack()

    def fail(self, taken: Any) -> None:
        taken.retry(delay_s=1)


class Disk(Worker):
    keeps = False

    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        from diskcache import Cache
        self.cache = Cache(str(folder), eviction_policy="none")

    def put(self, text: str) -> None:
        self.cache.push(text, prefix="one")

    def take(self) -> Taken | None:
        key, text = self.cache.pull(prefix="one")
        return None if key is None else (text, text)

    def finish(self, taken: Any) -> None:
        """To take it has removed it."""

    def fail(self, taken: Any) -> None:
        self.cache.push(taken, prefix="one")


class Local(Worker):
    has_lease = True

    def __init__(self, folder: Path, number: int):
        super().__init__(folder, number)
        from localqueue import DeliveryPolicy, Empty, SimpleQueue
        self.empty = Empty
        self.queue = SimpleQueue(str(folder), "one", delivery=DeliveryPolicy(lease_seconds=LEASE))

    def put(self, text: str) -> None:
        self.queue.put(text)

    def take(self) -> Taken | None:
        try:
            job = self.queue.get(block=False)
        except self.empty:
            return None
        return job, job.data

    def finish(self, taken: Any) -> None:
        self.queue.ack(taken)

    def fail(self, taken: Any) -> None:
        self.queue.nack(taken, delay=1)


WORKERS: dict[str, type[Worker]] = {
    "plain_sqlite": PlainLoop, "persist_queue": PersistQueue, "litequeue": Lite, "huey": Huey, "honker": Honker,
    "diskcache": Disk, "localqueue": Local,
}


def crash(kind: type[Worker], folder: Path) -> str:
    """Whether an action comes back whose process has died."""
    worker = kind(folder, 0)
    for text in ("a", "b"):
        worker.put(text)
    del worker
    child = os.fork()
    if child == 0:
        taken = kind(folder, 1).take()
        os._exit(0 if taken and taken[1] == "a" else 1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise RuntimeError("the first action was not taken")
    start = time.monotonic()
    worker, seen = kind(folder, 2), []
    while time.monotonic() - start < PATIENCE:
        taken = worker.take()
        if taken is None:
            time.sleep(0.1)
            continue
        seen.append(taken[1])
        if taken[1] == "a":
            how = "after its lease" if worker.has_lease else "when the file is opened again"
            return f"yes, {how}" + (", behind those after it" if seen != ["a"] else "")
        worker.finish(taken[0])
    how = worker.free()
    taken = worker.take()
    return f"yes, {how}" if taken and taken[1] == "a" else "no, it is lost"


def failure(kind: type[Worker], folder: Path) -> str:
    """Whether the next action waits for one that failed."""
    worker = kind(folder, 0)
    for text in ("a", "b"):
        worker.put(text)
    first = worker.take()
    if first is None:
        raise RuntimeError("nothing was taken")
    worker.fail(first[0])
    second = worker.take()
    if second is None:
        return "yes, until it is tried again"
    return "yes: it is the next again, at once" if second[1] == first[1] else "no, the next one runs before it"


def late(kind: type[Worker], folder: Path) -> str:
    """Whether a worker that was late removes the action that another one has."""
    one = kind(folder, 0)
    if not one.keeps:
        return "nothing is claimed" if kind is PlainLoop else "it is removed before it runs"
    one.put("a")
    first = one.take()
    if first is None:
        raise RuntimeError("nothing was taken")
    other = take_over(kind, folder, 1)
    try:
        one.finish(first[0])
        refusal = ""
    except Exception as error:  # Each peer has its own.
        refusal = f": it gets {type(error).__name__}"
    # The second dies. If the first has removed the action, nobody gets it now.
    del other
    try:
        take_over(kind, folder, 2)
    except LookupError:
        return "yes"
    return f"no{refusal}"


def take_over(kind: type[Worker], folder: Path, number: int) -> Worker:
    """A worker that has the action of one before it: by its lease, by opening the file, or as `free` says."""
    worker = kind(folder, number)
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE / 2:
        if worker.take():
            return worker
        time.sleep(0.1)
    worker.free()
    if not worker.take():
        raise LookupError("there is no action")
    return worker


def main() -> None:
    kind = WORKERS[sys.argv[1]]
    found = {}
    for trial in (crash, failure, late):
        with tempfile.TemporaryDirectory() as name:
            found[trial.__name__] = trial(kind, Path(name))
    json.dump(found, sys.stdout)
    print()


if __name__ == "__main__":
    main()
