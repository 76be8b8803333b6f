"""A virtual environment with the peers from PyPI, made when it is first needed."""

import hashlib
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

from ..measure import HERE

FOLDER = HERE / ".build" / "peers-venv"
REQUIREMENTS = HERE / "Peers" / "requirements.txt"
PYTHON = FOLDER / "bin" / "python3"

UNREACHABLE = "PyPI cannot be reached"


def requirements() -> dict[str, str]:
    """The pinned version of each package."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def install() -> dict[str, str | None]:
    """For each package, None where it can be used, or why it cannot."""
    note = FOLDER / "installed.json"
    state = hashlib.sha256(REQUIREMENTS.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    if note.exists():
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["state"] == state:
            return known["packages"]
    print(f"installing the peers into {FOLDER.name}", file=sys.stderr)
    made = _run([sys.executable, "-m", "venv", "--clear", str(FOLDER)])
    if made.returncode != 0:
        reason = "python3 cannot make a virtual environment; Debian has that in the package python3-venv"
        print(f"bench: {reason}: the peers from PyPI are left out", file=sys.stderr)
        return {package: reason for package in requirements()}
    packages: dict[str, str | None] = {}
    for package, version in requirements().items():
        is_out = UNREACHABLE in packages.values()
        packages[package] = UNREACHABLE if is_out else _install(package, version)
        if packages[package]:
            print(f"bench: {package} is left out: {packages[package]}", file=sys.stderr)
    if UNREACHABLE not in packages.values():
        note.write_text(json.dumps({"state": state, "packages": packages}), encoding="utf-8")
    return packages


def _install(package: str, version: str) -> str | None:
    tried = _pip([f"{package}=={version}"])
    if tried.returncode == 0:
        return _try_import(package)
    if "Retrying (" in tried.stderr or "connection" in tried.stderr.lower():
        return UNREACHABLE
    if package == "honker" and platform.system() == "Linux":
        return _install_honker(version)
    return f"pip cannot install version {version} here"


def _pip(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--disable-pip-version-check", "--retries", "1", "--only-binary", ":all:"]
    return _run([str(PYTHON), "-m", "pip", "install", *options, *arguments])


def _install_honker(version: str) -> str | None:
    """Its wheel is marked for glibc 2.38, which only the SQLite that it brings along needs.

    On an older Linux the wheel is unpacked all the same, and the system's SQLite put in that one's place.
    """
    site = Path(_run([str(PYTHON), "-c", "import site; print(site.getsitepackages()[0])"]).stdout.strip())
    tag = f"manylinux_2_38_{platform.machine()}"
    tried = _pip(["--no-deps", "--platform", tag, "--target", str(site), f"honker=={version}"])
    if tried.returncode != 0:
        return f"version {version} has no wheel for this machine, and to build it takes Rust's packages"
    if _try_import("honker") is None:
        return None
    system = _system_sqlite()
    for bundled in site.glob("honker.libs/libsqlite3*"):
        if system:
            bundled.unlink()
            bundled.symlink_to(system)
    return _try_import("honker")


def _system_sqlite() -> str | None:
    """The file of the SQLite that Python's own module uses."""
    code = "import sqlite3; print(open('/proc/self/maps').read())"
    match = re.search(r"(/\S*libsqlite3\S*)", _run([str(PYTHON), "-c", code]).stdout)
    return match.group(1) if match else None


def _try_import(package: str) -> str | None:
    module = {"persist-queue": "persistqueue"}.get(package, package)
    tried = _run([str(PYTHON), "-c", f"import {module}"])
    if tried.returncode == 0:
        return None
    return "it is installed and cannot be loaded: " + (tried.stderr.strip().splitlines() or ["?"])[-1]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
