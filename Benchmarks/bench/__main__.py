"""Measures in rounds, all workloads in each: what disturbs the machine for a while disturbs them alike."""

import argparse
import sys
import tempfile
from pathlib import Path

from . import machine, numbers, report, results
from .cells import WORKLOADS, Plan, Workload
from .measure import HERE, Bench
from .scenes import SCENES, Scene, Stage


def arguments() -> argparse.Namespace:
    names = sorted({item.name or item.key for item in WORKLOADS} | {scene.key for scene in SCENES},
                   key=lambda name: int(name[1:]))
    parser = argparse.ArgumentParser(prog="Benchmarks/run", description=__doc__)
    parser.add_argument("form", nargs="?", choices=["full", "quick"], default="full",
                        help="quick: a fifth of the actions, three rounds; both go on with the peers")
    parser.add_argument("--only", nargs="+", default=[], metavar="W",
                        choices=names, help="these workloads alone")
    parser.add_argument("--rounds", type=int, help="samples of each; 9, or 3 if quick")
    parser.add_argument("--scale", type=float, help="times the usual number of actions; 1, or 0.2 if quick")
    parser.add_argument("--directory", type=Path, default=HERE / ".build",
                        help="where databases are made and removed; default: beside the repository's files")
    return parser.parse_args()


def measure(stage: Stage, scenes: list[Scene]) -> report.Samples:
    plan = stage.plan
    samples: report.Samples = {item.key: [] for item in [*plan.workloads(), *scenes]}
    for number in range(plan.rounds):
        for workload in plan.workloads():
            say(plan, number, workload.key)
            samples[workload.key].append(sample(stage, workload))
        for scene in scenes:
            say(plan, number, scene.key)
            samples[scene.key] += scene.samples(number)
    return samples


def say(plan: Plan, number: int, key: str) -> None:
    print(f"round {number + 1} of {plan.rounds}: {key}", file=sys.stderr)


def sample(stage: Stage, workload: Workload) -> dict[str, dict[str, float]]:
    """For each layout a run of C, and one of Sluice right after it."""
    count = stage.plan.count(workload)
    found = {}
    for layout in workload.layouts:
        stage.disk.wait()
        found[layout] = stage.bench.in_c(workload, count, layout)
        stage.disk.wait()
        found[report.after(layout)] = stage.bench.in_swift(workload, count)
    return found


def main() -> None:
    options = arguments()
    is_quick = options.form == "quick"
    rounds, scale = (3, 0.2) if is_quick else (9, 1)
    plan = Plan(options.rounds or rounds, options.scale or scale, options.only)
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=options.directory) as name:
        bench = Bench(HERE / ".build" / "release", Path(name))
        disk = machine.Disk(Path(name))
        facts = [*machine.describe(bench.sqlite_version(), disk), f"commit {machine.commit()}"]
        facts.append(f"{bench.write_payloads()}; medians of {plan.rounds}")
        before = machine.load_average()
        stage = Stage(plan, bench, disk)
        scenes = [scene(stage) for scene in SCENES if plan.includes(scene.key)]
        samples = measure(stage, scenes)
        facts += [f"load average before {before}, after {machine.load_average()}", *disk.report()]
    found = report.rows(plan, samples)
    lines = numbers.found(samples, {scene.key: scene.sizes for scene in scenes})
    compared = report.comparisons(found)
    # Only a whole run is the latest result.
    name = "latest" if plan.is_whole else "partial"
    print(results.write(name, {"facts": facts, "rows": found, "compared": compared, "numbers": lines}))


if __name__ == "__main__":
    main()
