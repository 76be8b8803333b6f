"""Numbers that are no ratio to a run of C: what they are, and what the project wants them to be."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from .cells import SETTLED
from .report import after

RATE, RATIO, TIME, MEMORY = "{:,.0f} a second", "{:.2f}", "{:.3f} s", "{:.1f} MB"


@dataclass(frozen=True)
class Goal:
    limit: float
    is_least: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.is_least else value <= self.limit

    def words(self, form: str) -> str:
        return f"{'at least' if self.is_least else 'at most'} {form.format(self.limit)}"


@dataclass(frozen=True)
class Number:
    """A line of the table: something that each sample of a workload holds, or is worked out from."""

    workload: str
    # With the sizes of the workload in braces.
    text: str
    commits: str
    form: str
    # Of a sample; None where it does not hold the number.
    value: Callable[[dict], float | None]
    goal: Goal | None = None
    # Of the reason why it is not met.
    key: str = ""


MIXED = "FULL, settling NORMAL"
NONE = "none"


def quotient(one, other, factor: float = 1) -> Callable[[dict], float | None]:
    """One number of a sample to another, where it holds both."""
    return lambda sample: factor * sample[one] / sample[other] if one in sample and other in sample else None


def of(name, unit: float = 1) -> Callable[[dict], float | None]:
    """A number of a sample, where it holds it."""
    return lambda sample: sample[name] / unit if name in sample else None


NUMBERS = [
    Number("W7", "{queues} producers and handlers at once, {count:,} actions", MIXED, RATE, of("rate")),
    Number("W7", "the same to C, which enqueues in groups of 64 and then drains", MIXED, RATIO, of("to_c")),
    Number("W7", "a commit of the C loop, one action each", "FULL", "{:.0f} µs", of("commit")),
    Number("W7", "at half that rate, the return of enqueue to the handler's start, p50", MIXED, "{:.0f} µs",
           of("returnP50")),
    Number("W7", "the same in commits of C", MIXED, "{:.1f}", quotient("returnP50", "commit")),
    Number("W7", "the same, p99", MIXED, "{:.0f} µs", of("returnP99")),
    Number("W7", "the call of enqueue to the handler's start, p50", MIXED, "{:.0f} µs", of("callP50")),
    Number("W7", "the same in commits of C", MIXED, "{:.1f}", quotient("callP50", "commit"), Goal(4), "W7c"),
    Number("W7", "the same, p99", MIXED, "{:.0f} µs", of("callP99")),
    Number("W8", "drain {settled:,} of one queue, 10 thousand left", SETTLED, RATE, of(10_000)),
    Number("W8", "1 million left", SETTLED, RATE, of(1_000_000)),
    Number("W8", "10 million left", SETTLED, RATE, of(10_000_000)),
    Number("W8", "1 million to 10 thousand", SETTLED, RATIO, quotient(1_000_000, 10_000)),
    Number("W8", "10 million to 10 thousand", SETTLED, RATIO, quotient(10_000_000, 10_000), Goal(0.9, True)),
    Number("W9", "drain {count:,} in {queues:,} queues", SETTLED, RATE, of("alone")),
    Number("W9", "beside two blocked queues of {blocked:,}", SETTLED, RATE, of("beside")),
    Number("W9", "that to the rate alone", SETTLED, RATIO, quotient("beside", "alone"), Goal(0.8, True)),
    Number("W10", "open a file of {count:,} actions in {queues:,} queues, until a handler starts", NONE, TIME,
           of("seconds"), Goal(0.3)),
    Number("W10", "memory of the process then", NONE, MEMORY, of("memory", 1e6), Goal(100)),
    Number("W10", "memory a second later", NONE, MEMORY, of("laterMemory", 1e6), Goal(100)),
    Number("W11", "{queues:,} idle queues for {seconds} seconds: share of a core", NONE, "{:.2%}", of("core"),
           Goal(0.005)),
    Number("W11", "growth of memory meanwhile", NONE, MEMORY, of("growth", 1e6), Goal(1)),
    Number("W12", "{queues:,} idle queues; commit of another process to the handler's start, p50", "FULL",
           "{:.2f} ms", of("p50")),
    Number("W12", "the same, p99 of {count}", "FULL", "{:.2f} ms", of("p99"), Goal(5)),
    Number("W13", "payloads of 100 KB: the largest that the log was", MIXED, MEMORY,
           lambda sample: sample[after("engine")]["log"] / 1e6, Goal(200), "W13l"),
]


def found(samples: dict[str, list[dict]], sizes: dict[str, dict[str, int]]) -> list[dict]:
    """What stands in each line; what no sample holds has none."""
    lines = []
    for number in NUMBERS:
        values = [value for sample in samples.get(number.workload, [])
                  if (value := number.value(sample)) is not None]
        if values:
            lines.append(line(number, sorted(values), sizes.get(number.workload, {})))
    return lines


def line(number: Number, values: list[float], sizes: dict[str, int]) -> dict:
    return {
        "workload": number.workload, "key": number.key or number.workload,
        "text": number.text.format(**sizes), "commits": number.commits,
        "value": number.form.format(median(values)),
        # The unit stands beside it.
        "range": " to ".join(number.form.split(" ")[0].format(value) for value in (values[0], values[-1])),
        "goal": number.goal.words(number.form) if number.goal else "",
        "met": ("yes" if number.goal.is_met(median(values)) else "no") if number.goal else "",
        "values": values,
    }


def table(lines: list[dict]) -> list[str]:
    if not lines:
        return []
    head = [
        "## Numbers with goals", "",
        "| | what | commits are | median | lowest to highest | goal | met |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    columns = ("workload", "text", "commits", "value", "range", "goal", "met")
    return head + [f"| {' | '.join(line[column] for column in columns)} |" for line in lines]
