"""huey: `SqliteHuey` with `strict_fifo`, a task with the message as its argument, no results kept.

It syncs each commit as it comes: write-ahead log, SQLite's own default of FULL. To take a task is to delete
it, before it runs: a task is lost if its process dies, which is less work than the others do. There is no
bulk put.
"""

from pathlib import Path

from huey import SqliteHuey

from Peers.common import Message, Peer, Unsupported, main, read_settings


class Huey(Peer):
    table = "task"
    columns = "queue, data, priority"

    @property
    def file(self) -> Path:
        return self.folder / "huey.db"

    def open(self) -> None:
        if len(self.names) > 1:
            raise Unsupported("a queue is a Huey of its own, with its connection and its consumer")
        self.queue = SqliteHuey(filename=str(self.file), strict_fifo=True, results=False)
        self.task = self.queue.task(name="message")(lambda message: None)

    def put(self, queue: int, message: Message) -> None:
        self.task(message)

    def run(self, queue: int) -> bool:
        task = self.queue.dequeue()
        if task is None:
            return False
        self.queue.execute(task)
        return True

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.queue.storage.conn)

    def close(self) -> None:
        self.queue.storage.close()


if __name__ == "__main__":
    main(Huey)
