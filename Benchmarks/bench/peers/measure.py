"""Runs the cells: a C probe, then the peer, as often as the time of the cell allows."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from .. import machine
from ..cells import FULL, NORMAL
from ..measure import HERE, PATIENCE, ROOT, Bench
from . import install
from .cells import CELLS, LEVELS, PEERS, SLUICE, Cell, Peer

# What one run found: for each phase its seconds, what was done and whether the time was over; or one reason.
Found = dict[str, Any]


@dataclass
class Section:
    """How much of it is done."""

    rounds: int
    scale: float
    # Of one cell: all its samples together. No further sample is begun that would not end within it.
    seconds: float
    only: list[str]

    @property
    def is_whole(self) -> bool:
        return not self.only and self.scale == 1 and self.rounds >= 5 and self.seconds >= 20


class Runner:
    """The programs, the folder, and the disk that is waited for."""

    def __init__(self, bench: Bench, disk: machine.Disk, section: Section):
        self.bench = bench
        self.disk = disk
        self.section = section

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, Sluice first."""
        wanted = [peer for peer in PEERS if not self.section.only or peer.key in self.section.only]
        missing = install.install() if any(peer.package for peer in wanted) else {}
        versions = install.requirements()
        rows = []
        for peer in [SLUICE, *wanted]:
            reason = missing.get(peer.package) if peer.package else None
            row = {"key": peer.key, "text": peer.text, "version": versions.get(peer.package or "", "")}
            if reason:
                rows.append(row | {"missing": reason})
                continue
            for durability in peer.durabilities:
                rows.append(row | self._row(peer, durability))
        return rows

    def _row(self, peer: Peer, durability: str) -> dict[str, Any]:
        cells: dict[str, dict[str, Any]] = {}
        settings: Found = {}
        for cell in CELLS:
            print(f"peers: {peer.key}, {durability}: {cell.key}", file=sys.stderr)
            samples = self._samples(peer, durability, cell)
            settings |= {name: samples[-1][0].get(name) for name in ("synchronous", "journal", "sqlite")
                         if samples[-1][0].get(name) is not None}
            for phase in cell.phases:
                cells[f"{cell.key} {phase}"] = self._summary(samples, phase)
        return {"durability": durability, "cells": cells} | settings

    def _samples(self, peer: Peer, durability: str, cell: Cell) -> list[tuple[Found, Found]]:
        """Pairs of what the peer and the probe right before it found."""
        samples: list[tuple[Found, Found]] = []
        spent = 0.0
        for number in range(self.section.rounds):
            if number and spent * (number + 1) / number > self.section.seconds:
                break
            self.disk.wait()
            probe = self._probe(peer, durability, cell)
            self.disk.wait()
            begin = time.monotonic()
            found = self._sample(peer, durability, cell)
            spent += time.monotonic() - begin
            samples.append((found, probe))
            if "unsupported" in found or "failed" in found:
                break
        return samples

    def _summary(self, samples: list[tuple[Found, Found]], phase: str) -> dict[str, Any]:
        last = samples[-1][0]
        for word in ("unsupported", "failed"):
            if word in last:
                return {word: last[word]}
        rates = [found[phase]["done"] / found[phase]["seconds"] for found, _ in samples]
        limits = [probe[phase]["done"] / probe[phase]["seconds"] for _, probe in samples]
        return {
            "rate": median(rates), "c": median(limits),
            "stopped": any(found[phase]["stopped"] for found, _ in samples),
            "ratios": sorted(rate / limit for rate, limit in zip(rates, limits)),
        }

    def _probe(self, peer: Peer, durability: str, cell: Cell) -> Found:
        """The same work in C; of a backlog 10,000, or as many as the peer drains if that is more."""
        level = peer.level(durability)
        # Sluice's enqueues are synced as it comes, and what it settles is not.
        is_mixed = peer is SLUICE and durability == "default"
        enqueue = NORMAL if cell.backlog else FULL if is_mixed else level
        count, backlog = cell.scaled(self.section.scale)
        count = max(count, min(backlog, 10_000))
        found = self._in_c([
            "layout=engine", f"count={count}", f"queues={cell.queues}",
            f"group={1_000 if cell.backlog else cell.group}", f"drain_group={cell.drain_group}",
            f"sync={enqueue}", f"drain_sync={level}", f"drained={count if 'drain' in cell.phases else 0}",
        ])
        return {phase: {"seconds": found[phase], "done": count} for phase in cell.phases}

    def _in_c(self, arguments: list[str]) -> dict[str, float]:
        bench = self.bench
        with _Folder(bench.folder) as folder:
            result = subprocess.run([
                str(bench.limit), f"file={folder / 'c'}", f"payloads={bench.payloads('usual')}",
                f"migrations={ROOT / 'Migrations'}", *arguments,
            ], check=True, stdout=subprocess.PIPE)
        return json.loads(result.stdout)

    def _sample(self, peer: Peer, durability: str, cell: Cell) -> Found:
        if peer is SLUICE:
            return self._sluice(durability, cell)
        count, backlog = cell.scaled(self.section.scale)
        program = [str(HERE / ".build" / "release" / "GRDBQueue")]
        if peer.key != "grdb":
            program = [str(install.PYTHON) if peer.package else sys.executable, "-m", f"Peers.{peer.key}"]
        with _Folder(self.bench.folder) as folder:
            command = [
                *program, "--folder", str(folder), "--payloads", str(self.bench.payloads('usual')),
                "--phases", *cell.phases, "--count", str(count), "--backlog", str(backlog),
                "--queues", str(cell.queues), "--batch", str(cell.batch), "--callers", str(cell.callers),
                "--durability", durability, "--seconds", str(self.section.seconds),
            ]
            try:
                result = subprocess.run(command, cwd=HERE, check=False, capture_output=True, text=True,
                                        timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                return {"failed": f"it did not answer within {PATIENCE} seconds"}
        if result.returncode != 0:
            print(result.stderr, file=sys.stderr)
            return {"failed": (result.stderr.strip().splitlines() or ["without a word"])[-1]}
        found = json.loads(result.stdout)
        expected = peer.level(durability)
        if found.get("synchronous", expected) != expected:
            return {"failed": f"its commits were at {LEVELS[found['synchronous']]}, not {LEVELS[expected]}"}
        return found

    def _sluice(self, durability: str, cell: Cell) -> Found:
        """Through its own program, which drains all that waits, or until the time is over."""
        setting = SLUICE.SETTINGS[durability]
        count, backlog = cell.scaled(self.section.scale)
        with _Folder(self.bench.folder) as folder:
            file = folder / "sluice.sqlite"
            if backlog > count:
                self.bench.fill(file, backlog)
                answer = self.bench.on_file("backlog", file, "--count", count, "--durability", setting)
                found: Found = {"drain": answer["seconds"]}
            else:
                found = json.loads(self._output([
                    str(self.bench.workloads), "measure", "--file", str(file),
                    "--payloads", str(self.bench.payloads("usual")), "--count", str(count),
                    "--queues", str(cell.queues), "--batch", str(1_000 if cell.backlog else cell.batch),
                    "--callers", str(cell.callers), "--durability", setting,
                    *(["--drain", "--seconds", str(self.section.seconds)] if "drain" in cell.phases else []),
                ]))
        done = {"enqueue": count, "drain": found.get("drained", count)}
        settings = {"synchronous": SLUICE.level(durability), "journal": "wal"}
        return settings | {
            phase: {"seconds": found[phase], "done": done[phase], "stopped": done[phase] < count}
            for phase in cell.phases
        }

    def _output(self, command: list[str]) -> str:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout


class _Folder:
    """An empty folder, removed afterwards."""

    def __init__(self, parent: Path):
        self.path = parent / "peer"

    def __enter__(self) -> Path:
        self.path.mkdir()
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path)
