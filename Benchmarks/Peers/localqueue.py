"""localqueue: `put`, `put_many`, `get` and `ack`; a Rust extension with a SQLite of its own does the work.

As it comes its commits are at NORMAL; `full` is its own `DurabilityMode.DURABLE`. An action takes two
commits, to lease and to acknowledge it; acknowledged rows stay until `purge`, which the loop calls every
thousand. A queue is a `SimpleQueue` with a connection of its own; their table is the same. A batch for
several is one `put_many` for each. Those beyond what a process may have open are opened for each use.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from localqueue import DeliveryPolicy, DurabilityMode, Empty, SimpleQueue

from Peers.common import FULL, Message, Peer, count_rows, main, open_at_once


class Local(Peer):
    table = "messages"
    columns = "queue, payload, status, attempts, max_attempts, available_at, created_at, updated_at"

    @property
    def file(self) -> Path:
        return self.folder / "localqueue.db"

    def open(self) -> None:
        self.queues = [self._open(name) for name in islice(self.each_name(), open_at_once())]
        self.done = [0] * len(self.names)

    def _open(self, name: str) -> SimpleQueue[Message]:
        mode = DurabilityMode.DURABLE if self.durability == FULL else DurabilityMode.RELAXED
        # A lease that outlives the workload.
        delivery = DeliveryPolicy(lease_seconds=600)
        return SimpleQueue(str(self.folder), name, delivery=delivery, durability=mode)

    @contextmanager
    def _queue(self, number: int) -> Iterator[SimpleQueue[Message]]:
        if number < len(self.queues):
            yield self.queues[number]
        else:
            with closing(self._open(self.names[number])) as queue:
                yield queue

    def put(self, queue: int, message: Message) -> None:
        with self._queue(queue) as own:
            own.put(message)

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        shares = defaultdict(list)
        for queue, message in items:
            shares[queue].append(message)
        for queue, messages in shares.items():
            with self._queue(queue) as own:
                own.put_many(messages)

    def run(self, queue: int) -> bool:
        with self._queue(queue) as own:
            try:
                job = own.get(block=False)
            except Empty:
                return False
            own.ack(job)
            self.done[queue] += 1
            if self.done[queue] % 1_000 == 0:
                own.purge(0)
        return True

    def settings(self) -> tuple[int, str, str]:
        found = self.queues[0].diagnostics()
        return found.synchronous, found.journal_mode, found.sqlite_version

    def left(self, file: sqlite3.Connection) -> int:
        # 0 is ready, 1 leased, 2 acknowledged.
        return count_rows(file, self.table, "status < 2")

    def close(self) -> None:
        for queue in self.queues:
            queue.close()


if __name__ == "__main__":
    main(Local)
