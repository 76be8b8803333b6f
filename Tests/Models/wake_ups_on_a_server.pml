/*
 * PostgreSQL: arrivals, lanes that are given back as empty, scheduled actions, and the doorbell (sluice_take_arrivals,
 * sluice_start_heads, sluice_write_lanes, sluice_place_due, PostgresLoop.rest). Three workers, two queues, three
 * actions: 1 and 2 in queue 0, of which 1 is scheduled and gets its place at any time, and 3 in queue 1.
 *
 * What stands for what: a step has four parts, between which other transactions commit: the lanes of its receipts,
 * arrivals, a look at the heads, and the writes with the commit. A worker that has nothing to do waits for the doorbell
 * or for its poll. The doorbell is rung only if a worker waits, and may be lost, as through PgBouncer.
 * Left out: leases (claims_on_a_server.pml), gates and holds, which have the same rule with a row of their own.
 *
 * Promised: each action is run in the end, whoever commits and whatever the doorbell does (G11, G1), once (G5), and no
 * two of a queue at once (G3).
 */
#ifndef WORKERS
#define WORKERS 3
#endif
#define QUEUES 2
#define ACTIONS 3
#define queue_of(action) ((action) == 3)
#define first_in(queue, from) ((queue) == 1 -> (is_there[3] && 3 > (from) -> 3 : 0) : \
    (is_there[1] && 1 > (from) -> 1 : (is_there[2] && 2 > (from) -> 2 : 0)))

bool is_there[ACTIONS + 1];     /* committed, with its place, not settled */
byte settled;
byte arrivals[QUEUES];
bool arrival_rewinds[QUEUES];
bool ready[QUEUES];
byte lane[QUEUES];              /* the worker that has the lane, plus one */
byte lane_lock[QUEUES];         /* the worker whose step has locked it, plus one */
byte low[QUEUES];
bool rewinds[QUEUES];
byte claim[QUEUES];             /* the action that runs */
byte waiting;                   /* workers that wait for the doorbell */
byte rings;

inline ring() {
    if
    :: waiting > 0 -> rings = 1
    :: waiting > 0 -> printf("the doorbell is lost\n")
    :: waiting == 0
    fi
}

proctype Application(byte action) {
    atomic {
        printf("action %d is committed, with its arrival\n", action);
        is_there[action] = true;
        arrivals[queue_of(action)]++;
        ring()
    }
}

/* An action that is due gets its place, before newer ones: with the lane's lock, which it takes only if it is free. */
proctype Schedule() {
    atomic { lane_lock[0] == 0 ->
        printf("action 1 is due and gets its place, with an arrival\n");
        is_there[1] = true;
        arrivals[0]++;
#ifndef NO_REWIND
        arrival_rewinds[0] = true;
        rewinds[0] = true;
#endif
        ring()
    }
}

#ifdef NO_LANE_LOCK_TAKING_IN
#define may_take_in(w, queue) true
#else
#define may_take_in(w, queue) (lane_lock[queue] == 0 || lane_lock[queue] == w + 1)
#endif

inline take_in(w, queue) {
    if
    :: arrivals[queue] > 0 && may_take_in(w, queue) ->
        printf("worker %d takes in the arrivals of queue %d\n", w, queue);
        arrivals[queue] = 0;
        if :: lane[queue] == 0 -> ready[queue] = true :: else fi;
        if :: arrival_rewinds[queue] -> rewinds[queue] = true; arrival_rewinds[queue] = false :: else fi;
#ifndef NO_LANE_LOCK_TAKING_IN
        lane_lock[queue] = w + 1
#endif
#ifdef NO_ARRIVAL_OF_A_LOCKED_LANE
    :: arrivals[queue] > 0 && !may_take_in(w, queue) ->
        printf("worker %d deletes the arrivals of queue %d, whose lane is locked\n", w, queue);
        arrivals[queue] = 0
#endif
    :: else
    fi
}

inline look(queue) {
    heads[queue] = (rewinds[queue] -> first_in(queue, 0) : first_in(queue, low[queue]))
}

#define has_receipt(w, queue) (lane[queue] == w + 1)
#define may_claim(queue) (ready[queue] && lane[queue] == 0 && lane_lock[queue] == 0)
#define has_work(w) (has_receipt(w, 0) || has_receipt(w, 1) || may_claim(0) || may_claim(1) || \
    (arrivals[0] > 0 && lane_lock[0] == 0) || (arrivals[1] > 0 && lane_lock[1] == 0))

proctype Worker(byte w) {
    bool mine[QUEUES];
    byte heads[QUEUES];
    byte q;
end:
    do
    :: atomic { has_work(w) &&
#ifndef NO_LANE_LOCK_SETTLING
                (!has_receipt(w, 0) || lane_lock[0] == 0) && (!has_receipt(w, 1) || lane_lock[1] == 0) ->
#else
                true ->
#endif
           printf("a step of worker %d begins\n", w);
           do
           :: q < QUEUES ->
               if
               :: has_receipt(w, q) ->
                   mine[q] = true;
                   printf("    action %d is settled\n", claim[q]);
#ifndef NO_LANE_LOCK_SETTLING
                   lane_lock[q] = w + 1;
#endif
               :: else
               fi;
#ifdef NO_LOOK_AFTER_THE_LOCK
               look(q);
#endif
               q++
           :: else -> break
           od;
           q = 0
       };
       atomic { true -> take_in(w, 0); take_in(w, 1) };
       /* Lanes that are ready, and a look at the heads with a snapshot of its own. */
       atomic { true ->
           do
           :: q < QUEUES ->
               if
               :: !mine[q] && ready[q] && lane[q] == 0 && (lane_lock[q] == 0 || lane_lock[q] == w + 1) ->
                   lane_lock[q] = w + 1;
                   mine[q] = true
               :: else
               fi;
               q++
           :: else -> break
           od;
           q = 0
       };
       atomic { true ->
#ifndef NO_LOOK_AFTER_THE_LOCK
           do
           :: q < QUEUES ->
               if
               /* What this step has settled is no head for it. */
               :: mine[q] && claim[q] != 0 && lane[q] == w + 1 ->
                   is_there[claim[q]] = false;
                   look(q);
                   is_there[claim[q]] = true
               :: mine[q] && !(claim[q] != 0 && lane[q] == w + 1) -> look(q)
               :: else
               fi;
               q++
           :: else -> break
           od;
           q = 0
#endif
       };
       atomic { true ->
           do
           :: q < QUEUES ->
               if
               :: mine[q] ->
                   if
                   :: claim[q] != 0 && lane[q] == w + 1 ->
                       is_there[claim[q]] = false;
                       settled++;
                       low[q] = (rewinds[q] -> low[q] : claim[q]);
                       if :: heads[q] == claim[q] -> heads[q] = 0 :: else fi;
                       claim[q] = 0;
                       lane[q] = 0
                   :: else
                   fi;
                   if
                   :: heads[q] != 0 && is_there[heads[q]] ->
                       printf("    worker %d starts action %d\n", w, heads[q]);
                       assert(claim[q] == 0);           /* G3 */
                       claim[q] = heads[q];
                       lane[q] = w + 1;
                       low[q] = claim[q] - 1;
                       rewinds[q] = false
                   :: else ->
                       printf("    worker %d finds queue %d empty\n", w, q);
                       ready[q] = false;
                       rewinds[q] = false
                   fi
               :: else
               fi;
               mine[q] = false;
               heads[q] = 0;
               if :: lane_lock[q] == w + 1 -> lane_lock[q] = 0 :: else fi;
               q++
           :: else -> break
           od;
           q = 0
       }
    /* Nothing to do. */
    :: atomic { !has_work(w) && settled < ACTIONS -> waiting++ };
    end_waiting:
       if
       :: atomic { rings > 0 -> rings = 0; waiting-- }
#ifndef NO_POLL
       :: atomic { has_work(w) -> waiting-- }
#endif
       fi
    od
}

init {
    atomic {
        run Application(2); run Application(3); run Schedule();
#if WORKERS > 2
        run Worker(2);
#endif
        run Worker(0); run Worker(1)
    };
    timeout ->
    assert(settled == ACTIONS)          /* G11 */
}
