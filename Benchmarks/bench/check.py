"""Counts the instructions of the engine's core loops, and fails when one takes more than is committed."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .measure import HERE, ROOT

COUNTED = ROOT / ".build" / "release" / "Counted"
# The same without what is for debuggers, of which Valgrind 3.19 does not understand all, and then gives up.
BARE = COUNTED.with_name("Counted-bare")
COMMITTED = HERE / "Results" / "instructions.json"

# More than counts differ from run to run, which is nothing in most loops and under 1 % in the others.
ALLOWED = 0.03

# The random seeds of Swift's hash tables change how often names collide.
ENVIRONMENT = {"PATH": os.environ["PATH"], "SWIFT_DETERMINISTIC_HASHING": "1"}


@dataclass(frozen=True)
class Loop:
    name: str
    few: int
    many: int

    def instructions(self, steady: list[str]) -> int:
        """Of one turn: two counts differ by what so many more turns take, and not by the start."""
        difference = count(self.name, self.many, steady) - count(self.name, self.few, steady)
        return round(difference / (self.many - self.few))


def count(name: str, turns: int, steady: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="sluice-count-") as folder:
        output = Path(folder) / "counts"
        command = [
            *steady, "valgrind", "--tool=callgrind", "--toggle-collect=*countedTurns*",
            f"--callgrind-out-file={output}", f"./{BARE.name}", name, str(turns),
            f"{folder}/queues.sqlite",
        ]
        result = subprocess.run(command, cwd=COUNTED.parent, env=ENVIRONMENT, capture_output=True, text=True,
                                check=False)
        if result.returncode != 0:
            sys.exit(f"bench-check: {name} failed:\n{result.stderr}")
        total = re.search(r"^totals: (\d+)", output.read_text(encoding="utf-8"), re.MULTILINE)
    if total is None or int(total[1]) == 0:
        sys.exit(f"bench-check: {name} was not counted")
    return int(total[1])


def steady_addresses() -> list[str]:
    """A command that has its program's addresses the same each time, where the system lets it."""
    command = ["setarch", platform.machine(), "-R"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return command


def counted(*arguments: str) -> str:
    return subprocess.run([str(COUNTED), *arguments], check=True, capture_output=True, text=True).stdout


def tools() -> dict[str, str]:
    """What else the counts depend on."""
    version = subprocess.run(["swift", "--version"], check=True, capture_output=True, text=True).stdout
    swift = re.search(r"Swift version (\S+)", version)
    return {
        "Swift": swift[1] if swift else version.splitlines()[0],
        "SQLite": counted("version").strip(),
        "processor": platform.machine(),
        "C library": os.confstr("CS_GNU_LIBC_VERSION") or "unknown",
    }


def compare(committed: dict[str, int], found: dict[str, int]) -> list[str]:
    """Prints a table; says what is wrong."""
    faults = []
    print(f"{'instructions of one turn':32}{'committed':>12}{'now':>12}{'change':>9}")
    for name in [*found, *(name for name in committed if name not in found)]:
        before, now = committed.get(name), found.get(name)
        if now is None:
            faults.append(f"{name}: there is no such loop any more")
            continue
        if before is None:
            print(f"{name:32}{'':12}{now:12,}")
            faults.append(f"{name}: there is no committed count")
            continue
        change = now / before - 1
        print(f"{name:32}{before:12,}{now:12,}{change:+9.1%}")
        if change > ALLOWED:
            faults.append(f"{name}: {change:+.1%}, where {ALLOWED:+.0%} is allowed")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/check", description=__doc__)
    parser.add_argument("--update", action="store_true", help="commit to what is counted now")
    is_update = parser.parse_args().update
    subprocess.run(["strip", "--strip-debug", "-o", str(BARE), str(COUNTED)], check=True)
    known = {"tools": {}, "loops": {}}
    if COMMITTED.exists():
        known = json.loads(COMMITTED.read_text(encoding="utf-8"))
    now = tools()
    if now != known["tools"] and not is_update:
        sys.exit(f"bench-check: the committed counts were taken with {words(known['tools'])}, and here is "
                 f"{words(now)}: counts cannot be compared. Take them anew, from a commit that is known to "
                 "be good, with Benchmarks/check --update")
    loops = [Loop(name, int(few), int(many)) for name, few, many in map(str.split, counted().splitlines())]
    steady = steady_addresses()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        instructions = pool.map(lambda loop: loop.instructions(steady), loops)
        found = dict(zip((loop.name for loop in loops), instructions))
    faults = compare(known["loops"], found)
    if is_update:
        COMMITTED.write_text(json.dumps({"tools": now, "loops": found}, indent=1) + "\n", encoding="utf-8")
    elif faults:
        sys.exit("\n".join(["", *(f"bench-check: {fault}" for fault in faults), UPDATE]))


UPDATE = "If that is worth it, say why in the commit message, and run Benchmarks/check --update"


def words(named: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in named.items()) or "nothing"


if __name__ == "__main__":
    main()
