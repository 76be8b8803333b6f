"""Counts the instructions of the engine's core loops, and fails when one takes more than is committed.

Beside most loops it counts the same statements in plain C (`Limit/`), on the engine's own schema: what the engine
takes over that is its own work, and has the threshold."""

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
LIMIT = COUNTED.with_name("Limit-counted")
COMMITTED = HERE / "Results" / "instructions.json"

ALLOWED = 0.03
# Of the whole, and not of the engine's own work: by this much counts differ from run to run.
NOISE = {"thread": 0.01, "process": 0.02}

# The random seeds of Swift's hash tables change how often names collide.
ENVIRONMENT = {"PATH": os.environ["PATH"], "SWIFT_DETERMINISTIC_HASHING": "1"}


@dataclass(frozen=True)
class Phase:
    """What C does of a loop: one of its phases, with the arguments of `Limit`, of which some depend on the turns."""

    function: str
    arguments: dict[str, str]

    def at(self, turns: int, most: int) -> list[str]:
        return [f"{name}={value.format(turns=turns, most=most)}" for name, value in self.arguments.items()]


def enqueue(**arguments: str) -> Phase:
    return Phase("enqueue", {"count": "{turns}", "drained": "0", **arguments})


def drain(extra: int, **arguments: str) -> Phase:
    """Of as many actions for each number of turns."""
    return Phase("drain", {"count": f"{{most}}+{extra}", "drained": "{turns}", "group": "100", **arguments})


IN_C = {
    "enqueue-in-file": enqueue(),
    "enqueue-64-callers": enqueue(group="64"),
    "enqueue-batches": enqueue(group="100"),
    "enqueue-batches-in-10,000-queues": enqueue(
        count="{turns}+10000", group="100", queues="10000", before="10000"),
    "enqueue-batches-in-new-queues": enqueue(group="100", queues="{most}"),
    "drain-one-queue": drain(1),
    "drain-50-queues": drain(50, queues="50"),
    "drain-1,000-queues-by-64": drain(64, queues="1000", drain_group="64"),
    "attempts-of-one-queue": drain(1),
}


@dataclass(frozen=True)
class Loop:
    name: str
    few: int
    many: int
    scope: str

    def instructions(self, stage: "Stage") -> dict[str, int]:
        """Of one turn: two counts differ by what so many more turns take, and not by the start."""
        found = {"engine": self._of_turn(lambda turns: stage.count_engine(self, turns))}
        if phase := IN_C.get(self.name):
            found["C"] = self._of_turn(lambda turns: stage.count_c(phase, turns, self.many))
        return found

    def _of_turn(self, count) -> int:
        return round((count(self.many) - count(self.few)) / (self.many - self.few))


class Stage:
    """The two programs, and how they are counted."""

    def __init__(self):
        subprocess.run(["strip", "--strip-debug", "-o", str(BARE), str(COUNTED)], check=True)
        sources = sorted(str(path) for path in (HERE / "Limit").glob("*.c"))
        # The compiler that comes with Swift, whose version the committed counts have.
        command = ["clang", "-O2", "-std=gnu2x", "-o", str(LIMIT), *sources, "-lsqlite3"]
        subprocess.run(command, check=True)
        self.payload = counted("payload")
        self.steady = steady_addresses()

    def count_engine(self, loop: Loop, turns: int) -> int:
        scope = ["--toggle-collect=*countedTurns*"] if loop.scope == "thread" else []
        return self._count(scope, lambda folder: [
            f"./{BARE.name}", loop.name, str(turns), f"{folder}/queues.sqlite"], loop.name)

    def count_c(self, phase: Phase, turns: int, most: int) -> int:
        arguments = [total(argument) for argument in phase.at(turns, most)]

        def command(folder: Path) -> list[str]:
            (folder / "payloads.jsonl").write_text(self.payload, encoding="utf-8")
            return [f"./{LIMIT.name}", f"file={folder}/queues.sqlite", f"payloads={folder}/payloads.jsonl",
                    f"migrations={ROOT / 'Migrations'}", "sync=1", "drain_sync=1", *arguments]

        return self._count([f"--toggle-collect={phase.function}"], command, f"Limit {' '.join(arguments)}")

    def _count(self, scope: list[str], command, name: str) -> int:
        with tempfile.TemporaryDirectory(prefix="sluice-count-") as folder:
            output = Path(folder) / "counts"
            words = [*self.steady, "valgrind", "--tool=callgrind", *scope, f"--callgrind-out-file={output}",
                     *command(Path(folder))]
            result = subprocess.run(words, cwd=COUNTED.parent, env=ENVIRONMENT, capture_output=True, text=True,
                                    check=False)
            if result.returncode != 0:
                sys.exit(f"bench-check: {name} failed:\n{result.stderr}")
            found = re.search(r"^totals: (\d+)", output.read_text(encoding="utf-8"), re.MULTILINE)
        if found is None or int(found[1]) == 0:
            sys.exit(f"bench-check: {name} was not counted")
        return int(found[1])


def total(argument: str) -> str:
    """An argument whose value is a sum, with the sum made."""
    name, value = argument.split("=")
    return f"{name}={sum(int(part) for part in value.split('+'))}"


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


def own(found: dict[str, int]) -> int:
    """The engine's own work: all of it, where there is nothing to compare with."""
    return found["engine"] - found.get("C", 0)


def compare(
    committed: dict[str, dict[str, int]], found: dict[str, dict[str, int]], scopes: dict[str, str]
) -> list[str]:
    """Prints a table; says what is wrong."""
    faults = []
    print(f"{'instructions of one turn':34}{'C':>9}{'engine':>12}{'own work':>12}{'committed':>12}{'change':>9}")
    for name in [*found, *(name for name in committed if name not in found)]:
        before, now = committed.get(name), found.get(name)
        if now is None:
            faults.append(f"{name}: there is no such loop any more")
            continue
        in_c = f"{now['C']:,}" if "C" in now else ""
        print(f"{name:34}{in_c:>9}{now['engine']:12,}{own(now):12,}", end="")
        if before is None:
            print()
            faults.append(f"{name}: there is no committed count")
            continue
        change = own(now) - own(before)
        share = change / abs(own(before))
        print(f"{own(before):12,}{share:+9.1%}")
        if share > ALLOWED and change > NOISE[scopes[name]] * before["engine"]:
            faults.append(f"{name}: {share:+.1%}, where {ALLOWED:+.0%} is allowed")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/check", description=__doc__)
    parser.add_argument("--update", action="store_true", help="commit to what is counted now")
    parser.add_argument("loops", nargs="*", help="those to count, and not to compare; all where left out")
    arguments = parser.parse_args()
    if arguments.update and arguments.loops:
        parser.error("--update counts all loops: the committed counts are of one program")
    stage = Stage()
    loops = [Loop(name, int(few), int(many), scope)
             for name, few, many, scope in map(str.split, counted().splitlines())]
    known = {"tools": {}, "loops": {}}
    if COMMITTED.exists():
        known = json.loads(COMMITTED.read_text(encoding="utf-8"))
    now = tools()
    is_some = bool(arguments.loops)
    if now != known["tools"] and not arguments.update and not is_some:
        sys.exit(f"bench-check: the committed counts were taken with {words(known['tools'])}, and here is "
                 f"{words(now)}: counts cannot be compared. Take them anew, from a commit that is known to "
                 "be good, with Benchmarks/check --update")
    if is_some:
        loops = [loop for loop in loops if loop.name in arguments.loops]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip((loop.name for loop in loops), pool.map(lambda loop: loop.instructions(stage), loops)))
    committed = {name: counts for name, counts in known["loops"].items() if name in found or not is_some}
    faults = compare(committed, found, {loop.name: loop.scope for loop in loops})
    if is_some:
        return
    if arguments.update:
        COMMITTED.write_text(json.dumps({"tools": now, "loops": found}, indent=1) + "\n", encoding="utf-8")
    elif faults:
        sys.exit("\n".join(["", *(f"bench-check: {fault}" for fault in faults), UPDATE]))


UPDATE = "If that is worth it, say why in the commit message, and run Benchmarks/check --update"


def words(named: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in named.items()) or "nothing"


if __name__ == "__main__":
    main()
