"""How a compiler finds the modules that `make test-all` has built on Linux."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def output_of(*command, folder=ROOT):
    return subprocess.run(command, cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def options():
    """The options of swiftc and of symbolgraph-extract."""
    built = Path(output_of("swift", "build", "--show-bin-path"))
    maps = [*built.glob("*.build/module.modulemap")]
    maps += [ROOT / f"Sources/{name}/module.modulemap" for name in ("CSluiceSQLite", "CSluicePostgres")]
    maps += (ROOT / ".build/checkouts").glob("*/Sources/*/**/module.modulemap")
    target = json.loads(output_of("swift", "-print-target-info"))["target"]["triple"]
    return [
        "-target", target, "-I", str(built / "Modules"),
        # libpq's headers: Debian keeps them in a folder of their own.
        "-Xcc", "-I" + output_of("pg_config", "--includedir"),
        *(word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")),
        *(("-sdk", output_of("xcrun", "--show-sdk-path")) if sys.platform == "darwin" else ()),
    ]


def extract_symbols(library, folder):
    """Writes the graphs of a library's public symbols: its own, and those that it adds to types of others."""
    output_of(
        "swift", "symbolgraph-extract", "-module-name", library, "-minimum-access-level", "public",
        "-skip-synthesized-members", "-output-dir", folder, *options(),
    )
