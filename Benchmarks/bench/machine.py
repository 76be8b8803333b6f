"""What the numbers depend on besides the code."""

import os
import platform
import shutil
import statistics
import subprocess
import time
from pathlib import Path


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit() -> str:
    """What was measured: the newest commit, without changes that are in none."""
    command = [shutil.which("git") or "git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip() or "unknown"


def file_system(folder: Path) -> str:
    command = ["df", "--output=fstype", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.split()[-1] if result.returncode == 0 else "of unknown type"


def sync_costs(folder: Path, count: int) -> list[float]:
    """Seconds that the disk takes for a sync behind the write of a page: what a commit at FULL waits for."""
    sync = getattr(os, "fdatasync", os.fsync)
    path = folder / "sync"
    costs = []
    with open(path, "wb", buffering=0) as file:
        for _ in range(count):
            file.write(b"x" * 4_096)
            start = time.perf_counter()
            sync(file.fileno())
            costs.append(time.perf_counter() - start)
    path.unlink()
    return costs


class Disk:
    """Waits until syncs cost what they did at the start: where large files were removed they can stall."""

    patience = 10.0

    def __init__(self, folder: Path):
        self.folder = folder
        # It may be stalling already, for what was done before.
        medians = []
        for _ in range(5):
            medians.append(statistics.median(sync_costs(folder, 40)))
            time.sleep(0.5)
        self.usual = min(medians)
        # How often a run began although syncs were still slow.
        self.stalls = 0

    def wait(self) -> None:
        deadline = time.monotonic() + self.patience
        while statistics.median(sync_costs(self.folder, 15)) > 2 * self.usual:
            if time.monotonic() > deadline:
                self.stalls += 1
                return
            time.sleep(0.2)


    def report(self) -> list[str]:
        """What the page says of it."""
        if not self.stalls:
            return []
        return [f"before {self.stalls} runs a sync took more than twice as long for {self.patience:.0f} s"]


def load_average() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def describe(sqlite: str, disk: Disk) -> list[str]:
    return [
        f"{time.strftime('%Y-%m-%d')}; {processor()}, {os.cpu_count()} cores; "
        f"{platform.system()} {platform.release()}",
        f"SQLite {sqlite}; {file_system(disk.folder)}; a sync takes {disk.usual * 1e6:.0f} µs "
        "(lowest of 5 medians of 40)",
    ]
