"""What is measured of the peers: who they are, and the columns of their table."""

from dataclasses import dataclass

from ..cells import FULL, NORMAL

LEVELS = {0: "OFF", NORMAL: "NORMAL", FULL: "FULL", 3: "EXTRA"}


@dataclass(frozen=True)
class Peer:
    """Something that does the work, at the durability that it comes with and at FULL."""

    key: str
    text: str
    # What `synchronous` is as it comes.
    default: int
    # Its package on PyPI; None for those that need nothing from there.
    package: str | None = None
    # One that is at FULL with a write-ahead log as it comes has one row.
    has_own_full: bool = True

    @property
    def durabilities(self) -> list[str]:
        return ["full", "default"] if self.has_own_full else ["full"]

    def level(self, durability: str) -> int:
        return {"full": FULL, "normal": NORMAL}.get(durability, self.default)


class Itself(Peer):
    """Sluice, which as it comes syncs enqueues and not what it settles: so it has a row for each way."""

    # To the name of its own setting.
    SETTINGS = {"full": "everything", "default": "standard", "normal": "relaxed"}

    @property
    def durabilities(self) -> list[str]:
        return list(self.SETTINGS)


SLUICE = Itself("sluice", "**Sluice**", NORMAL)

PEERS = [
    Peer("plain_sqlite", "plain loop, Python's `sqlite3`", FULL),
    Peer("grdb", "queue by hand on GRDB", NORMAL),
    Peer("persist_queue", "persist-queue", FULL, "persist-queue", has_own_full=False),
    Peer("litequeue", "litequeue", NORMAL, "litequeue"),
    Peer("huey", "huey", FULL, "huey", has_own_full=False),
    Peer("honker", "honker", NORMAL, "honker"),
    Peer("diskcache", "diskcache", NORMAL, "diskcache"),
    Peer("localqueue", "localqueue", NORMAL, "localqueue"),
]


@dataclass(frozen=True)
class Cell:
    """A load, done by a peer and in C right before it. Each phase that is measured is a column."""

    key: str
    count: int
    # Phase to the head of its column.
    columns: dict[str, str]
    # Actions that wait before a drain is measured, where that is all that is measured.
    backlog: int = 0
    queues: int = 1
    batch: int = 1
    callers: int = 1
    # In C: actions in one transaction.
    group: int = 1
    drain_group: int = 1

    @property
    def phases(self) -> list[str]:
        return list(self.columns)

    def scaled(self, scale: float) -> tuple[int, int]:
        """Its actions and its backlog at this scale: whole batches, the same for each queue and caller."""
        unit = max(self.queues, self.batch, self.callers)
        count = max(1, round(self.count * scale / unit)) * unit
        return count, max(count, round(self.backlog * scale)) if self.backlog else 0


CELLS = [
    Cell("W1", 2_000, {"enqueue": "W1 one caller"}),
    Cell("W2", 16_000, {"enqueue": "W2 64 callers"}, callers=64, group=64),
    Cell("W3", 100_000, {"enqueue": "W3 batches of 1,000"}, batch=1_000, group=1_000),
    Cell("W4", 20_000, {"drain": "W4, W5 drain one queue"}, backlog=20_000),
    Cell("W6", 400_000, {"enqueue": "W6 enqueue, 10,000 queues", "drain": "W6 drain, 10,000 queues"},
         queues=10_000, batch=1_000, group=1_000, drain_group=64),
    Cell("W8a", 5_000, {"drain": "W8 drain, 10 thousand wait"}, backlog=10_000),
    Cell("W8b", 5_000, {"drain": "W8 drain, 1 million wait"}, backlog=1_000_000),
]
