"""Measures in rounds, all workloads in each, so that what disturbs the machine for a while disturbs them alike."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from . import machine, report
from .cells import WORKLOADS, Plan
from .measure import HERE, Bench


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Benchmarks/run", description=__doc__)
    parser.add_argument("form", nargs="?", choices=["full", "quick"], default="full",
                        help="quick: a fifth of the actions, three rounds")
    parser.add_argument("--only", nargs="+", default=[], metavar="W",
                        choices=[workload.key for workload in WORKLOADS], help="these workloads alone")
    parser.add_argument("--rounds", type=int, help="samples of each; 5, or 3 if quick")
    parser.add_argument("--scale", type=float, help="times the usual number of actions; 1, or 0.2 if quick")
    parser.add_argument("--directory", type=Path, default=HERE / ".build",
                        help="where the databases are made and removed; default: beside the repository's files")
    return parser.parse_args()


def measure(plan: Plan, bench: Bench, disk: machine.Disk) -> report.Samples:
    samples: report.Samples = {workload.key: [] for workload in plan.workloads()}
    for number in range(plan.rounds):
        for workload in plan.workloads():
            count = plan.count(workload)
            print(f"round {number + 1} of {plan.rounds}: {workload.key}", file=sys.stderr)
            sample = {}
            # The engine's own layout comes last, right before Sluice.
            for layout in reversed(workload.layouts):
                disk.wait()
                sample[layout] = bench.in_c(workload, count, layout)
            disk.wait()
            sample["sluice"] = bench.in_swift(workload, count)
            samples[workload.key].append(sample)
    return samples


def main() -> None:
    options = arguments()
    is_quick = options.form == "quick"
    plan = Plan(options.rounds or (3 if is_quick else 5), options.scale or (0.2 if is_quick else 1), options.only)
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=options.directory) as name:
        bench = Bench(HERE / ".build" / "release", Path(name))
        disk = machine.Disk(Path(name))
        facts = machine.describe(bench.sqlite_version(), disk)
        facts.append(f"{bench.write_payloads()}; medians of {plan.rounds}")
        before = machine.load_average()
        samples = measure(plan, bench, disk)
        facts.append(f"load average before {before}, after {machine.load_average()}")
    found = report.rows(plan, samples)
    text = report.page(facts, found)
    print(text)
    # Only a whole run is the latest result.
    name = "latest" if not is_quick and not options.only else "partial"
    (HERE / "Results").mkdir(exist_ok=True)
    (HERE / "Results" / f"{name}.md").write_text(text, encoding="utf-8")
    raw = {"facts": facts, "rows": found}
    (HERE / "Results" / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
