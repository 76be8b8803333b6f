"""honker: `enqueue`, `claim_one` and `ack` on named queues; a Rust extension does the work.

As it comes its commits are at NORMAL, and it has no setting for it: `full` sets the level on the connection
that writes, between two of its transactions. An action takes two commits, to claim and to acknowledge it. A
batch is put in one `transaction()`; of a round over many queues, the acknowledgements are one `ack_batch`.
"""

from pathlib import Path

import honker

from Peers.common import FULL, Message, Peer, main


class Honker(Peer):
    table = "_honker_live"
    columns = "queue, payload, state, priority, run_at, attempts, max_attempts, created_at"
    worker = "bench"

    @property
    def file(self) -> Path:
        return self.folder / "honker.db"

    def open(self) -> None:
        self.database = honker.open(str(self.file))
        self.queues = [self.database.queue(name) for name in self.names]
        if self.durability == FULL:
            with self.database.transaction() as transaction:
                transaction.execute("COMMIT")
                transaction.execute("PRAGMA synchronous = FULL")
                transaction.execute("BEGIN IMMEDIATE")

    def put(self, queue: int, message: Message) -> None:
        self.queues[queue].enqueue(message)

    def put_many(self, items: list[tuple[int, Message]]) -> None:
        with self.database.transaction() as transaction:
            for queue, message in items:
                self.queues[queue].enqueue(message, tx=transaction)

    def run(self, queue: int) -> bool:
        job = self.queues[queue].claim_one(self.worker)
        if job is None:
            return False
        if not job.payload or not job.ack():
            raise RuntimeError("a job was lost")
        return True

    def run_round(self, queues: list[int]) -> int:
        jobs = [self.queues[queue].claim_one(self.worker) for queue in queues]
        claimed = [job.id for job in jobs if job and job.payload]
        if self.queues[0].ack_batch(claimed, self.worker) != len(queues):
            raise RuntimeError("a job was lost")
        return len(claimed)

    def settings(self) -> tuple[int, str, str]:
        with self.database.transaction() as transaction:
            level = transaction.query("PRAGMA synchronous")[0]["synchronous"]
            mode = transaction.query("PRAGMA journal_mode")[0]["journal_mode"]
            version = transaction.query("SELECT sqlite_version() AS version")[0]["version"]
        return int(level), str(mode), str(version)

    def close(self) -> None:
        self.database.close()


if __name__ == "__main__":
    main(Honker)
