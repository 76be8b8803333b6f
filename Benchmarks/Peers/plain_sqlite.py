"""A plain loop over Python's own `sqlite3`: the textbook's table, one connection, nothing else.

As it comes, `sqlite3` keeps a rollback journal and syncs each commit; `full` is a write-ahead log that does.
An action is deleted in one transaction once it has run, which is one commit an action. There is no claim: two
workers would run it twice.
"""

import json
import sqlite3
import threading
from pathlib import Path

from Peers.common import FULL, Message, Peer, main, read_settings


class PlainLoop(Peer):
    table = "jobs"
    columns = "queue, payload"

    @property
    def file(self) -> Path:
        return self.folder / "plain.sqlite"

    def open(self) -> None:
        # Callers share the connection, so that none of them meets a busy file.
        self.lock = threading.Lock()
        self.connection = sqlite3.connect(self.file, isolation_level=None, check_same_thread=False)
        if self.durability == FULL:
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS jobs"
            " (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, payload TEXT NOT NULL)")
        self.connection.execute("CREATE INDEX IF NOT EXISTS jobs_order ON jobs (queue)")

    def put(self, queue: int, message: Message) -> None:
        with self.lock:
            self.connection.execute("INSERT INTO jobs (queue, payload) VALUES (?, ?)",
                                    (self.names[queue], json.dumps(message)))

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        rows = [(self.names[queue], json.dumps(message)) for queue, message in items]
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany("INSERT INTO jobs (queue, payload) VALUES (?, ?)", rows)
            self.connection.execute("COMMIT")

    def run(self, queue: int) -> bool:
        row = self.connection.execute("SELECT id, payload FROM jobs WHERE queue = ? ORDER BY id LIMIT 1",
                                      (self.names[queue],)).fetchone()
        if row is None:
            return False
        json.loads(row[1])
        self.connection.execute("DELETE FROM jobs WHERE id = ?", (row[0],))
        return True

    def run_round(self, queues: list[int]) -> int:
        self.connection.execute("BEGIN IMMEDIATE")
        ran = super().run_round(queues)
        self.connection.execute("COMMIT")
        return ran

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.connection)

    def close(self) -> None:
        self.connection.close()


if __name__ == "__main__":
    main(PlainLoop)
