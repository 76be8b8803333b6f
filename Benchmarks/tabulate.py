"""Runs each workload in C and in Swift, in turn, and writes a table of medians and their ratio."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CHAT = ROOT.parent / "shared" / "data" / "conversations.jsonl"

# name, workload, actions, queues, actions in a call, callers, durability here, group and sync in C
CELLS = [
    ("enqueue, one caller, one at a time", "enqueue", 6_000, 1, 1, 1, "standard", 1, "full"),
    ("enqueue, 64 callers, one at a time each", "enqueue", 128_000, 64, 1, 64, "standard", 64, "full"),
    ("enqueue, batches of 1,000, one queue", "enqueue", 300_000, 1, 1_000, 1, "standard", 1_000, "full"),
    ("enqueue, batches of 1,000, 10,000 queues", "enqueue", 400_000, 10_000, 1_000, 1, "standard", 1_000, "full"),
    ("drain, one queue, every settling synced", "drain", 15_000, 1, 1, 1, "everything", 1, "full"),
    ("drain, one queue, as set up", "drain", 100_000, 1, 1, 1, "standard", 1, "normal"),
    ("drain, 10,000 queues, as set up", "drain", 400_000, 10_000, 1, 1, "standard", 64, "normal"),
]


def payload_file(folder: Path) -> tuple[Path, str]:
    """Messages of about 200 bytes: real chat where it is at hand, else made."""
    path = folder / "payloads.jsonl"
    lines = []
    source = "made text"
    if CHAT.exists():
        source = "real chat"
        with open(CHAT, encoding="utf-8") as chat:
            for line in chat:
                message = json.loads(line)
                text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
                if 120 <= len(text.encode()) <= 280:
                    lines.append(text)
                if len(lines) == 4_096:
                    break
    else:
        for number in range(1_000):
            message = {"conversation": "made-1", "sentAt": "2026-01-01T00:00:00.000000", "sender": "Ada",
                       "text": f"message {number}: " + "a few more words of it, " * 4}
            lines.append(json.dumps(message, separators=(",", ":")))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, source


def seconds(command: list[str], database: Path, **options) -> float:
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, **options)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    return float(result.stdout.split()[-1])


def measure_c(cell, count, folder, payloads) -> float:
    _, workload, _, queues, _, _, _, group, sync = cell
    database = folder / "limit.sqlite"
    command = [str(HERE / ".build/limit"), str(ROOT / "Migrations"), str(database), workload, str(count),
               str(queues), str(group), sync]
    with open(payloads, "rb") as standard_input:
        return seconds(command, database, stdin=standard_input)


def measure_swift(cell, count, folder, payloads) -> float:
    _, workload, _, queues, batch, callers, durability, _, _ = cell
    database = folder / "sluice.sqlite"
    command = [str(HERE / ".build/release/SluiceBench"), str(database), workload, str(count), str(queues),
               str(batch), str(callers), durability, str(payloads)]
    return seconds(command, database)


def sync_cost(folder: Path) -> float:
    """The median of 200 fdatasync calls behind a write of 4 KiB, in microseconds."""
    path = folder / "sync"
    costs = []
    with open(path, "wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4_096)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            costs.append((time.perf_counter() - start) * 1e6)
    path.unlink()
    return statistics.median(costs)


def processor() -> str:
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def file_system(folder: Path) -> str:
    result = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True)
    return result.stdout.strip() or "unknown"


def main() -> None:
    is_quick = sys.argv[1:] == ["quick"]
    rounds = 3 if is_quick else 5
    with tempfile.TemporaryDirectory(dir=HERE / ".build") as name:
        folder = Path(name)
        payloads, source = payload_file(folder)
        version = subprocess.run(["sqlite3", "--version"], capture_output=True, text=True).stdout.split()[0]
        head = (f"{time.strftime('%Y-%m-%d')} · {processor()}, {os.cpu_count()} cores · {platform.system()} "
                f"{platform.release()} · SQLite {version} · {file_system(folder)} · fdatasync "
                f"{sync_cost(folder):.0f} µs · payloads of about 200 bytes, {source} · medians of {rounds}")
        rows = []
        for cell in CELLS:
            count = cell[2] // 5 if is_quick else cell[2]
            pairs = [(measure_c(cell, count, folder, payloads), measure_swift(cell, count, folder, payloads))
                     for _ in range(rounds)]
            c_rate = count / statistics.median(c for c, _ in pairs)
            swift_rate = count / statistics.median(s for _, s in pairs)
            ratio = statistics.median(c / s for c, s in pairs)
            level = {"full": "FULL", "normal": "NORMAL"}[cell[8]]
            rows.append(f"| {cell[0]} | {level} | {c_rate:,.0f} | {swift_rate:,.0f} | {ratio:.2f} |")
            print(rows[-1], file=sys.stderr)
    table = "\n".join([head, "", "| workload | commits are | C, a second | Sluice, a second | ratio |",
                       "| --- | --- | ---: | ---: | ---: |", *rows]) + "\n"
    (HERE / "Results" / ("quick.md" if is_quick else "latest.md")).write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
