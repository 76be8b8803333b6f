"""How the engine does as something grows: backlog, queues, payloads, handlers' time, hours, files.

Each curve is a list of points, and each point several samples; the page has a plot and a table for each curve. Curves
that are not measured again keep what they had, each with its own machine and day.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from . import growth_page, machine
from .measure import CHAT, HERE, PATIENCE, Bench

RESULTS = HERE / "Results"
PROGRAM = HERE / ".build" / "release" / "Workloads"

Sample = dict[str, float]


@dataclass
class Stage:
    """What a curve has to work with."""

    folder: Path
    disk: machine.Disk
    rounds: int
    scale: float

    def run(self, command: str, *options) -> str:
        words = [str(PROGRAM), command, *map(str, options)]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout

    def payloads(self, size: int | None = None) -> Path:
        """A file of payloads, of a number of bytes or as chat has them."""
        path = self.folder / f"payloads-{size}.jsonl"
        if not path.exists():
            source = ["--from", CHAT] if CHAT.exists() else []
            self.run("payloads", *source, *(["--size", size] if size else []), path)
        return path

    def point(self, file: Path, *options, size: int | None = None) -> Sample:
        self.disk.wait()
        return json.loads(self.run("point", "--file", file, "--payloads", self.payloads(size), *options))

    def on_new_file(self, command: str, *options, size: int | None = None) -> Sample:
        """What a command answers for a file, or several, of its own."""
        self.disk.wait()
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            file = Path(name) / "queues.sqlite"
            return json.loads(self.run(command, "--file", file, "--payloads", self.payloads(size), *options))

    def scaled(self, count: float) -> int:
        return max(1, round(count * self.scale))

    def sizes(self, largest: int) -> Iterator[int]:
        """Powers of ten up to a limit; fewer at a smaller scale."""
        size = 1
        while size <= self.scaled(largest):
            yield size
            size *= 10


def rates(sample: Sample, count: int) -> Sample:
    """A sample with its two rates instead of its times."""
    found = {key: value for key, value in sample.items() if key not in ("enqueue", "drain")}
    return {"enqueue": count / sample["enqueue"], "drain": count / sample["drain"], **found}


def backlog(stage: Stage) -> Iterator[tuple[dict, list[Sample]]]:
    """What waits in 1,000 queues: some of it is drained, then the rest is held and other queues are used."""
    drained, count = stage.scaled(20_000), stage.scaled(20_000)
    for waiting in stage.sizes(10_000_000):
        if waiting < 1_000:
            continue
        file = stage.folder / f"backlog-{waiting}.sqlite"
        missing, samples = waiting + drained, []
        for _ in range(stage.rounds):
            stage.run("fill", "--file", file, "--payloads", stage.payloads(), "--count", missing,
                      "--queues", min(1_000, waiting))
            stage.disk.wait()
            answer = json.loads(stage.run("backlog", "--file", file, "--count", drained))
            missing = answer["settled"]
            beside = stage.point(file, "--hold", "--count", count)
            samples.append({"backlog": drained / answer["seconds"], **rates(beside, count)})
        bytes_used = file.stat().st_size
        remove(file)
        yield {"waiting": waiting, "file": bytes_used}, samples


def queues(stage: Stage) -> Iterator[tuple[dict, list[Sample]]]:
    """As many queues, with one action each or 100,000 actions among them."""
    for number in stage.sizes(1_000_000):
        count = max(stage.scaled(100_000), number)
        samples = [rates(stage.on_new_file("point", "--count", count, "--queues", number), count)
                   for _ in range(stage.rounds)]
        yield {"queues": number, "actions": count}, samples


def payload(stage: Stage) -> Iterator[tuple[dict, list[Sample]]]:
    """Payloads of one size, 100 MB of them or 100,000."""
    for size in (10, 1_000, 10_000, 100_000, 1_000_000):
        lengths = [len(line) for line in stage.payloads(size).read_bytes().splitlines()]
        length = round(sum(lengths) / len(lengths))
        count = stage.scaled(min(100_000, 100_000_000 // size))
        batch = max(1, min(1_000, 4_000_000 // size))
        samples = [rates(stage.on_new_file("point", "--count", count, "--batch", batch, "--queues", 64,
                                           "--rate", min(500, max(20, 20_000_000 // size)),
                                           "--probes", stage.scaled(max(100, min(1_000, 20_000_000 // size))),
                                           size=size), count)
                   for _ in range(stage.rounds)]
        yield {"bytes": length}, samples


def handlers(stage: Stage) -> Iterator[tuple[dict, list[Sample]]]:
    """Handlers that wait, and how many of them run at the same time."""
    for concurrency in (1, 8, 64, 512):
        for pause in (0, 1, 10, 100):
            # What the waiting alone allows.
            limit = concurrency * 1_000 / pause if pause else None
            count = stage.scaled(min(100_000, 3 * limit) if limit else 50_000)
            rate = max(1, min(500, round(limit / 2))) if limit else 500
            samples = [rates(stage.on_new_file("point", "--count", count, "--pause", pause, "--concurrency",
                                               concurrency, "--rate", rate,
                                               "--probes", stage.scaled(min(1_000, 2 * rate))), count)
                       for _ in range(stage.rounds)]
            yield {"concurrency": concurrency, "pause": pause, "limit": limit}, samples


def files(stage: Stage) -> Iterator[tuple[dict, list[Sample]]]:
    """Queues spread over several files in one process."""
    count = stage.scaled(100) * 4_000
    for number in (1, 2, 4):
        samples = [rates(stage.on_new_file("files", "--files", number, "--count", count), count)
                   for _ in range(stage.rounds)]
        yield {"files": number}, samples


CURVES: dict[str, Callable[[Stage], Iterator[tuple[dict, list[Sample]]]]] = {
    "backlog": backlog, "queues": queues, "payload": payload, "handlers": handlers, "files": files,
}


def hour(stage: Stage, seconds: int) -> list[dict]:
    """The sizes under a steady load, a sample every ten seconds."""
    file = stage.folder / "steady.sqlite"
    command = [str(PROGRAM), "steady", "--file", str(file), "--payloads", str(stage.payloads()),
               "--seconds", str(seconds), "--every", "10"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=seconds + PATIENCE)
    remove(file)
    return [json.loads(line) for line in output.stdout.splitlines()]


def remove(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def summary(facts: dict, samples: list[Sample]) -> dict:
    """A point of a curve: the median of each number, with the lowest and the highest."""
    return facts | {
        key: [median(values), min(values), max(values)]
        for key in samples[0] if (values := [sample[key] for sample in samples])
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/growth", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[*CURVES, "hour"], choices=[*CURVES, "hour"], metavar="CURVE",
                        help=f"these alone: {', '.join([*CURVES, 'hour'])}")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each point; 3")
    parser.add_argument("--scale", type=float, default=1, help="times the usual number of actions; 1")
    parser.add_argument("--seconds", type=int, default=3_600, help="of the steady load; 3,600")
    parser.add_argument("--directory", type=Path, default=HERE / ".build",
                        help="where databases are made and removed; default: beside the repository's files")
    options = parser.parse_args()
    path = RESULTS / "growth.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    is_whole = options.scale == 1 and options.rounds >= 3 and options.seconds >= 3_600
    with tempfile.TemporaryDirectory(prefix="sluice-growth-", dir=options.directory) as name:
        bench, disk = Bench(PROGRAM.parent, Path(name)), machine.Disk(Path(name))
        stage = Stage(Path(name), disk, options.rounds, options.scale)
        # Not afterwards: somebody may commit meanwhile.
        measured = machine.commit()
        for curve in options.only:
            print(curve, file=sys.stderr)
            if curve == "hour":
                points = hour(stage, options.seconds)
            else:
                points = [summary(*point) for point in CURVES[curve](stage)]
            facts = [*machine.describe(bench.sqlite_version(), disk), f"commit {measured}",
                     f"medians of {options.rounds}" if curve != "hour" else f"{options.seconds} seconds"]
            found[curve] = {"facts": facts, "points": points}
            if is_whole:
                write(path, found)
    print(growth_page.page(found))


def write(path: Path, found: dict) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "growth.md").write_text(growth_page.page(found), encoding="utf-8")
    for curve, svg in growth_page.plots(found).items():
        (RESULTS / f"growth-{curve}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
