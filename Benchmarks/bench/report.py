"""The table, from the samples."""

from statistics import median

from . import numbers, reasons
from .cells import BOTH, COMPARISONS, ROWS, Plan, Row

# For each workload a list of samples; a sample has seconds by phase, of Sluice and of each probe's layout.
Samples = dict[str, list[dict[str, dict[str, float]]]]


def rate(count: int, seconds: list[float]) -> float:
    return count / median(seconds)


def seconds(phases: dict[str, float], row: Row) -> float:
    return phases["enqueue"] + phases["drain"] if row.phase == BOTH else phases[row.phase]


def rows(plan: Plan, samples: Samples) -> dict[str, dict]:
    """What stands in each row; ratios are of a sample of Sluice to the probe taken right before it."""
    found = {}
    workloads = {workload.key: workload for workload in plan.workloads()}
    for row in ROWS:
        if row.workload not in workloads:
            continue
        count = plan.count(workloads[row.workload])
        sluice = [seconds(sample["sluice"], row) for sample in samples[row.workload]]
        probe = [seconds(sample[row.layout], row) for sample in samples[row.workload]]
        ratios = sorted(c / swift for c, swift in zip(probe, sluice))
        found[row.key] = {
            "text": row.text, "workload": workloads[row.workload].name or row.workload,
            "commits": row.commits, "goal": row.goal, "actions": count, "c": rate(count, probe), "sluice": rate(count, sluice), "ratios": ratios,
        }
    return found


def table(found: dict[str, dict]) -> list[str]:
    lines = [
        "| | workload | actions | commits are | C, a second | Sluice, a second | ratio (lowest to highest) | goal |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in found.values():
        ratios = row["ratios"]
        lines.append(
            f"| {row['workload']} | {row['text']} | {row['actions']:,} | {row['commits']} | {row['c']:,.0f} | "
            f"{row['sluice']:,.0f} | {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {row['goal'] or ''} |"
        )
    return lines


def comparisons(found: dict[str, dict]) -> list[str]:
    return [
        f"- {words}: {found[one]['sluice'] / found[other]['sluice']:.1f} times (goal {goal})"
        for one, other, words, goal in COMPARISONS if one in found and other in found
    ]


def page(facts: list[str], found: dict[str, dict], lines: list[dict]) -> str:
    head = ["# Results of `Benchmarks/run`", "", *(f"- {fact}" for fact in facts)]
    ratios = table(found) if found else []
    parts = [head, ratios, comparisons(found), numbers.table(lines), reasons.section(found, lines)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"
