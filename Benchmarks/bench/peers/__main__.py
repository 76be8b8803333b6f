"""Measures the peers alone, and puts them into the page of results beside what is there."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import machine, results
from ..measure import HERE, Bench
from .cells import PEERS
from .measure import Runner, Section
from .promises import tried


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Benchmarks/run --peers", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], choices=[peer.key for peer in PEERS], metavar="PEER",
                        help=f"these alone: {', '.join(peer.key for peer in PEERS)}")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each cell at most; 5")
    parser.add_argument("--scale", type=float, default=1, help="times the usual number of actions; 1")
    parser.add_argument("--seconds", type=float, default=20, help="after which a cell stops; 20")
    parser.add_argument("--promises", action="store_true",
                        help="try alone what the peers promise, and keep the rates that the page has")
    parser.add_argument("--directory", type=Path, default=HERE / ".build",
                        help="where the databases are made and removed; default: beside this file's package")
    return parser.parse_args()


def measure(section: Section, directory: Path) -> dict[str, Any]:
    """What stands on the page, and in its JSON form."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=directory) as name:
        bench = Bench(HERE / ".build" / "release", Path(name))
        disk = machine.Disk(Path(name))
        facts = [*machine.describe(bench.sqlite_version(), disk), f"commit {machine.commit()}",
                 bench.write_payloads()]
        before = machine.load_average()
        rows = Runner(bench, disk, section).rows()
        facts += [f"load average before {before}, after {machine.load_average()}", *disk.report()]
    return {"facts": facts, "rounds": section.rounds, "seconds": section.seconds, "rows": rows,
            "promises": tried(section.only)}


def main() -> None:
    options = arguments()
    section = Section(options.rounds, options.scale, options.seconds, options.only)
    if options.promises:
        sys.stdout.write(results.write("latest", {"peers": results.read("latest")["peers"] | {"promises": tried([])}}))
        return
    found = measure(section, options.directory)
    sys.stdout.write(results.write("latest" if section.is_whole else "partial", {"peers": found}))


if __name__ == "__main__":
    main()
