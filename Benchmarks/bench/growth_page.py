"""The page of the curves: for each a paragraph, a plot and a table."""

from collections.abc import Callable
from dataclasses import dataclass

from .lines import Line, Panel, draw, short

Point = dict


@dataclass(frozen=True)
class Column:
    """A number of each point: its words, where it is, and what it is divided by to be shown."""

    text: str
    key: str
    unit: float = 1
    digits: int = 0

    def cell(self, point: Point) -> str:
        if self.key not in point:
            return "–"
        middle, low, high = (value / self.unit for value in point[self.key])
        form = f"{{:,.{self.digits}f}}"
        return f"{form.format(middle)} ({form.format(low)} to {form.format(high)})"

    def line(self, points: list[Point]) -> Line:
        found = [point.get(self.key) for point in points]
        return Line(self.text, [tuple(value / self.unit for value in values) if values else None
                                for values in found])


@dataclass(frozen=True)
class Curve:
    head: str
    # What a user can expect, and which option to change.
    words: str
    x_title: str
    x: Callable[[Point], str]
    columns: list[Column]
    # Of the plot: a title, the texts of the columns, and whether the scale is logarithmic.
    panels: list[tuple[str, list[str], bool]]


ENQUEUE = Column("enqueue, batches of 1,000", "enqueue")
DRAIN = Column("drain", "drain")
CALL = Column("enqueue returns, p50, ms", "enqueueP50", 1e3, 2)
CALL_99 = Column("p99, ms", "enqueueP99", 1e3, 1)
START = Column("handler starts, p50, ms", "startP50", 1e3, 2)
START_99 = Column("start p99, ms", "startP99", 1e3, 1)
LATENCY = ("milliseconds from the call", [CALL.text, START.text, START_99.text], True)

CURVES = {
    "backlog": Curve(
        "By backlog",
        "Actions wait in 1,000 queues. A first part of them is drained; then the rest is put on hold, and other "
        "queues are used beside it. With ten million waiting, the drain of the backlog has 0.69 of its rate with a "
        "thousand, an enqueue into other queues 0.64, and the drain of those 0.85; half of the actions in them start "
        "after about half a millisecond with any backlog, and one in a hundred after 6 to 15 ms. The file grows by "
        "0.26 KB for each waiting chat message. There is no option to set: what a backlog needs is room on the disk.",
        "actions that wait", lambda point: short(point["waiting"]),
        [Column("drain of the backlog", "backlog"), ENQUEUE, DRAIN, CALL, START, START_99],
        [("actions a second", ["drain of the backlog", ENQUEUE.text, DRAIN.text], True), LATENCY]),
    "queues": Curve(
        "By queues",
        "100,000 actions, or one for each queue if there are more queues. One queue runs one action after the "
        "other, each with a commit of its own; many queues share commits, so a thousand to a hundred thousand "
        "queues drain the fastest. An enqueue that makes a new queue costs more: into 100,000 new queues it has 0.48 "
        "of the rate of one queue. An action that only waits, in a queue of its own, costs some 70 to 140 bytes of "
        "memory. While a broker runs, a queue with work costs some 500, which the process keeps afterwards for the "
        "next ones. So a million queues that have work at the same time need 0.6 GB: spread them over time, or over "
        "processes. If the order inside a queue does not matter, use few queues with "
        "`QueueDiscipline.concurrent(_:)`.",
        "queues", lambda point: short(point["queues"]),
        [ENQUEUE, DRAIN, CALL, START, START_99, Column("MB while all wait", "waitingMemory", 1e6),
         Column("MB afterwards", "memory", 1e6)],
        [("actions a second", [ENQUEUE.text, DRAIN.text], True), LATENCY,
         ("memory of the process, MB", ["MB while all wait", "MB afterwards"], False)]),
    "payload": Curve(
        "By payload",
        "Up to some 0.5 KB the statements decide, beyond that the bytes: 130 to 190 MB a second are enqueued with a "
        "sync for each call, and 300 to 510 MB drained from 10 KB on. From there one call in a hundred waits 30 to "
        "45 ms, while the WAL is copied into the file; with smaller payloads that is rarer. Put large content "
        "into a file of its own and its path into the payload; enqueue several actions in one call where you can.",
        "bytes", lambda point: short(float(f"{point['bytes']:.2g}")),
        [Column("enqueue", "enqueue"), DRAIN, CALL, CALL_99, START, START_99],
        [("actions a second", ["enqueue", DRAIN.text], True), LATENCY]),
    "files": Curve(
        "On several files",
        "The queues are spread over one, two and four files, each with a broker of its own in the same process; the "
        "concurrency is divided among them. A file has one writer, so a second file lets a second core work: on two "
        "cores it enqueues 1.5 times as fast and drains 1.4 times; four files 1.8 and 1.5 times. Use it only if "
        "the writer of one file is always busy: no transaction spans two files. The page on performance has the "
        "recipe.",
        "files", lambda point: short(point["files"]),
        [ENQUEUE, DRAIN], [("actions a second", [ENQUEUE.text, DRAIN.text], False)]),
}
HANDLERS = Curve(
    "By the time of handlers",
    "Handlers wait, as for the answer of a server; 1,000 queues. What the waiting alone allows is the concurrency "
    "divided by the time. With 10 ms and more the drain has 0.94 to 0.99 of it, but for 512 at 10 ms, which near "
    "the rate of handlers that do nothing; with 1 ms it has 0.57 to 0.86 up to 64. So raise "
    "`BrokerOptions.concurrency` until the rate is enough: 64 are the default, 512 cost no more. From 64 on, handlers "
    "that do nothing gain nothing from more. Half of the actions start within 0.3 to 1 ms at any of these.",
    "milliseconds that a handler waits", lambda point: short(point["pause"]),
    [DRAIN, START, START_99], [])
HOUR = Curve(
    "An hour of a steady load",
    "500 actions a second, in 1,000 queues, with handlers that wait 5 ms. The file stays at 0.35 MB and the WAL at "
    "41 MB, where it begins again; memory grows from 35 to 37 MB, and a tenth of a core is used. So keep some 50 MB "
    "of disk for the WAL, whatever the file holds. Only a reader that stays makes it longer; there is no option for "
    "its size.",
    "minutes", lambda point: short(point["second"] // 60), [], [])


def page(found: dict) -> str:
    sections = [[
        "# As it grows", "",
        "`Benchmarks/growth` measures these curves through the public interface, with payloads of real chat. "
        "Enqueues are FULL, settlings NORMAL, synced within a second. A number is the median, with the lowest and "
        "the highest in brackets; times are from the call of `enqueue`, one action every 2 ms (payloads of 100 KB: "
        "every 5 ms; of 1 MB: 100 actions, every 50 ms), each in a task of its own. The line below each "
        "table has its date and commit.",
    ]]
    for name, curve in CURVES.items():
        if name in found:
            sections.append(_section(name, curve, found[name], _table(curve, found[name]["points"])))
    if "handlers" in found:
        sections.append(_section("handlers", HANDLERS, found["handlers"], _handlers(found["handlers"]["points"])))
    if "hour" in found:
        sections.append(_section("hour", HOUR, found["hour"], _hour(found["hour"]["points"])))
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _section(name: str, curve: Curve, part: dict, table: list[str]) -> list[str]:
    return [f"## {curve.head}", "", curve.words, "", f"![{curve.head}](growth-{name}.svg)", "", *table, "",
            f"{'; '.join(part['facts'])}."]


def _table(curve: Curve, points: list[Point]) -> list[str]:
    head = [curve.x_title, *(column.text for column in curve.columns)]
    return [
        f"| {' | '.join(head)} |", f"| {' | '.join(['---:'] * len(head))} |",
        *(f"| {' | '.join([curve.x(point), *(column.cell(point) for column in curve.columns)])} |"
          for point in points),
    ]


def _handlers(points: list[Point]) -> list[str]:
    """A line for each concurrency and pause, beside what the waiting alone allows."""
    lines = ["| concurrency | a handler waits, ms | the waiting allows, a second | drain, a second | of that | "
             f"{START.text} | {START_99.text} |",
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for point in points:
        limit = point["limit"]
        share = f"{point['drain'][0] / limit:.2f}" if limit else "–"
        lines.append(f"| {point['concurrency']} | {point['pause']} | {f'{limit:,.0f}' if limit else '–'} | "
                     f"{DRAIN.cell(point)} | {share} | {START.cell(point)} | {START_99.cell(point)} |")
    return lines


def _hour(points: list[Point]) -> list[str]:
    """Every tenth part of it."""
    lines = ["| minute | file, MB | WAL, MB | memory, MB | share of a core | a second |",
             "| ---: | ---: | ---: | ---: | ---: | ---: |"]
    step = max(1, len(points) // 10)
    for point in points[step - 1::step]:
        lines.append(f"| {point['second'] / 60:.0f} | {point['file'] / 1e6:.1f} | {point['log'] / 1e6:.1f} | "
                     f"{point['memory'] / 1e6:.1f} | {point['core']:.1%} | {point['rate']:.0f} |")
    return lines


def plots(found: dict) -> dict[str, str]:
    """The pictures, by the name of their curve."""
    drawn = {}
    for name, curve in CURVES.items():
        if name not in found:
            continue
        points, columns = found[name]["points"], {column.text: column for column in curve.columns}
        panels = [Panel(title, [columns[text].line(points) for text in texts], is_log)
                  for title, texts, is_log in curve.panels]
        drawn[name] = draw(curve.head, curve.x_title, [curve.x(point) for point in points], panels)
    if "handlers" in found:
        drawn["handlers"] = _draw_handlers(found["handlers"]["points"])
    if "hour" in found:
        drawn["hour"] = _draw_hour(found["hour"]["points"])
    return drawn


def _draw_handlers(points: list[Point]) -> str:
    pauses = sorted({point["pause"] for point in points})

    def lines(column: Column) -> list[Line]:
        found = []
        for concurrency in sorted({point["concurrency"] for point in points}):
            of_this = [point for point in points if point["concurrency"] == concurrency]
            values = dict(zip([point["pause"] for point in of_this], column.line(of_this).values))
            found.append(Line(f"{concurrency} at the same time", [values.get(pause) for pause in pauses]))
        return found

    return draw(HANDLERS.head, HANDLERS.x_title, [short(pause) for pause in pauses],
                [Panel("drain, actions a second", lines(DRAIN), is_log=True),
                 Panel("milliseconds from the call to the start, p50", lines(START), is_log=True)])


def _draw_hour(points: list[Point]) -> str:
    def line(name: str, key: str, unit: float) -> Line:
        return Line(name, [(point[key] / unit,) * 3 for point in points])

    panels = [Panel("MB on disk", [line("file", "file", 1e6), line("WAL", "log", 1e6)]),
              Panel("MB in memory", [line("the process", "memory", 1e6)]),
              Panel("per cent of a core", [line("the process", "core", 0.01)])]
    return draw(HOUR.head, HOUR.x_title, [HOUR.x(point) for point in points], panels)
