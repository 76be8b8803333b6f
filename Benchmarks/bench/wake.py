"""W11 and W12: what 100,000 idle queues cost, and how soon a commit of another process starts a handler.

    swift build -c release --product Workloads && python3 -m bench.wake

Runs one broker in a process of its own, measures its processor time while nothing happens, then commits
inserts from this process at random times. `--poll 2` is the same without the watch, for comparison.
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def processor_seconds(pid: int) -> float:
    """User and system time; schedstat counts nanoseconds where stat counts ticks, so sum it over threads."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((thread / "schedstat").read_text().split()[0])
        except OSError:
            # Without schedstat, or a thread that has just ended: ticks of the whole process.
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / TICK
    return total / 1e9


def resident_kibibytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def insert_all(path: str, options) -> dict[int, tuple[int, int]]:
    """When each insert was begun, and when its commit had returned."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None)
    connection.execute(f"PRAGMA synchronous={options.synchronous}")
    generator = random.Random(options.seed)
    times = {}
    for number in range(options.count):
        time.sleep(generator.uniform(*options.gap) / 1_000)
        payload = {"conversation": "live", "sentAt": str(number), "sender": "Ada", "text": "hello"}
        begun = now()
        connection.execute(
            "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('live', 'message', ?)",
            (json.dumps(payload),),
        )
        times[number] = (begun, now())
    connection.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(HERE / ".build" / "release" / "Workloads"))
    parser.add_argument("--queues", type=int, default=100_000)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--idle", type=float, default=20, help="seconds to do nothing for")
    parser.add_argument("--gap", type=float, nargs=2, default=[5, 60], help="milliseconds between inserts")
    parser.add_argument("--poll", type=int, help="poll every so many milliseconds instead of watching")
    parser.add_argument("--synchronous", choices=["FULL", "NORMAL"], default="FULL")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=HERE / ".build") as folder:
        path = f"{folder}/wake.sqlite"
        command = [options.program, "wake", "--file", path, "--queues", str(options.queues)]
        if options.poll:
            command += ["--poll", str(options.poll)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
            if broker.stdout.readline() != "ready\n":
                sys.exit("the broker did not start")
            # What the start leaves to be done: looks, a sync.
            time.sleep(2)
            before, memory = processor_seconds(broker.pid), resident_kibibytes(broker.pid)
            time.sleep(options.idle)
            idle = (processor_seconds(broker.pid) - before) / options.idle
            growth = resident_kibibytes(broker.pid) - memory
            before = processor_seconds(broker.pid)
            inserted = insert_all(path, options)
            started = dict(map(int, broker.stdout.readline().split()) for _ in inserted)
            busy = (processor_seconds(broker.pid) - before) / len(inserted)
            broker.stdin.close()
    print(f"{options.queues:,} queues, nothing to do: {idle:.3%} of a core, {growth:+} KiB of {memory:,}")
    for name, since in ("insert begun", 0), ("commit returned", 1):
        times = [(started[number] - inserted[number][since]) / 1e6 for number in inserted]
        print(
            f"{name} to handler start: p50 {percentile(times, 0.5):.2f} ms, p90 {percentile(times, 0.9):.2f},"
            f" p99 {percentile(times, 0.99):.2f}, most {max(times):.2f} ({len(times)}, {options.synchronous})"
        )
    print(f"processor time for each: {busy * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
