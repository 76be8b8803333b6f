"""huey: `SqliteHuey` with `strict_fifo`, a task with the message as its argument, no results kept.

It syncs each commit as it comes: write-ahead log, SQLite's own default of FULL. To take a task is to delete
it, before it runs: a task is lost if its process dies, which is less work than the others do. There is no
bulk put. A queue is a `SqliteHuey` with a connection of its own; their tables are the same. Those beyond what
a process may have open are closed after each use, and open themselves for the next.
"""

from pathlib import Path

from huey import SqliteHuey

from Peers.common import Message, Peer, main, open_at_once, read_settings


class Huey(Peer):
    table = "task"
    columns = "queue, data, priority"

    @property
    def file(self) -> Path:
        return self.folder / "huey.db"

    def open(self) -> None:
        self.kept = open_at_once()
        self.queues: list[SqliteHuey] = []
        for name in self.each_name():
            # The first makes the tables of all.
            queue = SqliteHuey(name, filename=str(self.file), strict_fifo=True, results=False,
                               create_tables=not self.queues)
            self.queues.append(queue)
            # Opens its connection.
            queue.pending_count()
            self._release(len(self.queues) - 1)
        self.tasks = [queue.task(name="message")(lambda message: None) for queue in self.queues]

    def put(self, queue: int, message: Message) -> None:
        self.tasks[queue](message)
        self._release(queue)

    def run(self, queue: int) -> bool:
        task = self.queues[queue].dequeue()
        if task is None:
            return False
        # Looks into the file too, whether the task was revoked.
        self.queues[queue].execute(task)
        self._release(queue)
        return True

    def _release(self, queue: int) -> None:
        if queue >= self.kept:
            self.queues[queue].storage.close()

    def settings(self) -> tuple[int, str, str]:
        return read_settings(self.queues[0].storage.conn)

    def close(self) -> None:
        for queue in self.queues:
            queue.storage.close()


if __name__ == "__main__":
    main(Huey)
