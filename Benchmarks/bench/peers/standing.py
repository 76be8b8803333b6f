"""Where Sluice stands beside the fastest of the peers, at the same durability."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from ..cells import FULL, NORMAL
from .cells import LEVELS, SLUICE
from .promises import keeps_claim
from .report import COLUMNS, title

Row = dict[str, Any]

# Columns at FULL where one caller waits for one commit after the other, so that the disk decides: the goal is not to
# be below the fastest of all. Elsewhere it is three times the fastest of those that keep a claim as Sluice does.
ONE_COMMIT_EACH = {"W1 enqueue", "W4 drain", "W8a drain", "W8b drain"}

# What those give up that claim nothing, or delete an action before it runs.
GIVEN_UP = (
    "A loop that claims nothing saves a write for each action and gives up a second worker: two would run the same "
    "action. One that deletes an action before it runs loses it with its process, and has nothing that a failed head "
    "could wait in. With one worker, and handlers that may run again, a loop is as fast."
)

# Why a column is below its goal, where it is not that C could not reach it either; to be looked at again
# whenever one changes.
REASONS: dict[str, str] = {
    "W3 enqueue": "one caller, whose time is half SQLite and the file system",
    **dict.fromkeys(["W4 drain", "W8a drain", "W8b drain"],
                    "a handler's task and the writer take turns, and each claim is written (profile of W4: 70 % SQLite "
                    "and the file system, 14 % the store and the scheduler, 7 % tasks, locks and wakes)"),
}


@dataclass(frozen=True)
class Standing:
    """Sluice beside one peer, the fastest of its sort, in one column at one level."""

    column: str
    level: int
    fastest: str
    # Of the fastest to C.
    ratio: float
    times: float
    # Whether it is the fastest of those that keep a claim; else of all.
    keeps_claim: bool

    @property
    def goal(self) -> int | None:
        if self.level == FULL and self.column in ONE_COMMIT_EACH:
            return 1
        return 3 if self.keeps_claim else None

    @property
    def is_met(self) -> bool:
        return self.goal is None or self.times >= self.goal

    @property
    def reason(self) -> str:
        words = []
        if self.goal == 1 and self.times >= 0.9:
            words.append("within a tenth, by which the disk differs from one cell to the next")
        if self.goal == 3 and 3 * self.ratio > 1:
            words.append(f"the fastest is at {self.ratio:.2f} of C, so that the goal would be "
                         f"{3 * self.ratio:.1f} times as fast as C")
        if self.column in REASONS:
            words.append(REASONS[self.column])
        return "; ".join(words) or "not looked into yet"


def standings(rows: list[Row], claiming: set[str]) -> list[Standing]:
    """For each column and level the fastest that keeps a claim, and the fastest of all where that is another.

    Rates are compared as ratios to the C loop right before each, since the disk is not as fast all the time.
    """
    found = []
    # As it comes Sluice is at two levels at once.
    rows = [row for row in rows if row["key"] != SLUICE.key or row["durability"] != "default"]
    for column in COLUMNS:
        for level in (FULL, NORMAL):
            own, *others = ratios(rows, column, level) or [None]
            if own is None or own[0]["key"] != SLUICE.key:
                continue
            keeping = [other for other in others if other[0]["key"] in claiming]
            best = [max(sort, key=lambda other: other[1]) for sort in (keeping, others) if sort]
            if len(best) == 2 and best[0] == best[1]:
                del best[1]
            found += [Standing(column, level, title(row), ratio, own[1] / ratio, row["key"] in claiming)
                      for row, ratio in best]
    return found


def ratios(rows: list[Row], column: str, level: int) -> list[tuple[Row, float]]:
    """Who has a number there, in the order of rows, and the ratio to C.

    Who has none at NORMAL counts with what it does at FULL, beside C at NORMAL.
    """
    def cells(level: int) -> list[tuple[Row, dict[str, Any]]]:
        return [(row, row["cells"][column]) for row in rows
                if row.get("synchronous") == level and "ratios" in row.get("cells", {}).get(column, {})]

    found = cells(level)
    ratios = [(row, median(cell["ratios"])) for row, cell in found]
    keys = {row["key"] for row, _ in found}
    if level == NORMAL and SLUICE.key in keys:
        of_c = next(cell["c"] for row, cell in found if row["key"] == SLUICE.key)
        ratios += [(row, cell["rate"] / of_c) for row, cell in cells(FULL) if row["key"] not in keys]
    return ratios


def section(found: dict[str, Any]) -> list[str]:
    claiming = {key for key, answers in found.get("promises", {}).items() if keeps_claim(answers)}
    lines = [
        "### Sluice beside the fastest of them", "",
        "The ratio to C, divided by that of a peer at the same level (of one that has no row at NORMAL: its rate at "
        "FULL to that of C at NORMAL): of the fastest that keeps a claim as Sluice does, and of the fastest of all "
        "where that one keeps none. The goal is 1 where one caller waits for one "
        "commit after the other, since the disk decides there; elsewhere it is 3 beside those that keep a claim.",
        "",
        "| | commits are | fastest peer | keeps a claim | Sluice to it | goal | met |",
        "| --- | --- | --- | --- | ---: | ---: | --- |",
    ]
    below, behind = [], []
    for standing in standings(found["rows"], claiming):
        head, level = COLUMNS[standing.column], LEVELS[standing.level]
        lines.append(f"| {head} | {level} | {standing.fastest} | {'yes' if standing.keeps_claim else 'no'} | "
                     f"{standing.times:.1f} | {standing.goal or ''} | "
                     f"{('yes' if standing.is_met else 'no') if standing.goal else ''} |")
        if not standing.is_met:
            below.append(f"- {head}, {level}, {standing.fastest}: {standing.reason}.")
        if not standing.keeps_claim and standing.times < 1:
            behind.append(f"{head} at {level} ({standing.fastest}: {standing.times:.2f})")
    if below:
        lines += ["", *below]
    if behind:
        lines += ["", f"Faster than Sluice are, without a claim: {'; '.join(behind)}. {GIVEN_UP}"]
    return lines
