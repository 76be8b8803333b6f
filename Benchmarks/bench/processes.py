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


def drained(bench: Bench, file: Path, processes: int, pause: int) -> tuple[float, list[int]]:
    """The seconds from the first begin to the last start of a handler, and what each process has settled."""
    command = [str(bench.workloads), "share", "--file", str(file), "--pause", str(pause)]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(processes)]
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
    parser.add_argument("--pauses", type=int, nargs="+", default=[0, 5],
                        help="milliseconds that each handler waits, as for the answer of a server")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
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


def compare(bench: Bench, disk: Disk, options: argparse.Namespace, queues: int, pause: int) -> None:
    """Drains the same file by each number of processes, in turn first, and prints the medians."""
    rates: dict[int, list[float]] = {processes: [] for processes in options.processes}
    shares: dict[int, list[float]] = {processes: [] for processes in options.processes}
    for number in range(options.rounds):
        # In turn first, as the machine and its disk change while they are measured.
        turn = number % len(options.processes)
        for processes in options.processes[turn:] + options.processes[:turn]:
            file = bench.folder / f"share-{queues}-{processes}-{number}.sqlite"
            bench.fill(file, options.count, queues)
            disk.wait()
            seconds, settled = drained(bench, file, processes, pause)
            # One that was taken for dead would have some run twice.
            if sum(settled) != options.count:
                raise RuntimeError(f"{sum(settled)} settled of {options.count}")
            rates[processes].append(options.count / seconds)
            # Two of which one does it all are as fast as one.
            shares[processes].append(min(settled) / options.count)
            print(f"{pause} ms, {queues} queues, {processes} processes: {options.count / seconds:,.0f} a "
                  f"second, settled {settled}", flush=True)
            for suffix in ("", "-wal", "-shm"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)
    alone = statistics.median(rates[options.processes[0]])
    for processes, found in rates.items():
        median = statistics.median(found)
        print(f"handlers of {pause} ms, {queues:,} queues, {processes} processes: median {median:,.0f} a second, "
              f"{median / alone:.2f} of {options.processes[0]}; who did least did "
              f"{statistics.median(shares[processes]):.0%}", flush=True)


if __name__ == "__main__":
    main()
