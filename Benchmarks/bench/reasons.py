"""Why rows are below their goals, as profiles say; to be looked at again whenever a row changes."""

from dataclasses import dataclass
from statistics import median

# Where the profiles are from, and how to take them again.
PROFILES = (
    "Shares are of the processor time, from `perf record -g -F 999` over the program of the row (`Workloads "
    "measure` with the options of the row; for W7 `Workloads flow`), at commit c8af0fa (W8: 5bc58b6). A "
    "stack counts as SQLite and the file system when it has a frame of either in it."
)

# By the key of a row, of a comparison or of a number.
REASONS = {
    "W2": (
        "47 % is SQLite and the file system; 28 % tasks that are suspended and resumed, locks and wakes, "
        "which C does not have; 12 % memory that comes and goes; 6 % JSON; 5 % the store in Swift"
    ),
    "W3": (
        "52 % is SQLite and the file system, 11 % JSON, 10 % the store in Swift; the rest is memory and "
        "locks, SQLite's own among them. One caller does one thing after the other, as C does"
    ),
    "W6e": (
        "51 % is SQLite and the file system, writing the order behind included, which C does not do; 14 % "
        "the store in Swift and the order in memory, 8 % JSON"
    ),
    "W6et": (
        "6.3 µs an action, where the goal allows 4.5: 3.2 µs are SQLite and the file system, for rows that "
        "hold more than the textbook's; 0.9 the store in Swift and the order in memory, 0.5 JSON, the rest "
        "memory and locks"
    ),
    "W6d": (
        "an action takes 24 µs of both cores together: 45 % SQLite and the file system, 29 % tasks, locks "
        "and wakes, 12 % the store in Swift, 5 % JSON. Larger groups do not help: with 41 settlings to a "
        "commit instead of 31 it took as long"
    ),
    "W6dt": (
        "the goal allows 5.7 µs an action. SQLite and the file system alone take 10, all in the one writer: "
        "the claim is written before its handler starts, beside the deletion, where the textbook loop "
        "deletes and knows nothing of claims"
    ),
    "W7c": (
        "a call that finds a commit under way waits for it, then for its own, with up to 63 others in it, "
        "and then for the claim's: three groups, which last longer than a commit of one action each. 49 % is "
        "tasks, locks and wakes of 128 tasks on two cores, 32 % SQLite and the file system"
    ),
    "W7r": "49 % is tasks, locks and wakes of 128 tasks on two cores, 32 % SQLite and the file system",
    "W13": "59 % is SQLite and the file system, 20 % JSON of 100 KB both ways; C decodes nothing",
}


@dataclass(frozen=True)
class Shortfall:
    """Something below its goal."""

    key: str
    line: dict
    text: str
    words: str

    def __str__(self) -> str:
        why = REASONS.get(self.key, "not looked into yet")
        return f"- {self.line['workload']}, {self.text}, {self.line['commits']}: {self.words}: {why}."


def section(found: dict[str, dict], compared: list[dict], lines: list[dict]) -> list[str]:
    """What is below its goal, by how much, and why."""
    below = [
        Shortfall(key, row, row["text"], share(median(row["ratios"]), row["goal"]))
        for key, row in found.items() if row["goal"] and median(row["ratios"]) < row["goal"]
    ]
    below += [
        Shortfall(line["key"], line, line["text"], share(line["times"], line["goal"]))
        for line in compared if line["times"] < line["goal"]
    ]
    below += [
        Shortfall(line["key"], line, whole_text(previous, line),
                  f"{line['value']}, where the goal is {line['goal']}")
        for previous, line in zip([{}, *lines], lines) if line["met"] == "no"
    ]
    return ["## Below their goals", "", PROFILES, "", *map(str, below)] if below else []


def share(value: float, goal: float) -> str:
    return f"{value / goal:.0%} of its goal"


def whole_text(previous: dict, line: dict) -> str:
    return f"{previous['text']}, {line['text']}" if line["text"].startswith("the same") else line["text"]
