"""The plot of the peers: bars of ratios to C, as plain SVG."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from .lines import label
from .peers.cells import FULL, LEVELS, NORMAL

WIDTH, LABELS, NUMBERS = 860, 250, 150
BAR, GAP, HEAD, GROUP_GAP, TOP, BOTTOM = 15, 4, 24, 14, 58, 34

STYLE = """
text { font: 12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #6e7781 }
.title { font-size: 16px; font-weight: 600 } .head { font-weight: 600 } .end { text-anchor: end }
.middle { text-anchor: middle } .sluice { fill: #0b7fab } .peer { fill: #9aa4af }
.one { stroke: #cf5c36; stroke-width: 1.5 } .c { fill: #cf5c36 }
.grid { stroke: #8c959f; stroke-opacity: 0.35 }
@media (prefers-color-scheme: dark) {
  text { fill: #b1bac4 } .sluice { fill: #3fb0dd } .peer { fill: #6e7681 } .one { stroke: #f0883e }
  .c { fill: #f0883e }
}
"""


@dataclass(frozen=True)
class Group:
    """The bars of one workload: Sluice and the best peers at one level."""

    head: str
    cell: str
    level: int
    # So many of the best peers; of a backlog all, since it is what tells them apart.
    best: int = 3


GROUPS = [
    Group("W1 · enqueue, one caller, one at a time", "W1 enqueue", FULL),
    Group("W2 · enqueue, 64 callers, one at a time each", "W2 enqueue", FULL),
    Group("W3 · enqueue, batches of 1,000", "W3 enqueue", FULL),
    Group("W4 · drain one queue", "W4 drain", FULL),
    Group("W5 · drain one queue", "W4 drain", NORMAL),
    Group("W6 · enqueue into 10,000 queues, batches of 1,000", "W6 enqueue", FULL),
    Group("W6 · drain 10,000 queues", "W6 drain", FULL),
    Group("W6 · drain 10,000 queues", "W6 drain", NORMAL),
    Group("W8 · drain with 1 million waiting", "W8b drain", NORMAL, best=9),
]


@dataclass(frozen=True)
class Bar:
    text: str
    ratio: float
    rate: float
    is_sluice: bool


def _bars(group: Group, rows: list[dict[str, Any]]) -> list[Bar]:
    found = []
    for row in rows:
        cell = row.get("cells", {}).get(group.cell, {})
        is_sluice = row["key"] == "sluice"
        if "ratios" not in cell or not _belongs(row, group, is_sluice):
            continue
        name = row["text"].replace("*", "").replace("`", "")
        # Sluice's enqueues are synced in both of its rows.
        level = LEVELS[group.level]
        text = f"{name} {row['version']}".strip() + f" · {level}"
        found.append(Bar(text, median(cell["ratios"]), cell["rate"], is_sluice))
    found.sort(key=lambda bar: bar.ratio, reverse=True)
    peers = [bar for bar in found if not bar.is_sluice]
    return [bar for bar in found if bar.is_sluice] + peers[:group.best]


def _belongs(row: dict[str, Any], group: Group, is_sluice: bool) -> bool:
    """At the group's level, with a write-ahead log."""
    if is_sluice:
        return (row["durability"] == "full") == (group.level == FULL)
    return row.get("synchronous") == group.level and row.get("journal") == "wal"


def _number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}" if value >= 0.0001 else "0"


def draw(section: dict[str, Any]) -> str:
    """The picture. It needs no script and no font, and is legible on white and on black."""
    groups = [(group, bars) for group in GROUPS if (bars := _bars(group, section["rows"]))]
    widest = max([1.0] + [bar.ratio for _, bars in groups for bar in bars])
    scale = (WIDTH - LABELS - NUMBERS) / widest
    height = TOP + BOTTOM + sum(HEAD + GROUP_GAP + len(bars) * (BAR + GAP) for _, bars in groups)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}" role="img">',
        "<title>Rates as ratios to a plain C loop on the same disk</title>", f"<style>{STYLE}</style>",
        label(12, 22, "Actions a second, as a ratio to a plain C loop at the same durability", "title"),
    ]
    lines += [label(x, TOP - 8, text, kind) for x, text, kind in _ticks(widest, scale)]
    lines.append(label(WIDTH - NUMBERS + 62, TOP - 8, "ratio", "end"))
    lines.append(label(WIDTH - 12, TOP - 8, "a second", "end"))
    y = TOP
    for group, bars in groups:
        lines.append(label(12, y + HEAD - 8, group.head, "head"))
        y += HEAD
        bottom = y + len(bars) * (BAR + GAP)
        lines += [_line(x, y - 2, bottom - 2, "one" if "c" in kind.split() else "grid")
                  for x, _, kind in _ticks(widest, scale)]
        for bar in bars:
            lines += _bar(bar, y, scale)
            y += BAR + GAP
        y += GROUP_GAP
    lines.append(label(12, height - 10, section["facts"][0]))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(bar: Bar, y: float, scale: float) -> list[str]:
    kind, weight = ("sluice", " head") if bar.is_sluice else ("peer", "")
    return [
        label(LABELS - 8, y + BAR - 3, bar.text, "end" + weight),
        f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{max(1.0, bar.ratio * scale):.1f}" height="{BAR}"'
        ' rx="2"/>',
        label(WIDTH - NUMBERS + 62, y + BAR - 3, _number(bar.ratio), "end" + weight),
        label(WIDTH - 12, y + BAR - 3, f"{bar.rate:,.0f}", "end" + weight),
    ]


def _ticks(widest: float, scale: float) -> list[tuple[float, str, str]]:
    """Where the axis has lines, with their texts and classes; that of C is at 1."""
    step = next(step for step in (0.2, 0.5, 1, 2, 5, 10, 50) if widest / step <= 8)
    numbers = [number * step for number in range(int(widest / step + 1e-9) + 1)]
    ticks = [(LABELS + number * scale, f"{number:g}", "middle") for number in numbers
             if abs(number - 1) > 1e-9]
    return [*ticks, (LABELS + scale, "1 = C", "middle c head")]


def _line(x: float, top: float, bottom: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'
