/*
 * PostgreSQL: claim, lease, renewal, freeze, take-over and settle (Migrations/postgres/0003_step.sql and
 * Sources/SluicePostgres/Running). Three workers, two queues, three actions: 1 and 2 in queue 0, 3 in queue 1.
 *
 * What stands for what
 *   A call of sluice_step is a transaction of two steps: `lock_step` locks the worker's row and lanes, `commit_step`
 *   writes. Other transactions run between the two. Calls that wait for a lock are calls that begin later.
 *   take_off, resync, register and a settling by the application are one step each: they hold all rows that they read.
 *   Time: one tick is half a lease. A worker cancels its handlers after one tick without an answer (in the code two
 *   thirds of the lease), and a lease ends after two. Time does not pass while a worker that runs and should cancel has
 *   not: it passes for a frozen worker, whose handlers are then outside of what G3 promises (`excused`).
 *   Being cut off from the server is a worker that makes no call. A worker that dies is one that is frozen for ever.
 *   Claim numbers and epochs are never used again. With counters there would be states without end, so a new number is
 *   one that nobody knows, and a receipt of an epoch that was taken off is marked (`is_old`).
 * What it leaves out: arrivals (wake_ups.pml), enqueues (enqueues.pml), suspects (suspects.pml), gates, holds, permits,
 *   operators' acts, the crash of the server.
 *
 * Promised here, with asserts
 *   G3  A handler starts only while no other of its queue runs, but for those of workers frozen beyond their lease.
 *   G2  An action starts after all earlier ones of its queue have ended.
 *   G5  An action is settled once; what the application writes in the settling transaction is there once.
 *   G6  A late outcome settles nothing.
 *   G1  An action that has not ended has a lane that is ready, or that a worker has with a claim (check_lanes).
 *       A worker that waits for no answer knows its claims (check_known).
 */
#ifndef FAULTS
#define FAULTS 2        /* a worker is cut off for any time, or frozen for any time, or all leases lapse together */
#endif
#ifndef LATES
#define LATES 1         /* calls that the server executes after the worker has given them up */
#endif
#ifndef OTHERS
#define OTHERS 1        /* outcomes other than a plain success, besides those of cancelled handlers */
#endif
#ifndef WORKERS
#define WORKERS 3
#endif
#define QUEUES 2
#define ACTIONS 3
#ifndef LEASE
#define LEASE 2
#define CANCEL 1
#endif

#define at(worker, queue) ((worker) * QUEUES + (queue))
#define queue_of(action) ((action) == 3)
#define head_of(queue) ((queue) == 1 -> 3 : (settled[1] -> 2 : 1))
#define is_open(queue) ((queue) == 1 -> !settled[3] : !settled[2])
#define all_done (settled[1] && settled[2] && settled[3])

mtype = { nothing, runs, succeeded, stopped };
mtype = { fine, is_cut, is_frozen };
#define frozen(w) (mode[w] == is_frozen)

/* The server's tables. The index of a worker stands for its epoch. */
bool has_row[WORKERS];
byte age[WORKERS];              /* ticks since the lease was renewed, up to LEASE */
byte continuous[WORKERS];       /* ticks since continuous_since, up to LEASE */
byte shares[WORKERS];           /* transactions that have locked the worker's row */
byte lane[QUEUES];              /* the worker that has the lane, plus one */
byte lane_locks[QUEUES];
byte claim[6];                  /* by worker and queue: the action of a claim */
byte number[6];
bool settled[ACTIONS + 1];
bool effect[ACTIONS + 1];       /* what a settling transaction of the application has written */

/* What workers know, by worker and queue. */
mtype handler[6] = nothing;
byte held[6];                   /* action, number and epoch of the receipt */
byte held_number[6];
bool is_old[6];
bool excused[6];
mtype outcome[6] = nothing;     /* what the call under way carries */

/* By worker. */
bool registered[WORKERS];
bool must_resync[WORKERS];
bool calls[WORKERS];            /* a step is under way */
byte own[WORKERS];              /* ticks since the last renewal, counted from before it was sent */
byte sent[WORKERS];             /* ticks since the step under way was sent */
mtype mode[WORKERS] = fine;

/* A call that its worker has given up, and that may still reach the server. */
bool late_waits;
byte late_worker;
bool late_is_resync;            /* it is a resync; late_number has what its worker knew */
bool late_is_fenced;
bool late_may_take;
bool late_runs;
mtype late_outcome[QUEUES] = nothing;
byte late_number[QUEUES];
byte late_action[QUEUES];

bool is_hit;
byte faults = FAULTS, lates = LATES, others = OTHERS;

/* The receipt of a claim is its worker and its number (G6). */
#define holder(w, q) w
#if defined(NO_CLAIM_IN_RECEIPT)
#undef holder
#define holder(w, q) (lane[q] != 0 -> lane[q] - 1 : w)
#define matches(w, q, its_number, its_action, old) (claim[at(holder(w, q), q)] == its_action)
#elif defined(NO_NEW_EPOCH)
#define matches(w, q, its_number, its_action, old) (claim[at(w, q)] != 0 && number[at(w, q)] == its_number)
#else
#define matches(w, q, its_number, its_action, old) (claim[at(w, q)] != 0 && number[at(w, q)] == its_number && !(old))
#endif
#if defined(NO_CLAIM_IN_RECEIPT) || defined(NO_NEW_EPOCH)
#define KEEPS_OLD_RECEIPTS
#endif

#ifdef NO_LANE_LOCK
#define is_free(q) (lane[q] == 0)
#else
#define is_free(q) (lane[q] == 0 && lane_locks[q] == 0)
#endif

/* A number that nobody knows: receipts are compared by worker and queue, so it is one of those. */
inline take_number(w, q) {
    n = 1;
    do
    :: handler[at(w, q)] != nothing && !is_old[at(w, q)] && held_number[at(w, q)] == n -> n++
#ifndef NO_NEW_EPOCH
    :: late_waits && late_worker == w && late_number[q] == n -> n++
#endif
    :: else -> break
    od
}

/* Each action that has not ended can go on (G1). */
inline check_lanes() {
    assert(!is_open(0) || lane[0] == 0 || (has_row[lane[0] - 1] && claim[at(lane[0] - 1, 0)] != 0));   /* G1 */
    assert(!is_open(1) || lane[1] == 0 || (has_row[lane[1] - 1] && claim[at(lane[1] - 1, 1)] != 0))    /* G1 */
}
#define knows(w, q) (claim[at(w, q)] == 0 || \
    (handler[at(w, q)] != nothing && !is_old[at(w, q)] && held_number[at(w, q)] == number[at(w, q)]))

/* A worker that waits for no answer knows its claims: else nobody runs or settles them (G1). */
inline check_known(w) {
#ifdef NO_NEW_EPOCH
    skip    /* It fails sooner, and says less. */
#else
    assert(!has_row[w] || !registered[w] || must_resync[w] || calls[w] || (knows(w, 0) && knows(w, 1)))   /* G1 */
#endif
}

/* The first half of a step: the worker's row, its lease, the lanes of the receipts, some lanes that are free. */
inline lock_step(w, its_outcome, may_take) {
#ifdef NO_SHARE
    has_locked_row = age[w] > 0;    /* only a renewal locks the row */
#else
    has_locked_row = true;
#endif
    shares[w] = shares[w] + has_locked_row;
    if
    :: age[w] == LEASE -> continuous[w] = 0
    :: else
    fi;
    age[w] = 0;
    q = 0;
    do
    :: q < QUEUES ->
        mine[q] = its_outcome != nothing;
        takes[q] = false;
        if
        :: mine[q] -> lane_locks[q]++
        :: !mine[q] && may_take && !takes[0] && is_free(q) && is_open(q) -> takes[q] = true; lane_locks[q]++
        :: !mine[q]
        fi;
        q++
    :: else -> break
    od;
    q = 0
}

/* The second half: outcomes, heads, claims. What is claimed goes into the answer. */
inline commit_step(w, its_outcome, its_number, its_action, old) {
    q = 0;
    do
    :: q < QUEUES ->
        if
        :: mine[q] && matches(w, q, its_number, its_action, old) ->
            printf("    the server settles action %d by the outcome of worker %d: %e\n", claim[at(holder(w, q), q)], w,
                   its_outcome);
            if
            :: its_outcome == succeeded ->
                assert(!settled[claim[at(holder(w, q), q)]] || effect[claim[at(holder(w, q), q)]]);     /* G5 */
                settled[claim[at(holder(w, q), q)]] = true
            :: else
            fi;
            number[at(holder(w, q), q)] = 0;
            claim[at(holder(w, q), q)] = 0;
            lane[q] = 0;
            /* The lane goes on, or its turn is over. */
            if
            :: is_open(q) && !takes[0] && !takes[1] -> takes[q] = true
            :: true
            fi
        :: mine[q] && !matches(w, q, its_number, its_action, old) ->
            printf("    the server refuses an outcome of worker %d: its claim is gone\n", w)
        :: else
        fi;
        if
        :: takes[q] && is_open(q) ->
            assert(claim[at(w, q)] == 0);                                                   /* G3 */
            take_number(w, q);
            claim[at(w, q)] = head_of(q);
            number[at(w, q)] = n;
            lane[q] = w + 1;
            answer[q] = 8 * claim[at(w, q)] + n;
            n = 0;
            printf("    the server claims action %d for worker %d\n", claim[at(w, q)], w)
        :: else
        fi;
        if
        :: mine[q] || takes[q] -> if :: lane_locks[q] > 0 -> lane_locks[q]-- :: else fi
        :: else
        fi;
        mine[q] = false;
        q++
    :: else -> break
    od;
    q = 0;
    takes[0] = false;
    takes[1] = false;
    shares[w] = shares[w] - has_locked_row;
    has_locked_row = false;
    check_lanes()
}

/* The worker starts what an answer says. */
inline start(w, q, its_answer) {
    n = its_answer / 8;
    printf("worker %d starts action %d\n", w, n);
    assert((handler[at(0, q)] != runs || excused[at(0, q)]) && (handler[at(1, q)] != runs || excused[at(1, q)]) &&
           (handler[at(WORKERS - 1, q)] != runs || excused[at(WORKERS - 1, q)]));           /* G3 */
    assert(n != 2 || settled[1]);                                                           /* G2 */
    handler[at(w, q)] = runs;
    held[at(w, q)] = n;
    held_number[at(w, q)] = its_answer % 8;
    is_old[at(w, q)] = false;
    excused[at(w, q)] = false;
    n = 0
}

inline forget(w, q) {
    handler[at(w, q)] = nothing;
    held[at(w, q)] = 0;
    held_number[at(w, q)] = 0;
    is_old[at(w, q)] = false;
    excused[at(w, q)] = false
}

inline cancel_one(w, q) {
    if
    :: handler[at(w, q)] == runs ->
        handler[at(w, q)] = stopped; excused[at(w, q)] = false;
        printf("worker %d cancels action %d, whose handler returns\n", w, held[at(w, q)])
    :: else
    fi
}

inline end_call(w) {
    calls[w] = false;
    sent[w] = 0;
    outcome[at(w, 0)] = nothing;
    outcome[at(w, 1)] = nothing
}

/* The worker learns that it was taken off: it cancels, and registers again. */
inline learn(w) {
    printf("worker %d learns that it was taken off\n", w);
    end_call(w);
    cancel_one(w, 0);
    cancel_one(w, 1);
#ifdef KEEPS_OLD_RECEIPTS
    if :: handler[at(w, 0)] != nothing -> is_old[at(w, 0)] = true :: else fi;
    if :: handler[at(w, 1)] != nothing -> is_old[at(w, 1)] = true :: else fi;
#else
    /* The server refuses their outcomes: no claim has the number of an old epoch (G6). */
    forget(w, 0);
    forget(w, 1);
#endif
    registered[w] = false;
    must_resync[w] = false;
    own[w] = 0
}

#define ended(w, q) (handler[at(w, q)] == succeeded || handler[at(w, q)] == stopped)
#define can_claim(q) (lane[q] == 0 && is_open(q) && lane_locks[q] == 0)
/* A worker runs one action at a time. */
#define is_busy(w) (handler[at(w, 0)] == runs || handler[at(w, 1)] == runs)
#define has_work(w) (ended(w, 0) || ended(w, 1) || (!is_busy(w) && (can_claim(0) || can_claim(1))))
#define lanes_are_free(w) ((outcome[at(w, 0)] == nothing || lane_locks[0] == 0) && \
    (outcome[at(w, 1)] == nothing || lane_locks[1] == 0))
#ifdef NO_SHARE
#define row_is_free(w) (shares[w] == 0)
#elif defined(NO_WAIT_OF_RESYNCS)
/* KEY SHARE: two calls of one worker can run at once. */
#define row_is_free(w) true
#else
#define row_is_free(w) (shares[w] == 0)
#endif
#define must_cancel(w) (own[w] >= CANCEL && (handler[at(w, 0)] == runs || handler[at(w, 1)] == runs))

/* What a worker counts its lease from. */
#ifdef NO_COUNT_FROM_SENT
#define renewed_before(w) 0
#else
#define renewed_before(w) sent[w]
#endif
#ifdef NO_LOOK_AT_THE_TIME
#define in_time(w) true
#else
#define in_time(w) (sent[w] < CANCEL)
#endif

inline drop_late() {
    late_waits = false;
    late_worker = 0;
    late_may_take = false;
    late_is_resync = false;
    late_is_fenced = false;
    late_outcome[0] = nothing; late_outcome[1] = nothing;
    late_number[0] = 0; late_number[1] = 0;
    late_action[0] = 0; late_action[1] = 0
}

#ifdef NO_JUDGE
#define may_judge(w) true
#else
#define may_judge(w) (age[w] < LEASE && continuous[w] == LEASE)
#endif
#define own_lanes_are_free(w) ((lane[0] != w + 1 || lane_locks[0] == 0) && (lane[1] != w + 1 || lane_locks[1] == 0))
#define can_take_off(w, gone) (!frozen(w) && registered[w] && has_row[w] && !all_done && may_judge(w) && \
    has_row[gone] && age[gone] == LEASE && shares[gone] == 0 && own_lanes_are_free(gone))

inline take_off(w, gone) {
    printf("worker %d takes worker %d off, whose lease is over\n", w, gone);
    has_row[gone] = false;
    age[gone] = 0;
    continuous[gone] = 0;
    claim[at(gone, 0)] = 0; number[at(gone, 0)] = 0;
    claim[at(gone, 1)] = 0; number[at(gone, 1)] = 0;
    if :: lane[0] == gone + 1 -> lane[0] = 0 :: else fi;
    if :: lane[1] == gone + 1 -> lane[1] = 0 :: else fi;
#ifndef KEEPS_OLD_RECEIPTS
    /* Its calls are those of an epoch that never comes again. */
    if :: late_waits && late_worker == gone && !late_runs -> drop_late() :: else fi
#endif
}

/* A handler settles its action in a transaction of the application (sluice_succeed). */
inline succeed(slot, worker, queue) {
    if
#ifdef NO_RECEIPT_TO_SUCCEED
    :: true ->
#else
    :: matches(worker, queue, held_number[slot], held[slot], is_old[slot]) && !settled[held[slot]] ->
#endif
        printf("the application of worker %d writes and settles action %d\n", worker, held[slot]);
        assert(!effect[held[slot]] && !settled[held[slot]]);                                /* G5 */
        effect[held[slot]] = true;
        settled[held[slot]] = true;
        handler[slot] = succeeded
    :: else ->
        printf("the application of worker %d may not settle action %d, and rolls back\n", worker, held[slot]);
        handler[slot] = stopped
    fi
}

/* A worker that is well calls the server in each tick; one that is cut off cancels in time. */
#ifdef NO_CANCEL_IN_TIME
#define may_tick(w) (mode[w] != fine || (registered[w] && own[w] == 0 && !calls[w] && !must_resync[w]))
#else
#define may_tick(w) (frozen(w) || (mode[w] == is_cut && !must_cancel(w)) || \
    (registered[w] && own[w] == 0 && !calls[w] && !must_resync[w]))
#endif

inline send(w) {
    calls[w] = true;
    if :: ended(w, 0) -> outcome[at(w, 0)] = handler[at(w, 0)] :: else fi;
    if :: ended(w, 1) -> outcome[at(w, 1)] = handler[at(w, 1)] :: else fi
}

inline give_up(w) {
    printf("worker %d gives up a step, which is still on its way to the server\n", w);
    lates--;
    late_waits = true;
    late_worker = w;
    late_may_take = !is_busy(w);
    do
    :: q < QUEUES ->
        if
        :: outcome[at(w, q)] != nothing && !is_old[at(w, q)] ->
            late_outcome[q] = outcome[at(w, q)];
            late_number[q] = held_number[at(w, q)];
            late_action[q] = held[at(w, q)]
        :: else
        fi;
        q++
    :: else -> break
    od;
    q = 0;
    end_call(w);
    must_resync[w] = true
}

proctype Worker(byte w) {
    bool mine[QUEUES];
    bool takes[QUEUES];
    byte answer[QUEUES];
    bool has_locked_row;
    byte q, n;
    do
    /* A step. Between a worker that is well and the server no call is lost: sending it and its begin are one. */
    :: atomic { mode[w] == fine && registered[w] && !must_resync[w] && !all_done && has_work(w) && has_row[w] &&
                row_is_free(w) && (!ended(w, 0) || lane_locks[0] == 0) && (!ended(w, 1) || lane_locks[1] == 0) ->
           send(w);
           goto begin
       }
    :: atomic { mode[w] == is_cut && registered[w] && !must_resync[w] && !all_done && has_work(w) && has_row[w] ->
           send(w)
       };
       if
       :: atomic { mode[w] == is_cut && has_row[w] && lates > 0 && !late_waits ->
              give_up(w)
          }
       :: atomic { !frozen(w) && !has_row[w] -> learn(w) }
       :: atomic { has_row[w] && row_is_free(w) && lanes_are_free(w) ->
       begin:
              printf("the server begins a step of worker %d\n", w);
              lock_step(w, outcome[at(w, q)], !is_busy(w))
          };
          atomic { true ->
              printf("    and commits it\n");
              commit_step(w, outcome[at(w, q)], held_number[at(w, q)], held[at(w, q)], is_old[at(w, q)]);
              if
              :: mode[w] == fine && in_time(w) -> goto digest
              :: else
              fi
          };
          if
          :: atomic { !frozen(w) && in_time(w) ->
          digest:
                 printf("worker %d gets the answer\n", w);
                 do
                 :: q < QUEUES ->
                     if :: outcome[at(w, q)] != nothing -> forget(w, q) :: else fi;
                     if :: answer[q] != 0 -> start(w, q, answer[q]); answer[q] = 0 :: else fi;
                     q++
                 :: else -> break
                 od;
                 q = 0;
                 own[w] = renewed_before(w);
                 end_call(w);
                 check_known(w)
             }
          :: atomic { mode[w] == is_cut || (mode[w] == fine && !in_time(w)) ->
                 printf("worker %d gets no answer, or too late\n", w);
                 answer[0] = 0;
                 answer[1] = 0;
                 end_call(w);
                 must_resync[w] = true
             }
          fi
       fi
    /* A step that only renews the lease. */
    :: atomic { !frozen(w) && registered[w] && !must_resync[w] && !all_done && own[w] > 0 && has_row[w] &&
                row_is_free(w) ->
           if :: age[w] == LEASE -> continuous[w] = 0 :: else fi;
           age[w] = 0;
           own[w] = 0
       }
    :: atomic { !frozen(w) && registered[w] && !must_resync[w] && !all_done && !has_row[w] -> learn(w) }
    /* Gives back what was claimed in a call whose answer was lost. */
    :: atomic { !frozen(w) && registered[w] && must_resync[w] && has_row[w] && row_is_free(w) &&
                (lane[0] != w + 1 || lane_locks[0] == 0) && (lane[1] != w + 1 || lane_locks[1] == 0) ->
           printf("worker %d resyncs\n", w);
#ifndef NO_RESYNC
           do
           :: q < QUEUES ->
               if
               :: claim[at(w, q)] != 0 && (handler[at(w, q)] == nothing || is_old[at(w, q)] ||
                                           held_number[at(w, q)] != number[at(w, q)]) ->
                   printf("    the server gives action %d back, unknown to its worker\n", claim[at(w, q)]);
                   claim[at(w, q)] = 0;
                   number[at(w, q)] = 0;
                   lane[q] = 0
               :: else
               fi;
               q++
           :: else -> break
           od;
           q = 0;
#endif
           /* Calls with smaller numbers than those of this resync are refused from now on. */
           if
#ifdef NO_FENCE_OF_STEPS
           :: late_waits && late_worker == w && late_is_resync -> late_is_fenced = true
#elif defined(NO_FENCE_OF_RESYNCS)
           :: late_waits && late_worker == w && !late_is_resync -> late_is_fenced = true
#else
           :: late_waits && late_worker == w -> late_is_fenced = true
#endif
           :: else
           fi;
           must_resync[w] = false;
           check_known(w)
       }
    :: atomic { mode[w] == is_cut && registered[w] && must_resync[w] && has_row[w] && lates > 0 && !late_waits ->
           printf("worker %d gives up a resync, which is still on its way to the server\n", w);
           lates--;
           late_waits = true;
           late_worker = w;
           late_is_resync = true;
           late_number[0] = (handler[at(w, 0)] != nothing -> held_number[at(w, 0)] : 0);
           late_number[1] = (handler[at(w, 1)] != nothing -> held_number[at(w, 1)] : 0)
       }
    :: atomic { !frozen(w) && registered[w] && must_resync[w] && !has_row[w] -> learn(w) }
    :: atomic { !frozen(w) && !registered[w] && !all_done ->
           printf("worker %d registers\n", w);
           has_row[w] = true;
           age[w] = 0;
           continuous[w] = 0;
           registered[w] = true
       }
    /* Chores: takes off another worker. */
    :: atomic { can_take_off(w, (w + 1) % WORKERS) -> take_off(w, (w + 1) % WORKERS) }
#if WORKERS > 2
    :: atomic { can_take_off(w, (w + 2) % WORKERS) -> take_off(w, (w + 2) % WORKERS) }
#endif
    od
}

/* A call that came late to the server. */
proctype Late() {
    bool mine[QUEUES];
    bool takes[QUEUES];
    byte answer[QUEUES];
    bool has_locked_row;
    byte q, n;
    do
    :: atomic { late_waits && !late_is_resync && has_row[late_worker] && !late_is_fenced && row_is_free(late_worker) &&
                (late_outcome[0] == nothing || lane_locks[0] == 0) &&
                (late_outcome[1] == nothing || lane_locks[1] == 0) ->
           printf("the server begins a late step of worker %d\n", late_worker);
           late_runs = true;
           lock_step(late_worker, late_outcome[q], late_may_take)
       };
       atomic { true ->
           printf("    and commits it\n");
           commit_step(late_worker, late_outcome[q], late_number[q], late_action[q], false);
           answer[0] = 0;
           answer[1] = 0;
           late_runs = false;
           check_known(late_worker);
           drop_late()
       }
    :: atomic { late_waits && late_is_resync && has_row[late_worker] && !late_is_fenced && row_is_free(late_worker) &&
                own_lanes_are_free(late_worker) ->
           printf("the server executes a late resync of worker %d\n", late_worker);
           do
           :: q < QUEUES ->
               if
               :: claim[at(late_worker, q)] != 0 && number[at(late_worker, q)] != late_number[q] ->
                   printf("    and gives back action %d\n", claim[at(late_worker, q)]);
                   claim[at(late_worker, q)] = 0;
                   number[at(late_worker, q)] = 0;
                   lane[q] = 0
               :: else
               fi;
               q++
           :: else -> break
           od;
           q = 0;
           drop_late()
       }
    :: atomic { late_waits && late_is_fenced ->
           printf("the server refuses a late call of worker %d\n", late_worker);
           drop_late()
       }
    od
}

inline fault(worker) {
    is_hit = FAULTS > 1;
    if
#ifndef ONLY_FROZEN
    :: mode[worker] = is_cut; printf("worker %d reaches the server no more, or late\n", worker)
#endif
#ifndef ONLY_CUT
    :: mode[worker] = is_frozen; printf("worker %d is frozen\n", worker)
#endif
    fi
}

proctype World() {
    byte w, q;
    do
    /* Handlers. */
    :: atomic { !all_done ->
           w = 0;
           do
           :: w < WORKERS * QUEUES && handler[w] == runs && !frozen(w / QUEUES) && !calls[w / QUEUES] -> break
           :: w < WORKERS * QUEUES -> w++
           :: w == WORKERS * QUEUES -> break
           od;
           if
           :: w < WORKERS * QUEUES ->
               if
               :: printf("action %d succeeds at worker %d\n", held[w], w / QUEUES);
                  handler[w] = succeeded
               :: others > 0 ->
                  others--;
                  printf("action %d is to be retried at worker %d\n", held[w], w / QUEUES);
                  handler[w] = stopped
               :: others > 0 -> others--; succeed(w, w / QUEUES, w % QUEUES)
               /* Two thirds of the lease are over without an answer. */
               :: own[w / QUEUES] >= CANCEL && mode[w / QUEUES] == is_cut -> cancel_one(w / QUEUES, w % QUEUES)
               fi;
               excused[w] = false
           :: else
           fi;
           w = 0
       }
    /* Time. */
    :: atomic { !all_done && may_tick(0) && may_tick(1) && may_tick(WORKERS - 1) ->
           printf("-- half a lease passes --\n");
           do
           :: w < WORKERS ->
               if
               :: must_cancel(w) && frozen(w) ->
                   if :: handler[at(w, 0)] == runs -> excused[at(w, 0)] = true :: else fi;
                   if :: handler[at(w, 1)] == runs -> excused[at(w, 1)] = true :: else fi
               :: else
               fi;
               if :: registered[w] && own[w] < CANCEL -> own[w]++ :: else fi;
               if :: calls[w] && sent[w] < CANCEL -> sent[w]++ :: else fi;
               if :: has_row[w] && age[w] < LEASE -> age[w]++ :: else fi;
               if :: has_row[w] && continuous[w] < LEASE -> continuous[w]++ :: else fi;
               w++
           :: else -> break
           od;
           w = 0
       }
    :: atomic { faults > 0 && !all_done ->
           faults--;
           if
#if !defined(ONLY_CUT) && !defined(ONLY_FROZEN)
           :: printf("-- the server's clock is set forward: all leases are over --\n");
              do
              :: w < WORKERS -> if :: has_row[w] -> age[w] = LEASE :: else fi; w++
              :: else -> break
              od;
              w = 0
#endif
           /* Workers are alike: the first that is hit may be called 0, and the next one 1. */
           :: fault(0)
           :: is_hit -> fault(1)
           fi
       }
    :: atomic { !all_done && mode[0] != fine -> mode[0] = fine; printf("worker 0 is well again\n") }
    :: atomic { !all_done && mode[1] != fine -> mode[1] = fine; printf("worker 1 is well again\n") }
    od
}

init {
    byte w;
    atomic {
        do
        :: w < WORKERS -> has_row[w] = true; registered[w] = true; continuous[w] = LEASE; run Worker(w); w++
        :: else -> break
        od;
        w = 0;
#ifdef ONE_QUEUE
        settled[3] = true;
#endif
        run Late();
        run World()
    }
}
