"""Random acts by applications, operators and workers that are killed, frozen and cut off; then nothing may have run at
the same time as another action of its queue, out of order, after its success, or not at all (G2, G3, G5, G6, G8, G11).
"""

import os
import random
import threading
import time
from collections import defaultdict

import psycopg2

import checks
from checks import check, group
from database import threads, until
from worker import Worker, route

# `run --model` sets it.
seconds = 5
WORKERS = 4
# Applications wait while so many actions do: on a busy machine the workers are slower.
MOST_WAITING = 500
LEASE = 1.2
# Handlers are cancelled this long after the last renewal that was sent and answered.
CANCELLED_AFTER = LEASE * 0.66
# Queues in the order of arrival, queues with keys, and queues whose actions operators move, cancel and reschedule.
ARRIVAL, SORTED, MIXED = "f", "s", "m"
ACTS = [
    (12, "SELECT sluice_move(%(id)s, %(queue)s)"),
    (3, "SELECT sluice_cancel(%(id)s)"),
    (2, "DELETE FROM sluice_actions WHERE id = %(id)s"),
    (2, "UPDATE sluice_actions SET queue = %(queue)s, tag = 'x' WHERE id = %(id)s"),
    (2, "SELECT sluice_move_to_front(%(id)s)"),
    (2, "SELECT sluice_reschedule(%(id)s, NULL)"),
    (1, "SELECT sluice_reschedule(%(id)s, clock_timestamp() + interval '50 ms')"),
    (1, "SELECT sluice_edit(%(id)s, NULL, '1', NULL)"),
    (1, "SELECT sluice_set_expiry(%(id)s, NULL)"),
    (1, "SELECT sluice_skip_head(%(queue)s)"),
    (1, "SELECT sluice_requeue_all('m/*')"),
    (2, "SELECT sluice_retry_now('*')"),
    (5, "SELECT sluice_open_gate('g')"),
    (2, "SELECT sluice_close_gate('g')"),
    (1, "SELECT sluice_close_gate('g', '10 ms')"),
    (2, "SELECT sluice_hold(%(any)s, 'model', '', '30 ms')"),
    (1, "SELECT sluice_end_holds(%(any)s)"),
    (1, "SELECT count(*) FROM sluice_queues"),
    (1, "SELECT * FROM sluice_work_left('*')"),
]
OUTCOMES = [
    (70, ("success",)),
    (11, ("retry", "30 ms")),
    (2, ("retry", "30 ms", "g")),
    (6, ("release", "30 ms")),
    (4, ("stop",)),
    (6, ("fail", None, None, False, "e", "failed", "skip")),
]
# For mixed queues in addition.
FAILURES = [
    (2, ("fail", None, None, False, "e", "failed", "block")),
    (1, ("fail", None, None, False, "e", "failed", "failQueue")),
]


def choose(choice, weighted):
    return choice.choices([value for _, value in weighted], [weight for weight, _ in weighted])[0]


class Model:
    def __init__(self, db, seed):
        self.db = db
        self.choice = random.Random(seed)
        self.lock = threading.Lock()
        self.stops = threading.Event()
        self.has_ended = threading.Event()
        # (time, whether it starts, queue, action, claim)
        self.events = []
        # By action: its queue, its key, and when its place was visible to all.
        self.placed = {}
        # When an action's success was known, and when the step that made a claim was sent.
        self.succeeded, self.sent = {}, {}
        self.errors = []
        # Claims of a worker that were not what it ran, and rows that contradict each other.
        self.unlike, self.contradictions = [], []

    def application(self):
        choice = self._choice()
        connection = self.db.another(autocommit=False)
        while not self.stops.is_set():
            if connection.count("action") > MOST_WAITING:
                connection.commit()
                time.sleep(0.05)
                continue
            stored = []
            try:
                for _ in range(choice.choice([1, 1, 2, 3])):
                    stored.append(self._enqueue(connection, choice))
                    if choice.random() < 0.3:
                        time.sleep(choice.random() * 0.01)
                if choice.random() < 0.1:
                    connection.rollback()
                    continue
                connection.commit()
                with self.lock:
                    self.placed |= {action: (queue, key, time.monotonic()) for action, queue, key in stored}
            except psycopg2.Error as error:
                connection.rollback()
                # Applications that lock several queues in any order may deadlock.
                if error.pgcode not in ("40P01", "55P03"):
                    self.errors.append(f"application: {error}")
            time.sleep(choice.random() * 0.01)

    @staticmethod
    def _enqueue(connection, choice):
        kind = choice.choices([ARRIVAL, SORTED, MIXED], [6, 2, 2])[0]
        queue = f"{kind}/{choice.randrange(6 if kind == ARRIVAL else 3)}"
        if kind == SORTED:
            key = choice.randrange(-50, 50)
            return connection.enqueue(queue, sort_key=str(key), sort_type="integer"), queue, key
        options = {}
        if kind == MIXED and choice.random() < 0.3:
            options["key"] = f"k{choice.randrange(4)}"
        if kind == MIXED and choice.random() < 0.4:
            later = "SELECT clock_timestamp() + %s * interval '1 s'"
            options["not_before"] = connection.value(later, choice.random() * 0.4)
        return connection.enqueue(queue, **options), queue, 0

    def operator(self):
        choice = self._choice()
        connection = self.db.another()
        while not self.stops.is_set():
            time.sleep(choice.random() * 0.02)
            self.contradictions += connection.column("SELECT sluice_contradictions()")
            with self.lock:
                mixed = [action for action, (queue, *_) in self.placed.items() if queue[0] == MIXED][-50:]
            if mixed:
                queue = f"{MIXED}/{choice.randrange(3)}"
                values = {"id": choice.choice(mixed), "queue": queue, "any": choice.choice(["*", queue, "f/1"])}
                self._act(connection, choose(choice, ACTS), values)
        for act in (
            "SELECT sluice_open_gate('g')",
            "SELECT sluice_end_holds('*')",
            "SELECT sluice_reschedule(id, NULL) FROM sluice_action_rows WHERE not_before IS NOT NULL",
        ):
            self._act(connection, act, {})

    def _act(self, connection, act, values):
        try:
            with connection.connection.cursor() as cursor:
                cursor.execute(act, values)
        except psycopg2.Error as error:
            # A move locks queues, as applications do.
            if not (error.pgcode == "40P01" and "sluice_queue_rows" in str(error)):
                self.errors.append(f"{act}: {error}")

    def worker(self):
        choice = self._choice()
        while not self.has_ended.is_set():
            try:
                Life(self, choice).run()
            except psycopg2.Error as error:
                # A worker that was taken off registers again.
                if error.pgcode != "SL001":
                    self.errors.append(f"worker: {error}")
                time.sleep(0.02)

    def _choice(self):
        with self.lock:
            return random.Random(self.choice.random())

    def run(self):
        workers = [threading.Thread(target=self.worker) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        stop = threading.Timer(seconds, self.stops.set)
        stop.start()
        threads(self.application, self.application, self.application, self.operator)
        drain = self.db.another()

        def is_empty():
            drain.all("SELECT sluice_retry_now('m/*')")
            return drain.count("action") == 0

        until(is_empty)
        self.has_ended.set()
        for worker in workers:
            worker.join()

    def overlaps_and_inversions(self):
        """How often an action started while another of its queue ran, before an earlier one, or after its success."""
        live, last, ends = defaultdict(dict), defaultdict(int), {}
        overlaps = inversions = repeats = 0
        events = sorted(self.events)
        for at, starts, _, action, _ in events:
            if not starts:
                ends[action] = at
        by_queue = defaultdict(list)
        for action, (queue, key, at) in self.placed.items():
            if queue[0] == SORTED:
                by_queue[queue].append((key, action, at))
        for at, starts, queue, action, claim in events:
            if not starts:
                live[queue].pop(claim, None)
                continue
            overlaps += bool(live[queue])
            live[queue][claim] = action
            sent = self.sent[claim]
            repeats += self.succeeded.get(action, sent) < sent
            if queue[0] == ARRIVAL:
                inversions += action < last[queue]
                last[queue] = max(last[queue], action)
            elif queue[0] == SORTED and action in self.placed:
                mine = (self.placed[action][1], action)
                # Smaller ones that were visible when the claim was sent, and had not ended.
                inversions += any(
                    (key, other) < mine and visible < sent and ends.get(other, at + 1) > at
                    for key, other, visible in by_queue[queue]
                )
        return overlaps, inversions, repeats


class Life:
    """A worker from its registering until it is killed, frozen beyond its lease, or everything has ended."""

    def __init__(self, model, choice):
        self.model, self.choice = model, choice
        capacity = choice.choice([2, 4, 16])
        self.worker = Worker(model.db, route(crashLimit=100), lease=f"{LEASE} s", capacity=capacity)
        # By claim: when its handler returns, and its row.
        self.handlers = {}
        self.renewed = time.monotonic()
        self.dies = self.renewed + choice.choice([0.3, 0.8, 1.5, 3, 9])
        self.next_chores = 0

    def run(self):
        try:
            while not self.model.has_ended.is_set():
                if time.monotonic() > self.dies and not self.model.stops.is_set():
                    if self.choice.random() < 0.6:
                        break
                    self._freeze()
                if not self._step():
                    time.sleep(0.003 + self.choice.random() * 0.01)
                self._do_chores()
        finally:
            for claim in list(self.handlers):
                self._return(claim)
            self.worker.database.close()

    def _return(self, claim):
        _, row = self.handlers.pop(claim)
        with self.model.lock:
            # Another thread of a broker cancels its handlers, whatever its steps do.
            at = min(time.monotonic(), self.renewed + CANCELLED_AFTER)
            self.model.events.append((at, False, row.queue, row.action_id, claim))
        return row

    def _freeze(self):
        """It has cancelled its handlers, says nothing for longer than a lease, and then sends what they returned."""
        time.sleep(max(0, self.renewed + CANCELLED_AFTER - time.monotonic()))
        for claim in list(self.handlers):
            self._return(claim)
            self.worker.end(claim, self.choice.choice(["success", "stop"]))
        time.sleep(self.choice.random() * LEASE * 1.2)
        self.dies = time.monotonic() + self.choice.random() * 3

    def _compare(self):
        """Each claim of a living worker is of an attempt that it runs, and the other way around."""
        claims = self.worker.database.column(
            "SELECT c.claim FROM sluice_worker_rows w LEFT JOIN sluice_claim_rows c ON c.worker = w.epoch"
            " WHERE w.epoch = %s AND w.ending IS NULL",
            self.worker.epoch,
        )
        if claims and {claim for claim in claims if claim} != set(self.worker.running):
            self.model.unlike.append((sorted(filter(None, claims)), sorted(self.worker.running)))

    def _step(self):
        """Whether anything was settled or started."""
        now = time.monotonic()
        self._compare()
        for claim in [claim for claim, (ends, _) in self.handlers.items() if ends <= now]:
            row = self._return(claim)
            outcomes = OUTCOMES + (FAILURES if row.queue[0] == MIXED else [])
            self.worker.end(claim, *choose(self.choice, outcomes))
        outcomes = self.worker.outcomes()
        actions = {claim: row.action_id for claim, row in self.worker.running.items() if claim in outcomes}
        sent = time.monotonic()
        started = self.worker.step(free=self.worker.capacity - len(self.handlers))
        if started and self.choice.random() < 0.1:
            # The answer is lost, and with it what it starts.
            for row in started:
                self.worker.running.pop(row.claim)
            started = []
            self.worker.resync()
        self.renewed, late = sent, time.monotonic() > sent + CANCELLED_AFTER
        with self.model.lock:
            for row in self.worker.last:
                if row.what == "settled" and outcomes.get(row.claim) == "success" and row.claim in actions:
                    self.model.succeeded.setdefault(actions[row.claim], time.monotonic())
            for row in started:
                if late:
                    # The answer came too late: nothing starts.
                    self.worker.end(row.claim, "stop")
                    continue
                self.model.events.append((time.monotonic(), True, row.queue, row.action_id, row.claim))
                self.model.sent[row.claim] = sent
                takes = self.choice.random() * 0.03 if self.choice.random() < 0.3 else 0
                self.handlers[row.claim] = (time.monotonic() + takes, row)
        return bool(started or outcomes)

    def _do_chores(self):
        if time.monotonic() > self.next_chores:
            while self.worker.chores():
                pass
            self.next_chores = time.monotonic() + 0.1


@group
def random_acts(db):
    seed = int(os.environ.get("SLUICE_SEED", random.randrange(10**6)))
    model = Model(db, seed)
    model.run()
    overlaps, inversions, repeats = model.overlaps_and_inversions()
    starts = sum(event[1] for event in model.events)
    checks.report.counts.append(f"model (seed {seed}): {len(model.placed)} enqueued, {starts} starts")
    check("many actions started", starts > 20 * seconds)
    check(f"of a queue one action runs at a time (G3; seed {seed})", overlaps, 0)
    check(f"actions start in the order of their queue (G2; seed {seed})", inversions, 0)
    check(f"nothing runs again after its success (G5, G6; seed {seed})", repeats, 0)
    check(
        f"everything runs in the end (G8, G10, G11; seed {seed})",
        db.column("SELECT because FROM sluice_queues WHERE head_id IS NOT NULL"),
        [],
    )
    check(f"no act fails, and none deadlocks with a step (G14; seed {seed})", model.errors[:3], [])
    attempts = db.column(
        "SELECT action_id FROM sluice_attempt_rows WHERE action_id NOT IN (SELECT id FROM sluice_dead_rows)"
    )
    left = [db.count(table) for table in ("action", "state", "claim")]
    check(f"each claim has a run, and each run a claim (G3, G11; seed {seed})", model.unlike[:3], [])
    check(f"no claim contradicts its queue (seed {seed})", model.contradictions[:3], [])
    check(f"nothing is left of what has ended (seed {seed})", (left, attempts), ([0, 0, 0], []))
