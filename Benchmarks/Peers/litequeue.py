"""litequeue: one connection; `done` marks an action, and the row stays until `prune`.

As it comes its commits are at NORMAL, and it has no setting for it: `full` sets the connection's level
behind its back. An action takes two commits, to lock it and to mark it as done; the loop prunes a queue every
thousand. A batch is put in its `transaction()`. A queue is a table; all have one connection, so that a batch
for several is one transaction too. A round over many queues cannot be, as `pop` begins its own.
"""

import json
import sqlite3
from pathlib import Path

from litequeue import LiteQueue

from Peers.common import FULL, Message, Peer, count_rows, main, read_settings


class Lite(Peer):
    @property
    def file(self) -> Path:
        return self.folder / "litequeue.db"

    def open(self) -> None:
        self.queues: list[LiteQueue] = []
        for name in self.each_name():
            place = self.queues[0].conn if self.queues else self.file
            self.queues.append(LiteQueue(place, queue_name=name))
        self.connection = self.queues[0].conn
        # After the last has been opened: each sets it.
        if self.durability == FULL:
            self.connection.execute("PRAGMA synchronous = FULL")
        self.done = [0] * len(self.queues)

    def put(self, queue: int, message: Message) -> None:
        self.queues[queue].put(json.dumps(message))

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        with self.queues[0].transaction():
            for queue, message in items:
                self.queues[queue].put(json.dumps(message))

    def run(self, queue: int) -> bool:
        taken = self.queues[queue].pop()
        if taken is None:
            return False
        json.loads(taken.data)
        self.queues[queue].done(taken.message_id)
        self.done[queue] += 1
        if self.done[queue] % 1_000 == 0:
            self.queues[queue].prune()
        return True

    def copy(self, file: sqlite3.Connection, count: int) -> None:
        # The order is that of the identifiers, which are texts that grow with time. Those of copies come
        # after all others: of the last moment, with a higher sequence than any, and a number.
        table = self.queues[0].table
        base = count_rows(file, table)
        moment = file.execute(f"SELECT substr(max(message_id), 1, 18) FROM {table}").fetchone()[0]
        file.execute(
            f"INSERT INTO {table} (data, message_id, status, in_time)"
            f" SELECT data, ? || printf('-ffff-%012x', ? + rowid), status, in_time FROM {table}"
            " ORDER BY rowid LIMIT ?", (moment, base, count))

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.connection)

    def left(self, file: sqlite3.Connection) -> int:
        # From `MessageStatus`: 0 is ready, 1 locked.
        return sum(count_rows(file, queue.table, "status < 2") for queue in self.queues)

    def close(self) -> None:
        self.connection.close()


if __name__ == "__main__":
    main(Lite)
