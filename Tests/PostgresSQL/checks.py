"""Checks: sentences that hold or do not, in groups that have a schema of their own."""

import traceback

groups = {}
report = None


class Report:
    """What was checked, and what failed. The last one that was made counts."""

    def __init__(self, is_silent=False):
        global report
        report = self
        self.is_silent = is_silent
        self.count = 0
        self.failures = []
        # What the model has done, for the last line.
        self.counts = []

    def fail(self, sentence, details):
        self.failures.append(sentence)
        if not self.is_silent:
            print(f"FAILED: {sentence}\n{details}", flush=True)


def group(function):
    """Registers a function that checks; the name of its file is part of its name."""
    groups[f"{function.__module__}.{function.__name__}"] = function
    return function


def check(sentence, got, want=True):
    report.count += 1
    if got != want:
        report.fail(sentence, f"    got  {got!r}\n    want {want!r}")


def run(name, database):
    """Runs one group. An error ends the group and is a failure."""
    try:
        groups[name](database)
    except Exception:
        report.fail(f"{name} ends without an error", traceback.format_exc())
