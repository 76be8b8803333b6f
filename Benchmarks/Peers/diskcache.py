"""diskcache: `Cache.push` and `Cache.pull`, which have queues by prefix.

As it comes its commits are at NORMAL; `full` is its own setting `sqlite_synchronous`. To take an action is to
delete it, before it runs. A batch, and a round over many queues, is one `transact()`.
"""

import sqlite3
from pathlib import Path

from diskcache import Cache

from Peers.common import FULL, Message, Peer, count_rows, main, read_settings


class Disk(Peer):
    table = "Cache"

    @property
    def file(self) -> Path:
        return self.folder / "cache.db"

    def open(self) -> None:
        # A queue must forget nothing, so no eviction.
        settings = {"sqlite_synchronous": 2} if self.durability == FULL else {}
        self.cache = Cache(str(self.folder), eviction_policy="none", **settings)

    def put(self, queue: int, message: Message) -> None:
        self.cache.push(message, prefix=self.names[queue], retry=True)

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        with self.cache.transact(retry=True):
            for queue, message in items:
                self.cache.push(message, prefix=self.names[queue])

    def run(self, queue: int) -> bool:
        key, _ = self.cache.pull(prefix=self.names[queue], retry=True)
        return key is not None

    def run_round(self, queues: list[int]) -> int:
        with self.cache.transact(retry=True):
            return super().run_round(queues)

    def copy(self, file: sqlite3.Connection, count: int) -> None:
        columns = "raw, store_time, expire_time, access_time, access_count, tag, size, mode, filename, value"
        # A key is the prefix and a number of 15 digits that begins at 500 trillion.
        file.execute(
            f"INSERT INTO Cache (key, {columns})"
            f" SELECT ? || '-' || (499999999999999 + ? + row_number() OVER ()), {columns}"
            " FROM (SELECT * FROM Cache ORDER BY rowid LIMIT ?)",
            (self.names[0], count_rows(file, self.table), count))

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.cache._con)

    def close(self) -> None:
        self.cache.close()


if __name__ == "__main__":
    main(Disk)
