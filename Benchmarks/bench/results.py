"""The pages of results: their parts, and the files that they stand in."""

import json
from typing import Any

from . import numbers, plot, reasons, report
from .measure import HERE
from .peers import report as peers_report
from .peers import promises, standing

RESULTS = HERE / "Results"


def write(name: str, parts: dict[str, Any]) -> str:
    """Puts parts of the results of that name in the place of what was there; answers the page."""
    RESULTS.mkdir(exist_ok=True)
    raw = read(name) | parts
    (RESULTS / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    text = page(name, raw)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    if "peers" in raw:
        (RESULTS / f"{name}.svg").write_text(plot.draw(raw["peers"]), encoding="utf-8")
    return text


def read(name: str) -> dict[str, Any]:
    """The results of that name, or nothing."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def page(name: str, raw: dict[str, Any]) -> str:
    rows, lines, compared = raw.get("rows", {}), raw.get("numbers", []), raw.get("compared", [])
    sections = [
        ["# Results of `Benchmarks/run`", "", *(f"- {fact}" for fact in raw.get("facts", []))],
        report.table(rows),
        report.compared_lines(compared),
        numbers.table(lines),
        reasons.section(rows, compared, lines),
    ]
    if "peers" in raw:
        sections += [
            [f"![Ratios to C]({name}.svg)"],
            peers_report.section(raw["peers"]),
            promises.section(raw["peers"]),
            standing.section(raw["peers"]),
        ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"
