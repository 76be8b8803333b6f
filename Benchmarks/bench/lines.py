"""Curves as plain SVG: panels side by side, each with lines over the same points."""

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

PANEL, HEIGHT, LEFT, TOP, BOTTOM, GAP = 270, 250, 52, 46, 42, 16
# The lines of a panel, at most.
COLORS = [("#0b7fab", "#3fb0dd"), ("#cf5c36", "#f0883e"), ("#5b8c3e", "#7fb069"), ("#8a5fa8", "#b28dd0")]

STYLE = """
text { font: 12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #6e7781 }
.head { font-weight: 600 } .end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: #8c959f; stroke-opacity: 0.35 } .line { fill: none; stroke-width: 2 }
""" + "".join(f".l{n} {{ stroke: {light} }} .f{n} {{ fill: {light} }}\n" for n, (light, _) in enumerate(COLORS)) + """
@media (prefers-color-scheme: dark) {
  text { fill: #b1bac4 }
""" + "".join(f"  .l{n} {{ stroke: {dark} }} .f{n} {{ fill: {dark} }}\n" for n, (_, dark) in enumerate(COLORS)) + "}\n"


@dataclass(frozen=True)
class Line:
    """A name, and for each point the median with the lowest and the highest, or nothing."""

    name: str
    values: list[tuple[float, float, float] | None]


@dataclass(frozen=True)
class Panel:
    title: str
    lines: list[Line]
    is_log: bool = False


class _Scale:
    """Where a value stands between the bottom and the top of a panel, and the values that get a grid line."""

    def __init__(self, panel: Panel):
        values = [value for line in panel.lines for found in line.values if found for value in found]
        self.is_log = panel.is_log
        if self.is_log:
            low = math.floor(math.log10(max(min(values), 1e-9)))
            high = max(low + 1, math.ceil(math.log10(max(values))))
            self.low, self.high = low, high
            self.ticks = [10.0 ** power for power in range(low, high + 1)]
        else:
            largest = max([*values, 1e-9])
            power = 10.0 ** math.floor(math.log10(largest))
            step = power * next(part for part in (0.2, 0.5, 1, 2, 5) if largest <= 6 * part * power)
            self.low, self.high = 0.0, step * math.ceil(largest / step)
            self.ticks = [step * number for number in range(round(self.high / step) + 1)]

    def y(self, value: float) -> float:
        value = math.log10(max(value, 1e-9)) if self.is_log else value
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def draw(title: str, x_title: str, labels: list[str], panels: list[Panel]) -> str:
    """The picture; of many points only some get their label."""
    width = len(panels) * (PANEL + GAP)
    rows = max(len(panel.lines) for panel in panels)
    height = HEIGHT + 16 * rows + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img">', f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number * (PANEL + GAP), x_title, labels)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, left: float, x_title: str, labels: list[str]) -> list[str]:
    scale = _Scale(panel)
    start, end = left + LEFT, left + PANEL - 10
    step = (end - start - 16) / max(1, len(labels) - 1)
    places = [start + 8 + number * step for number in range(len(labels))]
    parts = [label(left + 8, 18, panel.title, "head")]
    for tick in scale.ticks:
        y = scale.y(tick)
        parts.append(f'<line class="grid" x1="{start}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(label(start - 6, y + 4, short(tick), "end"))
    every = math.ceil(len(labels) / 7)
    parts += [label(place, HEIGHT - BOTTOM + 16, words, "middle")
              for place, words in list(zip(places, labels))[::every]]
    parts.append(label((start + end) / 2, HEIGHT - BOTTOM + 32, x_title, "middle"))
    for number, line in enumerate(panel.lines):
        parts += _line(line, number, places, scale)
        y = HEIGHT + 16 * number + 4
        parts.append(f'<rect class="f{number}" x="{start}" y="{y - 8}" width="14" height="4"/>')
        parts.append(label(start + 20, y, line.name))
    return parts


def _line(line: Line, number: int, places: list[float], scale: _Scale) -> list[str]:
    points = [(x, found) for x, found in zip(places, line.values) if found]
    path = " ".join(f"{x:.1f},{scale.y(found[0]):.1f}" for x, found in points)
    parts = [f'<polyline class="line l{number}" points="{path}"/>']
    # Of many points the line alone can be read.
    if len(points) > 40:
        return parts
    for x, (value, low, high) in points:
        parts.append(f'<circle class="f{number}" cx="{x:.1f}" cy="{scale.y(value):.1f}" r="3"/>')
        parts.append(f'<line class="l{number}" x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(low):.1f}"'
                     f' y2="{scale.y(high):.1f}"/>')
    return parts


def short(value: float) -> str:
    """A number in few characters: 1k, 2.5M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def label(x: float, y: float, words: str, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{mark}>{escape(words)}</text>'
