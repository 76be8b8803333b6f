"""What each peer does for its rate: whether a claim survives, a failure blocks, and a worker may be late."""

import json
import subprocess
import sys
from typing import Any

from ..measure import HERE
from . import install
from .cells import PEERS, SLUICE

# Not tried here: Sluice's own are tests, the queue on GRDB does what the plain loop does.
KNOWN = {
    SLUICE.key: {"crash": "yes, when the file is opened again, or after its lease in another process",
                 "failure": "yes, until it is tried again", "late": "no: its outcome is refused"},
    "grdb": {"crash": "yes, when the file is opened again", "failure": "yes: it is the next again, at once",
             "late": "nothing is claimed"},
}
# Seconds after which a trial is stuck.
PATIENCE = 60


def tried(only: list[str]) -> dict[str, dict[str, str]]:
    """The answers of each peer that can be had, by its key."""
    missing = install.install()
    found = dict(KNOWN)
    for peer in PEERS:
        if peer.key in KNOWN or (only and peer.key not in only) or missing.get(peer.package or ""):
            continue
        python = str(install.PYTHON) if peer.package else sys.executable
        print(f"peers: {peer.key}: what it promises", file=sys.stderr)
        result = subprocess.run([python, "-m", "Peers.promises", peer.key], cwd=HERE, check=True,
                                stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
        found[peer.key] = json.loads(result.stdout)
    return found


def keeps_claim(answers: dict[str, str]) -> bool:
    """Whether a worker's claim is in the file, so that another worker does not start the same action."""
    return answers["crash"].startswith("yes") and answers["late"].split(":")[0] in ("yes", "no")


def section(found: dict[str, Any]) -> list[str]:
    if "promises" not in found:
        return []
    texts = {peer.key: peer.text for peer in [SLUICE, *PEERS]}
    lines = [
        "### What each does for its rate", "",
        "Tried by `Peers/promises.py`, with leases of a second where there are any: an action whose process dies "
        "after it has taken it; an action that fails and is given back; a worker that ends after another one has got "
        "its action. Not tried there: Sluice, whose own tests do it, and the queue on GRDB, which does what the plain "
        "loop does. goqite is not measured: it is a module for Go, which this suite does not run. huey 3.5 has no "
        "form that keeps a claim.", "",
        "| | does an action come back whose process died? | does a failed head block? "
        "| can a late worker remove another's work? |",
        "| --- | --- | --- | --- |",
    ]
    for key, text in texts.items():
        if key in found["promises"]:
            answers = found["promises"][key]
            lines.append(f"| {text} | {answers['crash']} | {answers['failure']} | {answers['late']} |")
    return lines
