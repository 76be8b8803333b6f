"""How fast several processes drain one file, beside one that does it alone."""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from .machine import Disk
from .measure import HERE, Bench

# Seconds after which a program is stuck.
PATIENCE = 600


def drained(bench: Bench, files: list[Path], options: list[str]) -> tuple[float, list[int]]:
    """The seconds from the first begin to the last start of a handler, and what each process has settled.

    A process for each file named; one that is named twice is shared.
    """
    workers = [subprocess.Popen([str(bench.workloads), "share", "--file", str(file), *options],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for file in files]
    try:
        for worker in workers:
            if worker.stdout.readline() != "ready\n":
                raise RuntimeError("a process did not open the file")
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        answers = [json.loads(worker.communicate(timeout=PATIENCE)[0]) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    ended = max(answer["ended"] for answer in answers)
    began = min(answer["began"] for answer in answers)
    return (ended - began) / 1e9, [answer["settled"] for answer in answers]


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/processes", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="actions in the file")
    parser.add_argument("--queues", type=int, nargs="+", default=[64, 10_000])
    parser.add_argument("--pauses", type=int, nargs="+", default=[0, 2, 5],
                        help="milliseconds that each handler waits, as for the answer of a server")
    parser.add_argument("--concurrency", type=int,
                        help="how many handlers each process runs at the same time at most (default: 64)")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--no-apart", dest="apart", action="store_false",
                        help="leave out the same number of processes with a file for each, which is what the "
                             "machine itself allows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="where the files are made")
    options = parser.parse_args()
    programs = HERE / ".build" / "release"
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        bench = Bench(programs, Path(folder))
        bench.write_payloads()
        disk = Disk(bench.folder)
        for pause in options.pauses:
            for queues in options.queues:
                compare(bench, disk, options, queues, pause)


def measured(bench: Bench, disk: Disk, options: argparse.Namespace, way: tuple[int, bool], queues: int,
             pause: int) -> tuple[float, float]:
    """Fills a file, or one for each process, and drains it: actions a second, and the part of who did least."""
    processes, apart = way
    files = [bench.folder / f"share-{number}.sqlite" for number in range(processes if apart else 1)]
    for file in files:
        # In turn they would lie in the order in which one process runs them, and in no other's.
        bench.fill(file, options.count // len(files), queues, "--shuffled")
    disk.wait()
    workload = ["--pause", str(pause)]
    if options.concurrency is not None:
        workload += ["--concurrency", str(options.concurrency)]
    seconds, settled = drained(bench, files if apart else files * processes, workload)
    # One that was taken for dead would have some run twice.
    if sum(settled) != options.count // len(files) * len(files):
        raise RuntimeError(f"{sum(settled)} settled of {options.count}")
    print(f"{pause} ms, {queues} queues, {name(way)}: {sum(settled) / seconds:,.0f} a second, "
          f"settled {settled}", flush=True)
    for file in files:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
    return sum(settled) / seconds, min(settled) / sum(settled)


def name(way: tuple[int, bool]) -> str:
    processes, apart = way
    return f"{processes} process{'es' if processes > 1 else ''}{', a file each' if apart else ''}"


def compare(bench: Bench, disk: Disk, options: argparse.Namespace, queues: int, pause: int) -> None:
    """Drains the same work in each way, in turn first, and prints the medians."""
    ways = [(processes, False) for processes in options.processes]
    if options.apart:
        ways += [(processes, True) for processes in options.processes if processes > 1]
    found: dict[tuple[int, bool], list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(options.rounds):
        # In turn first, as the machine and its disk change while they are measured.
        turn = number % len(ways)
        for way in ways[turn:] + ways[:turn]:
            found[way].append(measured(bench, disk, options, way, queues, pause))
    for way, samples in found.items():
        median = statistics.median(rate for rate, _ in samples)
        # Of what ran beside each other, as the machine's own rate moves more than what is compared.
        ratios = [rate / alone for (rate, _), (alone, _) in zip(samples, found[ways[0]])]
        # Two of which one does it all are as fast as one.
        least = statistics.median(part for _, part in samples)
        print(f"handlers of {pause} ms, {queues:,} queues, {name(way)}: median {median:,.0f} a second, "
              f"{statistics.median(ratios):.2f} of {name(ways[0])} in the same round "
              f"({min(ratios):.2f} to {max(ratios):.2f}); who did least did {least:.0%}", flush=True)


if __name__ == "__main__":
    main()
