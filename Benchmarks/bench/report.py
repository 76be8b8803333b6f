"""The table, from the samples."""

from statistics import median

from .cells import BOTH, COMPARISONS, ROWS, Plan, Row

# For each workload a list of samples; a sample has seconds by phase, of Sluice and of each probe's layout.
Samples = dict[str, list[dict[str, dict[str, float]]]]


def rate(count: int, seconds: list[float]) -> float:
    return count / median(seconds)


def seconds(phases: dict[str, float], row: Row) -> float:
    return phases["enqueue"] + phases["drain"] if row.phase == BOTH else phases[row.phase]


def after(layout: str) -> str:
    """The run of Sluice right after the one of C on that layout."""
    return f"sluice after {layout}"


def rows(plan: Plan, samples: Samples) -> dict[str, dict]:
    """What stands in each row; ratios are of a sample of Sluice to the probe taken right before it."""
    found = {}
    workloads = {workload.key: workload for workload in plan.workloads()}
    for row in ROWS:
        if row.workload not in workloads:
            continue
        workload = workloads[row.workload]
        count = plan.count(workload)
        sluice = [seconds(sample[after(row.layout)], row) for sample in samples[row.workload]]
        probe = [seconds(sample[row.layout], row) for sample in samples[row.workload]]
        found[row.key] = {
            "text": row.text, "workload": workload.name or row.workload, "commits": row.commits,
            "goal": row.goal, "actions": count, "c": rate(count, probe), "sluice": rate(count, sluice),
            "ratios": sorted(c / swift for c, swift in zip(probe, sluice)),
            "rates": [count / time for time in sluice],
        }
    return found


def table(found: dict[str, dict]) -> list[str]:
    if not found:
        return []
    lines = [
        "| | workload | actions | commits are | C, a second | Sluice, a second | ratio (lowest to highest) "
        "| goal |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in found.values():
        ratios = row["ratios"]
        lines.append(
            f"| {row['workload']} | {row['text']} | {row['actions']:,} | {row['commits']} | "
            f"{row['c']:,.0f} | {row['sluice']:,.0f} | {median(ratios):.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {row['goal'] or ''} |"
        )
    return lines


def comparisons(found: dict[str, dict]) -> list[dict]:
    """Rows of Sluice beside one another, round by round."""
    compared = []
    for one, other, words, commits, goal in COMPARISONS:
        if one not in found or other not in found:
            continue
        times = median(a / b for a, b in zip(found[one]["rates"], found[other]["rates"]))
        compared.append({"workload": found[one]["workload"], "key": f"{one} to {other}", "text": words,
                         "commits": commits, "times": times, "goal": goal})
    return compared


def compared_lines(compared: list[dict]) -> list[str]:
    return [f"- {line['text']}, {line['commits']}: {line['times']:.1f} times (goal {line['goal']}, "
            f"{'met' if line['times'] >= line['goal'] else 'not met'})" for line in compared]
