"""The table of the peers, from their rows."""

from statistics import median
from typing import Any

from .cells import CELLS, LEVELS, SLUICE

Row = dict[str, Any]

COLUMNS = {f"{cell.key} {phase}": head for cell in CELLS for phase, head in cell.columns.items()}

LEGEND = [
    "Each cell: actions a second, and in brackets the ratio to the C loop on Sluice's own schema, at the "
    "same level, right before it, and the number of samples that both are medians of: {rounds}, or as"
    " many as fit into {seconds:.0f} seconds.",
    "†: stopped after {seconds:.0f} seconds, with the rate so far. –: no number, for the reason below.",
    "W4 and W5 are one column: a row at FULL is W4, a row at NORMAL is W5. Sluice's enqueues are FULL as it "
    "comes, too; in its row at NORMAL they are not. In C, W8 has 10 thousand waiting in both columns. In W2"
    " all callers have one queue; above they have one each.",
    "Where there are 10,000 queues, a round is one action of each of 64: Sluice and the C loop commit it "
    "together, so do the plain loop and diskcache; honker acknowledges it in one commit after 64 claims,"
    " and the queue on GRDB, litequeue, huey and localqueue do it one by one.",
    "What waits before a drain was put by the peer itself for the first 4,096 messages; the rest are copies "
    "of those rows by SQL. Sluice puts all of it itself. In W8 the file is opened anew before"
    " the drain.",
    "To take an action is a commit and to settle it another, except here: Sluice and the C loop claim the "
    "next one where they settle the last. huey and diskcache delete an action before it runs, so that it is "
    "lost if its process dies. The plain loop and the queue on GRDB delete it afterwards and never"
    " claim, so that there can be only one worker.",
    "Callers of the peers in Python are threads; those of Sluice and of the queue on GRDB are tasks.",
]


def number(ratio: float) -> str:
    """Two digits after the point, or two that are not 0."""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}" if ratio >= 0.0001 else f"{ratio:.6f}"


def rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _cell(found: dict[str, Any]) -> str:
    if "unsupported" in found:
        return "–"
    if "failed" in found:
        return "failed"
    ratios, mark = found["ratios"], " †" if found["stopped"] else ""
    return f"{rate(found['rate'])} ({number(median(ratios))} of {len(ratios)}){mark}"


def commits(row: Row) -> str:
    """The level that was read back, or in Sluice is known from its documentation, and the journal where it is
    another one than everybody's."""
    level = LEVELS.get(row.get("synchronous", -1), "unknown")
    journal = row.get("journal", "wal")
    text = level if journal == "wal" else f"{level}, journal: {journal}"
    if row["durability"] != "default":
        return text
    return f"{text}, enqueues FULL, as it comes" if row["key"] == SLUICE.key else f"{text}, as it comes"


def table(rows: list[Row]) -> list[str]:
    lines = ["| | commits are | " + " | ".join(COLUMNS.values()) + " |",
             "| --- | --- |" + " ---: |" * len(COLUMNS)]
    for row in rows:
        if "missing" in row:
            continue
        cells = [_cell(row["cells"][key]) if key in row["cells"] else "" for key in COLUMNS]
        lines.append(f"| {title(row)} | {commits(row)} | " + " | ".join(cells) + " |")
    return lines


def title(row: Row) -> str:
    return f"{row['text']} {row['version']}".strip()


def reasons(rows: list[Row]) -> list[str]:
    """Why a peer is not there, or a cell has no number; each once."""
    lines: dict[str, None] = {}
    for row in rows:
        if "missing" in row:
            lines[f"- {title(row)} is left out: {row['missing']}."] = None
        for key, found in row.get("cells", {}).items():
            for word in ("unsupported", "failed"):
                if word in found:
                    about = COLUMNS[key].split()[0].rstrip(",")
                    lines[f"- {row['text']}, {about}, {word.replace('un', 'not ')}: {found[word]}."] = None
    return list(lines)


def section(found: dict[str, Any]) -> list[str]:
    rows = found["rows"]
    legend = [f"- {line.format(**found)}" for line in LEGEND]
    head = ["## The peers", "", *(f"- {fact}" for fact in found["facts"]), ""]
    return [*head, *table(rows), "", *legend, *reasons(rows)]
