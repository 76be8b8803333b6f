"""Why rows are below their goals, as profiles say; to be looked at again whenever a row changes."""

from statistics import median

# By the key of a row or the workload of a number.
REASONS = {
    "W2": (
        "of the processor time 49 % is SQLite and the file system, 15 % JSON, 23 % tasks that are "
        "suspended and resumed, locks and wakes. C has neither the last nor JSON, and does one "
        "thing at a time without waiting for it"
    ),
    "W3": (
        "42 % of the processor time is SQLite and the file system, 36 % Foundation's JSON, which "
        "C does not have; one caller does one after the other"
    ),
    "W6e": (
        "47 % of the processor time is SQLite and the file system, writing the order behind "
        "included, and 33 % JSON; C writes no order here"
    ),
    "W6et": "as the row above; without the index on disk what is left is the same work for each action",
    "W6d": (
        "39 % of the processor time is SQLite and the file system, 20 % JSON, 23 % tasks, "
        "scheduling, locks and wakes, 12 % the store in Swift, 6 % the order in memory; both "
        "cores are busy"
    ),
    "W6dt": "as the row above",
    "W7": (
        "not profiled yet; the rate swung between half and full in the rounds, and half of it is "
        "what the producers keep to"
    ),
    "W13": (
        "Foundation's JSON takes 0.33 ms for 100 KB in each direction; C settles one such action "
        "in 0.044 ms and decodes nothing; the row below is C that parses"
    ),
}


def section(found: dict[str, dict], lines: list[dict]) -> list[str]:
    """The rows below their goals, by how much, and why."""
    below = [
        (key, f"{row['workload']}, {row['text']}: {median(row['ratios']) / row['goal']:.0%} of its goal")
        for key, row in found.items() if row["goal"] and median(row["ratios"]) < row["goal"]
    ]
    below += [
        (line["workload"], f"{line['workload']}, {line['text']}: {line['value']}, where the goal is {line['goal']}")
        for line in lines if line["met"] == "no"
    ]
    if not below:
        return []
    return ["## Below their goals", "",
            *(f"- {words}: {REASONS.get(key, 'not looked into yet')}." for key, words in below)]
