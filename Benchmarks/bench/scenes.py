"""Workloads that are more than a load and its probe: how each takes a sample.

A scene may prepare a file once and use it in all rounds; what a sample holds, `numbers.py` reads.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path

from .cells import NORMAL, Plan, Workload
from .machine import Disk
from .measure import Bench


@dataclass(frozen=True)
class Stage:
    """What a scene has to work with."""

    plan: Plan
    bench: Bench
    disk: Disk


class Scene:
    key = ""
    # For the words of the table.
    sizes: dict[str, int]

    def __init__(self, stage: Stage):
        self.plan, self.bench, self.disk = stage.plan, stage.bench, stage.disk

    def file(self, name: str) -> Path:
        return self.bench.folder / f"{name}.sqlite"

    def samples(self, round_number: int) -> list[dict]:
        raise NotImplementedError


class Flow(Scene):
    """W7: producers and handlers at once."""

    key = "W7"
    queues = 64
    probe = Workload("W7", 0, queues=queues, group=64, drain=True, drain_group=64, drain_sync=NORMAL)
    commit = Workload("W7", 0)

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.sizes = {"queues": self.queues, "count": self.plan.scaled(128_000, 2 * self.queues)}

    def samples(self, round_number: int) -> list[dict]:
        count, commits = self.sizes["count"], self.plan.scaled(4_000)
        self.disk.wait()
        commit = self.bench.in_c(self.commit, commits, "engine")["enqueue"] / commits
        self.disk.wait()
        probe = self.bench.in_c(self.probe, count, "engine")
        self.disk.wait()
        flow = self.bench.on_new_file("flow", "--count", count, "--queues", self.queues)
        to_c = (probe["enqueue"] + probe["drain"]) / flow["seconds"]
        return [{**flow, "commit": commit * 1e6, "rate": count / flow["seconds"], "to_c": to_c}]


class Backlog(Scene):
    """W8: one queue that holds more and more."""

    key = "W8"

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.settled = self.plan.scaled(50_000)
        # At a smaller scale the largest would take all the time.
        longest = 10_000_000 * self.plan.scale
        self.waiting = [10_000] + [count for count in (1_000_000, 10_000_000) if count <= longest]
        self.missing = {waiting: waiting + self.settled for waiting in self.waiting}
        self.sizes = {"settled": self.settled}

    def samples(self, round_number: int) -> list[dict]:
        sample = {}
        for waiting in self.waiting:
            file = self.file(f"backlog-{waiting}")
            self.bench.fill(file, self.missing[waiting])
            self.disk.wait()
            answer = self.bench.on_file("backlog", file, "--count", self.settled)
            # Some more have run until it had stopped. All are put back for the next round.
            self.missing[waiting] = answer["settled"]
            sample[waiting] = self.settled / answer["seconds"]
        return [sample]


class Blocked(Scene):
    """W9: two queues that are blocked and hold much."""

    key = "W9"

    def __init__(self, stage: Stage):
        super().__init__(stage)
        queues = self.plan.scaled(1_000)
        self.sizes = {"queues": queues, "count": 100 * queues, "blocked": self.plan.scaled(100_000)}

    def samples(self, round_number: int) -> list[dict]:
        count, queues = self.sizes["count"], self.sizes["queues"]
        sample = {}
        for name, blocked in (("alone", 0), ("beside", self.sizes["blocked"])):
            self.disk.wait()
            answer = self.bench.on_new_file(
                "blocked", "--count", count, "--queues", queues, "--blocked", blocked)
            sample[name] = count / answer["drain"]
        return [sample]


class Start(Scene):
    """W10: a large file is opened."""

    key = "W10"

    def __init__(self, stage: Stage):
        super().__init__(stage)
        queues = self.plan.scaled(100_000)
        self.sizes = {"queues": queues, "count": 10 * queues}

    def samples(self, round_number: int) -> list[dict]:
        file = self.file("start")
        if not file.exists():
            self.bench.fill(file, self.sizes["count"], self.sizes["queues"])
        self.disk.wait()
        return [self.bench.on_file("start", file)]


class WithIdleQueues(Scene):
    """Has a file of many queues in which there is nothing to do."""

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.sizes = {"queues": self.plan.scaled(100_000)}

    def idle_file(self) -> Path:
        file = self.file("idle")
        if not file.exists():
            self.bench.fill(file, self.sizes["queues"], self.sizes["queues"], "--idle")
        return file


class Idle(WithIdleQueues):
    """W11: nothing to do. One minute is enough for all rounds: its parts are the samples."""

    key = "W11"
    windows = 5

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.sizes["seconds"] = 60 if self.plan.scale >= 1 else 5

    def samples(self, round_number: int) -> list[dict]:
        if round_number > 0:
            return []
        seconds, file = self.sizes["seconds"], self.idle_file()
        self.disk.wait()
        answer = self.bench.on_file("idle", file, "--seconds", seconds, "--windows", self.windows)
        return [{"growth": answer["growth"]}] + [{"core": core} for core in answer["cores"]]


class Wake(WithIdleQueues):
    """W12: another process writes."""

    key = "W12"
    interval = 20_000

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.sizes["count"] = max(100, self.plan.scaled(500))

    def samples(self, round_number: int) -> list[dict]:
        count, queues, file = self.sizes["count"], self.sizes["queues"], self.idle_file()
        self.disk.wait()
        committed, started = self.bench.wake(file, count, queues, self.interval)
        # It can start before the other process has returned from its commit.
        delays = [max(0, start - commit) / 1e6 for commit, start in zip(committed, started, strict=True)]
        return [{"p50": statistics.median(delays), "p99": statistics.quantiles(delays, n=100)[98]}]


SCENES = [Flow, Backlog, Blocked, Start, Idle, Wake]
