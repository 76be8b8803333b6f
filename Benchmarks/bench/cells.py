"""What is measured: the workloads and the rows of the table."""

from dataclasses import dataclass, field

FULL, NORMAL = 2, 1


@dataclass(frozen=True)
class Workload:
    """A load, done once in C and once in Swift for each sample."""

    key: str
    count: int
    # As the table has it, where that is not the key.
    name: str = ""
    # The kind of payloads: usual or large.
    payloads: str = "usual"
    queues: int = 1
    batch: int = 1
    callers: int = 1
    durability: str = "standard"
    drain: bool = False
    # In C: actions in one transaction while enqueuing and while draining, and how each commits.
    group: int = 1
    drain_group: int = 1
    sync: int = FULL
    drain_sync: int = FULL
    # In a run that is not whole, times its scale: for what takes long because each action is a sync.
    share: float = 1
    # The ways in which C does it; a probe each.
    layouts: tuple[str, ...] = ("engine",)


@dataclass(frozen=True)
class Row:
    """A line of the table: one phase of a workload beside one probe."""

    key: str
    text: str
    workload: str
    phase: str
    commits: str
    # None where the row only explains another.
    goal: float | None
    layout: str = "engine"


@dataclass
class Plan:
    """All that a run does."""

    rounds: int
    scale: float
    only: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return self.scale == 1 and self.rounds >= 9 and not self.only

    def workloads(self) -> list[Workload]:
        return [workload for workload in WORKLOADS if self.includes(workload.name or workload.key)]

    def includes(self, name: str) -> bool:
        return not self.only or name in self.only

    def count(self, workload: Workload) -> int:
        """Its actions at this scale: whole batches for each caller, and the same for each queue."""
        share = workload.share if self.scale < 1 else 1
        return self.scaled(workload.count * share, max(workload.queues, workload.batch, workload.callers))

    def scaled(self, count: float, unit: int = 1) -> int:
        return max(1, round(count * self.scale / unit)) * unit


WORKLOADS = [
    Workload("W1", 8_000),
    Workload("W2", 128_000, queues=64, callers=64, group=64),
    Workload("W3", 300_000, batch=1_000, group=1_000),
    Workload("W4", 100_000, batch=1_000, durability="everything", drain=True, group=1_000, share=0.2),
    Workload("W4n", 100_000, name="W4", batch=1_000, durability="relaxed", drain=True, group=1_000,
             sync=NORMAL, drain_sync=NORMAL),
    Workload("W5", 100_000, batch=1_000, drain=True, group=1_000, drain_sync=NORMAL),
    Workload("W6", 400_000, queues=10_000, batch=1_000, drain=True, group=1_000, drain_group=64,
             drain_sync=NORMAL, layouts=("engine", "textbook")),
    Workload("W13", 4_000, payloads="large", queues=64, callers=8, drain=True, group=8, drain_group=64,
             drain_sync=NORMAL, layouts=("engine", "parsing")),
]

SETTLED = "NORMAL, synced within a second"
# The phases one after the other.
BOTH = "both"

ROWS = [
    Row("W1", "enqueue, one caller, one at a time", "W1", "enqueue", "FULL", 0.95),
    Row("W2", "enqueue, 64 callers, one at a time each", "W2", "enqueue", "FULL", 0.65),
    Row("W3", "enqueue, batches of 1,000", "W3", "enqueue", "FULL", 0.7),
    Row("W4", "drain one queue, every settling committed before the next start", "W4", "drain", "FULL", 0.8),
    Row("W4n", "the same", "W4n", "drain", SETTLED, 0.5),
    Row("W5", "drain one queue, as set up", "W5", "drain", SETTLED, 0.5),
    Row("W6e", "enqueue into 10,000 queues in turn, batches of 1,000", "W6", "enqueue", "FULL", 0.8),
    Row("W6d", "drain 10,000 queues", "W6", "drain", SETTLED, 0.45),
    Row("W6et", "the same enqueue, C on a textbook schema", "W6", "enqueue", "FULL", 1.2, "textbook"),
    Row("W6dt", "the same drain, C on a textbook schema", "W6", "drain", SETTLED, 0.8, "textbook"),
    Row("W13e", "enqueue 100 KB each into 64 queues, 8 callers", "W13", "enqueue", "FULL", None),
    Row("W13d", "drain the same, which C does not decode", "W13", "drain", SETTLED, None),
    Row("W13", "both", "W13", BOTH, "FULL, settling NORMAL", 0.7),
    Row("W13p", "the same, C that parses its JSON", "W13", BOTH, "FULL, settling NORMAL", None, "parsing"),
]

# What one row of Sluice is to another: key, key, words, commits, goal.
COMPARISONS = [
    ("W2", "W1", "64 callers to one caller", "FULL", 10),
    ("W5", "W4", "draining as set up to draining with every settling synced", "NORMAL to FULL", 3),
    ("W6d", "W5", "draining 10,000 queues to draining one", SETTLED, 0.5),
]
