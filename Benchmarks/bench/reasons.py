"""Why rows are below their goals, as profiles say; to be looked at again whenever a row changes."""

from dataclasses import dataclass
from statistics import median

# Where the profiles are from, and how to take them again.
PROFILES = (
    "Shares are of the processor time, from `perf record -g -F 999` over the program of the row (`Workloads "
    "measure` with the options of the row; for W7 `Workloads flow`), at commit 322b19c6. A stack counts as SQLite and "
    "the file system when it has a frame of either in it; if not, as JSON, else as the store and the scheduler in "
    "Swift, else as tasks, locks and wakes, else as memory."
)

# By the key of a row, of a comparison or of a number.
REASONS = {
    "W1": (
        "75 % is SQLite and the file system, 11 % the store, 6 % tasks, locks and wakes, 3 % JSON. The system calls "
        "are those of C, and no thread is changed (`strace -f -c`: 84 futex calls for 4,000 enqueues). An enqueue has "
        "45 to 60 µs of user time, that of C 20 to 27, and 2 to 16 µs more of the system (`perf stat`, opening "
        "included): the instructions of own work run with cold caches after each sync. A commit of C takes 135 µs "
        "here, so the goal allows 7 µs more, and it takes 44"
    ),
    "W2": (
        "47 % is SQLite and the file system; 20 % tasks that are suspended and resumed, locks and wakes, which C does "
        "not have; 17 % the store, 6 % JSON, 6 % memory"
    ),
    "W3": (
        "51 % is SQLite and the file system; 15 % tasks, locks and wakes, the writer's thread among them; 12 % JSON, "
        "10 % the store, 8 % memory. One caller does one thing after the other, as C does"
    ),
    "W6e": (
        "56 % is SQLite and the file system, writing the order behind included, which C does not do; 14 % the store "
        "and the order in memory, 12 % tasks, locks and wakes, 10 % JSON, 7 % memory"
    ),
    "W6et": (
        "4.9 µs an action, where the goal allows 4.6. 56 % of the processor time is SQLite and the file system, for "
        "rows that hold more than the textbook's"
    ),
    "W6d": (
        "45 % is SQLite and the file system, 25 % the store and the scheduler, 16 % tasks, locks and wakes, 7 % "
        "memory, 6 % JSON (the enqueues before it included). Both cores together work 27 µs for an action, the writer "
        "11 of them; the goal allows 11.4 µs, in which two cores work 23"
    ),
    "W6dt": (
        "the goal allows 10 µs an action, and the writer alone works 11: the claim is written before its handler "
        "starts, beside the deletion, where the textbook loop deletes and knows nothing of claims"
    ),
    "W7c": (
        "a call that finds a commit under way waits for it, then for its own, with up to 63 others in it, and then "
        "for the claim's: three groups, which last longer than a commit of one action each. 32 % is SQLite and the "
        "file system, 31 % tasks, locks and wakes of 128 tasks on two cores, 23 % the store and the scheduler"
    ),
    "W13": (
        "42 % is SQLite and the file system; 28 % is JSON of 100 KB both ways, most of it the check that a text is "
        "UTF-8; 17 % the store. C decodes nothing"
    ),
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
    return f"{value / goal:.1%} of its goal"


def whole_text(previous: dict, line: dict) -> str:
    return f"{previous['text']}, {line['text']}" if line["text"].startswith("the same") else line["text"]
