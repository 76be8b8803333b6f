"""Runs one workload once, in C or in Swift."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

from .cells import Workload

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent
CHAT = ROOT.parent / "shared" / "data" / "conversations.jsonl"

# Seconds after which a program is stuck. The longest fills a file with 10 million actions.
PATIENCE = 900
# Seconds between two looks at the size of the log.
WATCH = 0.02


class Bench:
    """The two programs, and the folder in which they make their files."""

    def __init__(self, programs: Path, folder: Path):
        self.limit = programs / "Limit"
        self.workloads = programs / "Workloads"
        self.folder = folder

    def payloads(self, kind: str) -> Path:
        return self.folder / f"{kind}.jsonl"

    def write_payloads(self) -> str:
        """The payloads, the same bytes for C and for Swift; says what they are."""
        source = ["--from", str(CHAT)] if CHAT.exists() else []
        for kind, size in (("usual", []), ("large", ["--size", "100000"])):
            command = [str(self.workloads), "payloads", *source, *size, str(self.payloads(kind))]
            subprocess.run(command, check=True)
        lengths = [len(line) for line in self.payloads("usual").read_bytes().splitlines()]
        mean = sum(lengths) / len(lengths)
        kind = "real chat messages" if source else "made-up messages"
        return f"payloads are {len(lengths):,} {kind} of {mean:.0f} bytes on average"

    def sqlite_version(self) -> str:
        command = [str(self.limit), "version"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def in_c(self, workload: Workload, count: int, layout: str) -> dict[str, float]:
        return self._on_new_file(self.limit, "limit", lambda file: [
            f"file={file}", f"payloads={self.payloads(workload.payloads)}",
            f"migrations={ROOT / 'Migrations'}", f"layout={layout}", f"count={count}",
            f"queues={workload.queues}",
            f"group={workload.group}", f"drain_group={workload.drain_group}",
            f"sync={workload.sync}", f"drain_sync={workload.drain_sync}",
            f"drained={count if workload.drain else 0}",
        ])

    def in_swift(self, workload: Workload, count: int) -> dict[str, float]:
        return self.on_new_file(
            "measure", "--count", count, "--queues", workload.queues, "--batch", workload.batch,
            "--callers", workload.callers, "--durability", workload.durability,
            *(["--drain"] if workload.drain else []), payloads=workload.payloads)

    def on_new_file(self, command: str, *options, payloads: str = "usual") -> dict:
        """What a command of `Workloads` answers; its file is removed."""
        return self._on_new_file(self.workloads, "sluice", lambda file: [
            command, "--file", file, "--payloads", self.payloads(payloads), *options])

    def on_file(self, command: str, file: Path, *options) -> dict:
        """What a command of `Workloads` answers for a file that stays."""
        return json.loads(self._output(self.workloads, command, "--file", file, *options))

    def fill(self, file: Path, count: int, queues: int = 1, *options) -> None:
        """Adds actions to a file."""
        self._output(self.workloads, "fill", "--file", file, "--payloads", self.payloads("usual"),
                     "--count", count, "--queues", queues, *options)

    def wake(self, file: Path, count: int, queues: int, interval: int) -> tuple[list[int], list[int]]:
        """When another process committed each action, and when its handler started, in nanoseconds."""
        command = [str(self.workloads), "wake", "--file", str(file), "--count", str(count)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
            try:
                if broker.stdout.readline() != "ready\n":
                    raise RuntimeError("the broker did not start")
                committed = self._output(self.limit, "insert", f"file={file}", f"count={count}",
                                         f"queues={queues}", f"interval={interval}")
                started, _ = broker.communicate(timeout=60)
            finally:
                broker.kill()
        return json.loads(committed), json.loads(started)

    def _output(self, *command) -> str:
        words = [str(word) for word in command]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout

    def _on_new_file(self, program: Path, name: str, arguments) -> dict:
        file = self.folder / f"{name}.sqlite"
        try:
            output, log = watched([str(word) for word in [program, *arguments(file)]], Path(f"{file}-wal"))
        finally:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)
        return {**json.loads(output), "log": log}


def watched(command: list[str], log: Path) -> tuple[str, int]:
    """Runs a command; what it prints, and the most bytes that a file had meanwhile."""
    largest = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(round(PATIENCE / WATCH)):
            try:
                output, _ = process.communicate(timeout=WATCH)
                break
            except subprocess.TimeoutExpired:
                # The last close removes it, at any moment.
                with suppress(FileNotFoundError):
                    largest = max(largest, log.stat().st_size)
        else:
            process.kill()
            raise subprocess.TimeoutExpired(command, PATIENCE)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return output, largest
