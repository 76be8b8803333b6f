"""A worker that knows how to call the step."""

import json
import random
import time

import psycopg2.extras

STEP = """
SELECT what, claim, follows, action_id, queue_id, queue, kind, version, payload, trace, nonce, enqueued_at, attempts,
       last_error, is_alone, route, due_at
FROM sluice_step(%s, %s, %s::bigint[], %s::text[], %s::interval[], %s::text[], %s::boolean[], %s::text[], %s::text[],
                 %s::text[], %s::integer[], %s::integer[], %s, %s, %s, %s, %s, %s)
"""


def route(number=1, pattern="*", kind=None, **options):
    return {"route": number, "pattern": pattern, "kind": kind} | options


class Worker:
    """A connection, an epoch, and the claims that it has."""

    def __init__(self, database, *routes, lease="30 s", name="host/1", capacity=16):
        self.database = database.another()
        self.lease, self.capacity, self.trial_limit = lease, capacity, "5 s"
        self.most_bytes = 16_000_000
        self.epoch = self.database.value(
            "SELECT sluice_register(%s, %s, %s, %s)",
            name,
            random.getrandbits(62),
            lease,
            json.dumps(routes or [route()]),
        )
        self.running = {}
        self.limits = {}
        self.due_at = None
        self.last = []
        self._number = 0
        self._ended = []
        self._arrivals_from = 0
        self._looks = 0

    def end(self, claim, outcome="success", delay=None, gate=None, closes=False, error=None, cause=None, policy=None):
        """Notes an outcome for the next step."""
        self._ended.append((claim, outcome, delay, gate, closes, error, cause, policy))

    def fail(self, claim, policy, cause="failed", error="bad"):
        self.end(claim, "fail", error=error, cause=cause, policy=policy)

    def outcomes(self):
        return {ended[0]: ended[1] for ended in self._ended}

    def step(self, free=None):
        """Settles what has ended; returns the new claims."""
        ended, self._ended = self._ended, []
        still = {claim: row for claim, row in self.running.items() if claim not in {row[0] for row in ended}}
        if free is None:
            free = self.capacity - len(still)
        permits = {
            number: limit - sum(row.route == number for row in still.values())
            for number, limit in self.limits.items()
        }
        # From the start now and then: rows may be put into places that are free again.
        self._looks += 1
        if self._looks % 8 == 0:
            self._arrivals_from = 0
        self.last = self.database.all(
            STEP,
            self.epoch,
            self.lease,
            *([list(column) for column in zip(*ended)] if ended else [[]] * 8),
            list(permits),
            list(permits.values()),
            free,
            (self.epoch << 32) + self._number + 1,
            False,
            self._arrivals_from,
            self.trial_limit,
            self.most_bytes,
            rows=psycopg2.extras.NamedTupleCursor,
        )
        for row in self.last:
            if row.what == "claimed":
                self.running[row.claim] = row
                self._number = max(self._number, row.claim & 0xFFFFFFFF)
            elif row.what == "busy":
                self._ended += [receipt for receipt in ended if receipt[0] == row.claim]
            elif row.what in ("settled", "stale", "removed", "byApplication"):
                self.running.pop(row.claim, None)
            elif row.what == "next":
                self.due_at, self._arrivals_from = row.due_at, row.version
        return [row for row in self.last if row.what == "claimed"]

    def actions(self, free=None):
        """The actions that a step starts."""
        return [row.action_id for row in self.step(free)]

    def succeed_all(self):
        for claim in list(self.running):
            self.end(claim)

    def drain(self):
        """Succeeds in what runs and then starts, until nothing more is ready; returns the actions, in order."""
        ran = []
        while True:
            self.succeed_all()
            started = self.actions()
            if not started:
                return ran
            ran += started

    def whats(self):
        """What the last step answered, without its claims."""
        return sorted(row.what for row in self.last if row.what not in ("next", "claimed"))

    def resync(self):
        """After a lost answer: gives back all claims that are not among those that run."""
        self._number += 100
        while True:
            self._number += 1
            next_claim = (self.epoch << 32) + self._number
            resync = "SELECT sluice_resync(%s, %s, %s)"
            if None not in self.database.column(resync, self.epoch, list(self.running), next_claim):
                break
            # A transaction has one of the queues.
            time.sleep(0.005)
        self._number += 1

    def chores(self):
        """Returns how much was done; `told` has what the answer says of actions."""
        chores = "SELECT what, done, action_id FROM sluice_chores(%s, %s, %s)"
        *told, last = self.database.all(chores, self.epoch, self.lease, self.trial_limit)
        self.told = [(row[0], row[2]) for row in told]
        return last[1]

    def take_off(self):
        return self.database.value("SELECT did::integer FROM sluice_take_off(%s, %s)", self.epoch, self.lease)

    def set_routes(self, *routes):
        self.database.all("SELECT sluice_set_routes(%s, %s)", self.epoch, json.dumps(routes))
