"""persist-queue: its `SQLiteAckQueue`, which keeps an action until it is acknowledged, and after.

It syncs each commit as it comes: write-ahead log, SQLite's own default of FULL. An action takes two
commits, one to mark it as taken and one as done. Rows that are done stay until somebody clears them, which
is not measured; so that they are not searched again, each `get` names the one before (`next_in_order`).
There is no bulk put: a batch is as many commits.
"""

import sqlite3
from pathlib import Path
from typing import Any

from persistqueue import SQLiteAckQueue

from Peers.common import Message, Peer, Unsupported, count_rows, main, read_settings


class PersistQueue(Peer):
    table = "ack_queue_default"
    columns = "data, timestamp, status"
    last: Any = None

    @property
    def file(self) -> Path:
        return self.folder / "data.db"

    def open(self) -> None:
        if len(self.names) > 1:
            # Tried: they grow with the square of the number of queues.
            raise Unsupported(
                "a queue is a table with a connection of its own, and each connection holds the schema of"
                " all; to open 2,000 and put an action into each took 39 seconds and 2.8 GB")
        self.queue = SQLiteAckQueue(str(self.folder), multithreading=True, auto_commit=True)

    def put(self, queue: int, message: Message) -> None:
        self.queue.put(message)

    def run(self, queue: int) -> bool:
        if self.queue.size == 0:
            return False
        self.last = self.queue.get(block=False, id=self.last, next_in_order=self.last is not None, raw=True)
        self.queue.ack(id=self.last["pqid"])
        return True

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.queue._putter)

    def left(self, file: sqlite3.Connection) -> int:
        # From `AckStatus`: 5 is what is done.
        return count_rows(file, self.table, "status <> 5")

    def close(self) -> None:
        self.queue.close()


if __name__ == "__main__":
    main(PersistQueue)
