"""Where Sluice stands beside the fastest of the peers, at the same durability."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from ..cells import FULL, NORMAL
from .cells import LEVELS, SLUICE
from .report import COLUMNS, title

Row = dict[str, Any]

# Columns at FULL where one caller waits for one commit after the other, so that the disk decides: the goal is
# not to be below the fastest. Elsewhere it is three times the fastest.
ONE_COMMIT_EACH = {"W1 enqueue", "W4 drain", "W8a drain", "W8b drain"}

# Why a column is below its goal, where it is not that C could not reach it either; to be looked at again
# whenever one changes.
REASONS: dict[str, str] = {
    "W3 enqueue": "one caller, whose time is half SQLite and the file system",
    "W6 enqueue": "one caller, whose time is half SQLite and the file system",
    "W6 drain": (
        "the plain loop and diskcache delete 64 actions by one commit and claim none of them; Sluice writes "
        "each claim before its handler starts, and gives each handler a task"
    ),
    "W4 drain": "a handler's task and the writer take turns, and each claim is written",
    "W8a drain": "as W4",
    "W8b drain": "as W4",
}


@dataclass(frozen=True)
class Standing:
    column: str
    level: int
    fastest: str
    # Of the fastest to C.
    ratio: float
    times: float

    @property
    def goal(self) -> int:
        return 1 if self.level == FULL and self.column in ONE_COMMIT_EACH else 3

    @property
    def is_met(self) -> bool:
        return self.times >= self.goal

    @property
    def reason(self) -> str:
        words = []
        if self.goal == 1 and self.times >= 0.9:
            words.append("within a tenth, by which the disk differs from one cell to the next")
        if self.goal > 1 and self.goal * self.ratio > 1:
            words.append(f"the fastest is at {self.ratio:.2f} of C, so that the goal would be "
                         f"{self.goal * self.ratio:.1f} times as fast as C")
        if self.column in REASONS:
            words.append(REASONS[self.column])
        return "; ".join(words) or "not looked into yet"


def standings(rows: list[Row]) -> list[Standing]:
    """One for each column and level that Sluice and a peer have a number for.

    Rates are compared as ratios to the C loop right before each, since the disk is not as fast all the time.
    """
    found = []
    # As it comes Sluice is at two levels at once.
    rows = [row for row in rows if row["key"] != SLUICE.key or row["durability"] != "default"]
    for column in COLUMNS:
        for level in (FULL, NORMAL):
            own, *others = ratios(rows, column, level) or [None]
            if own is None or not others or own[0] != SLUICE.text:
                continue
            name, fastest = max(others, key=lambda other: other[1])
            found.append(Standing(column, level, name, fastest, own[1] / fastest))
    return found


def ratios(rows: list[Row], column: str, level: int) -> list[tuple[str, float]]:
    """Who has a number there, in the order of rows, and the ratio to C."""
    return [
        (title(row), median(row["cells"][column]["ratios"]))
        for row in rows
        if row.get("synchronous") == level and "ratios" in row.get("cells", {}).get(column, {})
    ]


def section(rows: list[Row]) -> list[str]:
    lines = [
        "### Sluice beside the fastest of them", "",
        "The ratio to C, divided by that of the fastest peer at the same level. The goal is 1 where one "
        "caller waits for one commit after the other, since the disk decides there; elsewhere it is 3.",
        "",
        "| | commits are | fastest peer | Sluice to it | goal | met |",
        "| --- | --- | --- | ---: | ---: | --- |",
    ]
    below = []
    for standing in standings(rows):
        head, level = COLUMNS[standing.column], LEVELS[standing.level]
        lines.append(f"| {head} | {level} | {standing.fastest} | {standing.times:.1f} | {standing.goal} | "
                     f"{'yes' if standing.is_met else 'no'} |")
        if not standing.is_met:
            below.append(f"- {head}, {level}: {standing.reason}.")
    return [*lines, "", *below] if below else lines
