/*
 * The file: claim, lease, renewal, freeze, death, take-over and settle (Sources/Sluice/Store: Claims, Settlements,
 * RunnerRegistry, SilenceJudge). Three processes, two queues, three actions: 1 and 2 in queue 0, 3 in queue 1.
 *
 * What stands for what
 *   A transaction is one step: SQLite has one writer at a time (BEGIN IMMEDIATE). A process that is frozen in a commit
 *   keeps the write lock, and all others wait.
 *   Time: one tick is a third of a lease, the interval of renewals. Time does not pass before each process that is well
 *   has renewed, unless it waits for the lock. A handler whose process is frozen beyond its lease is outside of what G3
 *   promises (`excused`).
 *   A process that dies is seen to be dead by the others (/proc), or only silent, as in another container.
 *   Claim numbers are never used again. A number here is one that nobody knows any more.
 * What it leaves out: suspects (suspects.pml), the order in memory, gates, holds, other disciplines, loss of power.
 *
 * Promised here, with asserts, are G2, G3, G5 and G6 as in claims_on_a_server.pml, and that a claim is that of a living
 * or judged process, so that no queue stands still for ever (G1, G8).
 */
#ifndef FAULTS
#define FAULTS 2        /* a process is frozen, is frozen in a commit, or dies */
#endif
#ifndef OTHERS
#define OTHERS 1        /* outcomes other than a plain success */
#endif
#ifndef PROCESSES
#define PROCESSES 3
#endif
#define QUEUES 2
#define ACTIONS 3
#define LEASE 3

#define at(process, queue) ((process) * QUEUES + (queue))
#define head_of(queue) ((queue) == 1 -> 3 : (settled[1] -> 2 : 1))
#define is_open(queue) ((queue) == 1 -> !settled[3] : !settled[2])
#define all_done (settled[1] && settled[2] && settled[3])

mtype = { nothing, claimed, runs, succeeded, stopped };
mtype = { fine, is_frozen, has_died };

/* The file. */
bool has_row[PROCESSES];
byte age[PROCESSES];            /* ticks since the lease was renewed, up to LEASE */
byte claim[QUEUES];             /* the action, the process and the number of the claim of a queue's slot */
byte owner[QUEUES];
byte number[QUEUES];
bool settled[ACTIONS + 1];
bool effect[ACTIONS + 1];
byte lock;                      /* the process that is frozen in its commit, plus one */

/* What processes know. */
mtype mode[PROCESSES] = fine;
bool registered[PROCESSES];
byte patience[PROCESSES];       /* ticks until silence shows a death to this process */
mtype handler[6] = nothing;
byte held[6];
byte held_number[6];
bool is_old[6];
bool excused[6];
bool is_hidden;                 /* the death of a process cannot be seen */
bool is_hit;
byte faults = FAULTS, others = OTHERS;

#define runs_any(p) (handler[at(p, 0)] == runs || handler[at(p, 1)] == runs)
#define may_write(p) (mode[p] == fine && lock == 0)

#ifdef NO_NEW_EPOCH
#define matches(p, q) (claim[q] == held[at(p, q)] && number[q] == held_number[at(p, q)])
#elif defined(NO_CLAIM_IN_RECEIPT)
#define matches(p, q) (claim[q] == held[at(p, q)])
#else
#define matches(p, q) (claim[q] != 0 && owner[q] == p && number[q] == held_number[at(p, q)] && !is_old[at(p, q)])
#endif

/* Of the numbers of its epoch the next; all epochs differ. */
inline take_number(p, q) {
    n = 1;
    do
    :: handler[at(p, q)] != nothing && !is_old[at(p, q)] && held_number[at(p, q)] == n -> n++
#ifndef NO_NEW_EPOCH
    :: (handler[at(0, q)] != nothing && held_number[at(0, q)] == n) ||
       (handler[at(1, q)] != nothing && held_number[at(1, q)] == n) ||
       (handler[at(PROCESSES - 1, q)] != nothing && held_number[at(PROCESSES - 1, q)] == n) -> n++
#endif
    :: else -> break
    od
}

inline forget(p, q) {
    handler[at(p, q)] = nothing;
    held[at(p, q)] = 0;
    held_number[at(p, q)] = 0;
    is_old[at(p, q)] = false;
    excused[at(p, q)] = false
}

inline start(p, q) {
    printf("process %d starts action %d\n", p, held[at(p, q)]);
    assert(excused[at(p, q)] ||
           ((handler[at(0, q)] != runs || excused[at(0, q)]) && (handler[at(1, q)] != runs || excused[at(1, q)]) &&
            (handler[at(PROCESSES - 1, q)] != runs || excused[at(PROCESSES - 1, q)])));     /* G3 */
    assert(excused[at(p, q)] || held[at(p, q)] != 2 || settled[1]);                         /* G2 */
    handler[at(p, q)] = runs
}

#ifdef NO_SLOT
#define slot_is_free(q) true
#else
#define slot_is_free(q) (claim[q] == 0)
#endif

/* Renews the lease; who has not for half of it, or has waited for the lock, does not judge for a whole lease. */
inline renew(p) {
    if
    :: age[p] >= 2 -> patience[p] = LEASE; printf("process %d renews its lease late\n", p)
    :: else
    fi;
    age[p] = 0
}

/* Any commit of changes renews the lease as well. */
inline renew_with_commit(p) {
#ifndef NO_RENEWAL_WITH_COMMITS
    if :: has_row[p] && registered[p] -> renew(p) :: else fi
#else
    skip
#endif
}

/* Writes the claim of a head. */
inline write_claim(p, q) {
    take_number(p, q);
    claim[q] = head_of(q);
    owner[q] = p;
    number[q] = n;
    held[at(p, q)] = claim[q];
    held_number[at(p, q)] = n;
    n = 0;
    handler[at(p, q)] = claimed;
    renew_with_commit(p);
    printf("process %d commits the claim of action %d\n", p, held[at(p, q)])
}

inline free_slot(q) {
    claim[q] = 0;
    owner[q] = 0;
    number[q] = 0
}

/* Whether this process is still among those that run the queues, which each of its transactions asks first. */
#ifdef NO_LOOK_AT_OWN_ROW
#define is_known(p) true
#else
#define is_known(p) has_row[p]
#endif

inline cancel_one(p, q) {
    if
    :: handler[at(p, q)] == runs ->
        handler[at(p, q)] = stopped; excused[at(p, q)] = false;
        printf("process %d cancels action %d, whose handler returns\n", p, held[at(p, q)])
    :: handler[at(p, q)] == claimed -> handler[at(p, q)] = stopped
    :: else
    fi;
    if :: handler[at(p, q)] != nothing -> is_old[at(p, q)] = true :: else fi
}

/* Claims of processes without a row are nobody's (suspectOrphans). */
inline free_orphans() {
#ifndef NO_FREEING
    if :: claim[0] != 0 && !has_row[owner[0]] -> free_slot(0) :: else fi;
    if :: claim[1] != 0 && !has_row[owner[1]] -> free_slot(1) :: else fi
#endif
    skip
}

#ifdef NO_JUDGE
#define may_judge(p) true
#else
#define may_judge(p) (patience[p] == 0)
#endif
#define seems_gone(p, other) (has_row[other] && \
    ((mode[other] == has_died && !is_hidden) || (age[other] == LEASE && may_judge(p))))

inline take_off(p, other) {
    printf("process %d takes process %d off\n", p, other);
    has_row[other] = false;
    age[other] = 0;
    free_orphans()
}

proctype Process(byte p) {
    byte q, n;
    do
    /* Takes a free queue. */
    :: atomic { may_write(p) && registered[p] && is_known(p) && !runs_any(p) && !all_done ->
           if
           :: slot_is_free(0) && is_open(0) && handler[at(p, 0)] == nothing && handler[at(p, 1)] == nothing -> q = 0
           :: slot_is_free(1) && is_open(1) && handler[at(p, 0)] == nothing && handler[at(p, 1)] == nothing -> q = 1
           :: else -> q = QUEUES
           fi;
           if
           :: q < QUEUES ->
#ifdef NO_CLAIM_BEFORE_START
               held[at(p, q)] = head_of(q);
               start(p, q);
               goto commits_later
#else
               write_claim(p, q)
#endif
           :: else
           fi;
           q = 0
       }
#ifdef NO_CLAIM_BEFORE_START
    commits_later:
       atomic { may_write(p) || all_done ->
           if
           :: handler[at(p, q)] == runs && claim[q] == 0 ->
               claim[q] = held[at(p, q)]; owner[q] = p; number[q] = 1; held_number[at(p, q)] = 1;
               printf("process %d commits the claim of action %d\n", p, held[at(p, q)])
           :: else
           fi;
           q = 0
       }
#endif
    /* The commit has returned: the handler starts. */
    :: atomic { mode[p] == fine && handler[at(p, 0)] == claimed && !is_old[at(p, 0)] -> start(p, 0) }
    :: atomic { mode[p] == fine && handler[at(p, 1)] == claimed && !is_old[at(p, 1)] -> start(p, 1) }
    /* Settles, and claims the next action of the queue in the same transaction. */
    :: atomic { may_write(p) && (handler[at(p, 0)] == succeeded || handler[at(p, 0)] == stopped) -> q = 0;
           goto settles
       }
    :: atomic { may_write(p) && (handler[at(p, 1)] == succeeded || handler[at(p, 1)] == stopped) -> q = 1;
       settles:
           if
           :: matches(p, q) ->
               printf("process %d settles action %d: %e\n", p, held[at(p, q)], handler[at(p, q)]);
               if
               :: handler[at(p, q)] == succeeded ->
                   assert(!settled[held[at(p, q)]] || effect[held[at(p, q)]]);              /* G5 */
                   settled[held[at(p, q)]] = true
               :: else
               fi;
               free_slot(q);
               forget(p, q);
               renew_with_commit(p);
               if
               :: registered[p] && is_known(p) && is_open(q) && handler[at(p, 1 - q)] == nothing -> write_claim(p, q)
               :: true
               fi
           :: else ->
               printf("the outcome of process %d for action %d is stale\n", p, held[at(p, q)]);
               forget(p, q)
           fi;
           q = 0
       }
    /* Renews, and looks for others that have died or are silent. */
    :: atomic { may_write(p) && registered[p] && has_row[p] && age[p] > 0 && !all_done -> renew(p) }
    :: atomic { may_write(p) && registered[p] && has_row[p] && !all_done && seems_gone(p, (p + 1) % PROCESSES) ->
           renew(p);
           if
           :: seems_gone(p, (p + 1) % PROCESSES) -> take_off(p, (p + 1) % PROCESSES)
           :: else
           fi
       }
#if PROCESSES > 2
    :: atomic { may_write(p) && registered[p] && has_row[p] && !all_done && seems_gone(p, (p + 2) % PROCESSES) ->
           renew(p);
           if
           :: seems_gone(p, (p + 2) % PROCESSES) -> take_off(p, (p + 2) % PROCESSES)
           :: else
           fi
       }
#endif
    /* It was taken off: it cancels, and becomes a runner again, with a new epoch. */
#ifndef NO_LOOK_AT_OWN_ROW
    :: atomic { may_write(p) && registered[p] && !has_row[p] && !all_done ->
           printf("process %d learns that it was taken off\n", p);
           cancel_one(p, 0);
           cancel_one(p, 1);
           has_row[p] = true;
           age[p] = 0;
           patience[p] = LEASE;
           free_orphans()
       }
#endif
    od
}

/* A handler settles its action in a transaction of the application. */
inline succeed(slot, process, queue) {
    if
#ifdef NO_RECEIPT_TO_SUCCEED
    :: true ->
#else
    :: matches(process, queue) && !settled[held[slot]] ->
#endif
        printf("the application of process %d writes and settles action %d\n", process, held[slot]);
        assert(!effect[held[slot]] && !settled[held[slot]]);                                /* G5 */
        effect[held[slot]] = true;
        settled[held[slot]] = true;
        handler[slot] = succeeded
    :: else ->
        printf("the application of process %d may not settle action %d, and rolls back\n", process, held[slot]);
        handler[slot] = stopped
    fi
}

/* Who has waited for the write lock gets it before another keeps it again. SQLite does not promise that. */
#ifdef NO_TURN_AT_THE_LOCK
#define may_keep_the_lock true
#else
#define has_had_its_turn(p) (mode[p] == has_died || age[p] < 2)
#define may_keep_the_lock (has_had_its_turn(0) && has_had_its_turn(1) && has_had_its_turn(PROCESSES - 1))
#endif

inline fault(p) {
    is_hit = FAULTS > 1;
    if
    :: mode[p] = is_frozen; printf("process %d is frozen\n", p)
    :: lock == 0 && may_keep_the_lock ->
       mode[p] = is_frozen;
       lock = p + 1;
       printf("process %d is frozen in a commit\n", p)
    :: mode[p] = has_died;
       if
       :: is_hidden = false
       :: is_hidden = true
       fi;
       printf("process %d dies\n", p);
       forget(p, 0);
       forget(p, 1);
       if :: lock == p + 1 -> lock = 0 :: else fi
    fi
}

inline excuse(p, q) {
    if :: handler[at(p, q)] == runs || handler[at(p, q)] == claimed -> excused[at(p, q)] = true :: else fi
}

/* Who is well has renewed in this tick, unless it waits for the lock. */
#define may_tick(p) (mode[p] != fine || lock != 0 || (has_row[p] && age[p] == 0))

#define is_stuck(queue) (claim[queue] != 0 && \
    (!has_row[owner[queue]] || (mode[owner[queue]] == fine && handler[at(owner[queue], queue)] == nothing)))

proctype World() {
    byte w;
    do
    :: atomic { !all_done ->
           do
           :: w < PROCESSES * QUEUES && handler[w] == runs && mode[w / QUEUES] == fine -> break
           :: w < PROCESSES * QUEUES -> w++
           :: w == PROCESSES * QUEUES -> break
           od;
           if
           :: w < PROCESSES * QUEUES ->
               if
               :: printf("action %d succeeds at process %d\n", held[w], w / QUEUES);
                  handler[w] = succeeded
               :: others > 0 ->
                  others--;
                  printf("action %d is to be retried at process %d\n", held[w], w / QUEUES);
                  handler[w] = stopped
               :: others > 0 && lock == 0 -> others--; succeed(w, w / QUEUES, w % QUEUES)
               fi;
               excused[w] = false
           :: else
           fi;
           w = 0
       }
    :: atomic { !all_done && may_tick(0) && may_tick(1) && may_tick(PROCESSES - 1) ->
           printf("-- a third of a lease passes --\n");
           do
           :: w < PROCESSES ->
               if :: has_row[w] && age[w] < LEASE -> age[w]++ :: else fi;
               if
               :: has_row[w] && age[w] == LEASE && mode[w] == is_frozen ->
                   excuse(w, 0);
                   excuse(w, 1)
               :: else
               fi;
               if :: patience[w] > 0 -> patience[w]-- :: else fi;
               w++
           :: else -> break
           od;
           w = 0
       }
    :: atomic { !all_done && faults > 0 ->
           faults--;
           if
           /* Processes are alike: the first that is hit may be called 0, and the next one 1. */
           :: mode[0] == fine -> fault(0)
           :: is_hit && mode[1] == fine -> fault(1)
           :: else
           fi
       }
    :: atomic { !all_done && mode[0] == is_frozen ->
           mode[0] = fine; printf("process 0 goes on\n");
           if :: lock == 1 -> lock = 0 :: else fi
       }
    :: atomic { !all_done && mode[1] == is_frozen ->
           mode[1] = fine; printf("process 1 goes on\n");
           if :: lock == 2 -> lock = 0 :: else fi
       }
    /* No queue stands still for ever: a claim belongs to a process that has a row, and knows of it if it is well. */
    :: atomic { lock == 0 && !all_done && (is_stuck(0) || is_stuck(1)) ->
           assert(false)                                                                    /* G8 */
       }
    od
}

init {
    byte w;
    atomic {
        do
        :: w < PROCESSES -> has_row[w] = true; registered[w] = true; run Process(w); w++
        :: else -> break
        od;
        w = 0;
        run World()
    }
}
