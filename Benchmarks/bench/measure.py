"""Runs one workload once, in C or in Swift."""

import json
import subprocess
from pathlib import Path

from .cells import FULL, Workload

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent
CHAT = ROOT.parent / "shared" / "data" / "conversations.jsonl"


class Bench:
    """The two programs, and the folder in which they make their files."""

    def __init__(self, programs: Path, folder: Path):
        self.limit = programs / "Limit"
        self.workloads = programs / "Workloads"
        self.folder = folder
        self.payloads = folder / "payloads.jsonl"

    def write_payloads(self) -> str:
        """The payloads, the same bytes for C and for Swift; says what they are."""
        source = ["--from", str(CHAT)] if CHAT.exists() else []
        subprocess.run([str(self.workloads), "payloads", *source, str(self.payloads)], check=True)
        lengths = [len(line) for line in self.payloads.read_bytes().splitlines()]
        mean = sum(lengths) / len(lengths)
        kind = "real chat messages" if source else "made-up messages"
        return f"payloads are {len(lengths):,} {kind} of {mean:.0f} bytes on average"

    def sqlite_version(self) -> str:
        command = [str(self.limit), "version"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def in_c(self, workload: Workload, count: int, layout: str) -> dict[str, float]:
        return self._run(self.limit, "limit.sqlite", lambda file: [
            f"file={file}", f"payloads={self.payloads}", f"migrations={ROOT / 'Migrations'}",
            f"layout={layout}", f"count={count}", f"queues={workload.queues}",
            f"group={workload.group}", f"drain_group={workload.drain_group}",
            f"sync={FULL}", f"drain_sync={workload.drain_sync}", f"drain={int(workload.drain)}",
        ])

    def in_swift(self, workload: Workload, count: int) -> dict[str, float]:
        return self._run(self.workloads, "sluice.sqlite", lambda file: [
            "measure", "--file", str(file), "--payloads", str(self.payloads), "--count", str(count),
            "--queues", str(workload.queues), "--batch", str(workload.batch),
            "--callers", str(workload.callers), "--durability", workload.durability,
            *(["--drain"] if workload.drain else []),
        ])

    def _run(self, program: Path, name: str, arguments) -> dict[str, float]:
        file = self.folder / name
        command = [str(program), *arguments(file)]
        result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        return json.loads(result.stdout)
