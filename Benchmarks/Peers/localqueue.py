"""localqueue: `put`, `put_many`, `get` and `ack`; a Rust extension with a SQLite of its own does the work.

As it comes its commits are at NORMAL; `full` is its own `DurabilityMode.DURABLE`. An action takes two
commits, to lease and to acknowledge it; acknowledged rows stay until `purge`, which the loop calls every
thousand.
"""

import sqlite3
from pathlib import Path

from localqueue import DeliveryPolicy, DurabilityMode, Empty, SimpleQueue

from Peers.common import FULL, Message, Peer, Unsupported, count_rows, main


class Local(Peer):
    table = "messages"
    columns = "queue, payload, status, attempts, max_attempts, available_at, created_at, updated_at"
    done = 0

    @property
    def file(self) -> Path:
        return self.folder / "localqueue.db"

    def open(self) -> None:
        if len(self.names) > 1:
            raise Unsupported("a queue is a SimpleQueue of its own, with its connection and its transactions")
        mode = DurabilityMode.DURABLE if self.durability == FULL else DurabilityMode.RELAXED
        # A lease that outlives the workload.
        delivery = DeliveryPolicy(lease_seconds=600)
        self.queue: SimpleQueue[Message] = SimpleQueue(str(self.folder), delivery=delivery, durability=mode)

    def put(self, queue: int, message: Message) -> None:
        self.queue.put(message)

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        self.queue.put_many([message for _, message in items])

    def run(self, queue: int) -> bool:
        try:
            job = self.queue.get(block=False)
        except Empty:
            return False
        self.queue.ack(job)
        self.done += 1
        if self.done % 1_000 == 0:
            self.queue.purge(0)
        return True

    def settings(self) -> tuple[int, str, str]:
        found = self.queue.diagnostics()
        return found.synchronous, found.journal_mode, found.sqlite_version

    def left(self, file: sqlite3.Connection) -> int:
        # 0 is ready, 1 leased, 2 acknowledged.
        return count_rows(file, self.table, "status < 2")

    def close(self) -> None:
        self.queue.close()


if __name__ == "__main__":
    main(Local)
