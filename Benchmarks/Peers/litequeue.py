"""litequeue: one connection; `done` marks an action, and the row stays until `prune`.

As it comes its commits are at NORMAL, and it has no setting for it: `full` sets the connection's level
behind its back. An action takes two commits, to lock it and to mark it as done; the loop prunes every
thousand. A batch is put in its `transaction()`.
"""

import json
import sqlite3
from pathlib import Path

from litequeue import LiteQueue

from Peers.common import FULL, Message, Peer, Unsupported, count_rows, main, read_settings


class Lite(Peer):
    table = "Queue"
    columns = "data, message_id, status, in_time"
    done = 0

    @property
    def file(self) -> Path:
        return self.folder / "litequeue.db"

    def open(self) -> None:
        if len(self.names) > 1:
            raise Unsupported("a queue is a table of its own, and only the first one gets its indexes")
        self.queue = LiteQueue(self.file)
        if self.durability == FULL:
            self.queue.conn.execute("PRAGMA synchronous = FULL")

    def put(self, queue: int, message: Message) -> None:
        self.queue.put(json.dumps(message))

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        with self.queue.transaction():
            for _, message in items:
                self.queue.put(json.dumps(message))

    def run(self, queue: int) -> bool:
        message = self.queue.pop()
        if message is None:
            return False
        json.loads(message.data)
        self.queue.done(message.message_id)
        self.done += 1
        if self.done % 1_000 == 0:
            self.queue.prune()
        return True

    def copy(self, file: sqlite3.Connection, count: int) -> None:
        # The order is that of the identifiers, which are texts that grow with time. Those of copies come after
        # all others: of the last moment, with a higher sequence than any, and a number.
        base = count_rows(file, self.table)
        moment = file.execute("SELECT substr(max(message_id), 1, 18) FROM Queue").fetchone()[0]
        file.execute(
            "INSERT INTO Queue (data, message_id, status, in_time)"
            " SELECT data, ? || printf('-ffff-%012x', ? + rowid), status, in_time FROM Queue"
            " ORDER BY rowid LIMIT ?", (moment, base, count))

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.queue.conn)

    def left(self, file: sqlite3.Connection) -> int:
        # From `MessageStatus`: 0 is ready, 1 locked.
        return count_rows(file, self.table, "status < 2")

    def close(self) -> None:
        self.queue.close()


if __name__ == "__main__":
    main(Lite)
