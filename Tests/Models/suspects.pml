/*
 * Suspects: actions that ran when their worker ended run alone, so that the one that ends workers is found and no
 * other is blamed (G7; sluice_step's trial and sluice_end_worker; in the file TrialRule and suspectOrphans). Three
 * workers, three actions, each in a queue of its own here: 1 and 2 are innocent, but suspects already, since they ran
 * at a worker that was killed; 3 ends its worker.
 *
 * What stands for what: a claim is one step. A worker that ends is taken off at once, and comes back. Time does not
 * count: a trial lasts until its action has ended, and an innocent action does not outlive its trial.
 * Left out: the limits in time (five seconds of draining, a second alone), which only let others go on; in the file,
 * that several suspects are tried together at first, in one process.
 *
 * Promised: one suspect of the fleet runs at a time; only the action that ends workers is blamed; it ends one worker
 * beside others, and is set aside when it has ended LIMIT alone; the others succeed.
 */
#define WORKERS 3
#define LIMIT 1

mtype = { waits, runs, succeeded, buried };

mtype state[4] = waits;
bool suspect[4];
byte deaths;
bool alone[4];
byte by[4];                 /* the worker that runs it, plus one */
byte crashes[4];
byte on_trial;              /* the suspect whose lane belongs to a worker: for which it drains, or which it runs */

#define is_busy(w) (by[1] == w + 1 || by[2] == w + 1 || by[3] == w + 1)
#define runs_alone(w) ((by[1] == w + 1 && alone[1]) || (by[2] == w + 1 && alone[2]) || (by[3] == w + 1 && alone[3]))
#define is_suspect(action) (state[action] == waits && suspect[action])
#define has_suspect (is_suspect(1) || is_suspect(2) || is_suspect(3))
#ifdef NO_SUSPICION
#define has_other (state[1] == waits || state[2] == waits || state[3] == waits)
#else
#define has_other ((state[1] == waits && !suspect[1]) || (state[2] == waits && !suspect[2]) || \
    (state[3] == waits && !suspect[3]))
#endif
#define all_over (state[1] == succeeded && state[2] == succeeded && state[3] == buried)

inline claim_one(w, action) {
    printf("worker %d starts action %d\n", w, action);
    state[action] = runs;
    by[action] = w + 1
}

/* The worker ends, and what it ran becomes suspect. Only one that ran alone is blamed. */
inline end_worker(w) {
    printf("worker %d ends\n", w);
    deaths++;
    assert(deaths <= LIMIT + 1);            /* G7 */
    i = 1;
    do
    :: i < 4 ->
        if
        :: by[i] == w + 1 ->
            state[i] = waits;
            suspect[i] = true;
            by[i] = 0;
            if
#ifdef NO_BLAME_OF_ONE_ALONE
            :: true ->
#else
            :: alone[i] ->
#endif
                crashes[i]++;
                printf("    action %d is blamed\n", i);
                assert(i == 3)              /* G7 */
            :: else
            fi;
            if :: on_trial == i -> on_trial = 0 :: else fi;
            alone[i] = false
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

/* An outcome; one other than success leaves an action that is no suspect any more. */
inline end_action(action) {
    by[action] = 0;
    if :: on_trial == action -> on_trial = 0 :: else fi;
    alone[action] = false;
    suspect[action] = false;
    if
    :: state[action] = succeeded; printf("action %d succeeds\n", action)
    :: state[action] = waits; printf("action %d is to be retried\n", action)
    fi
}

proctype Worker(byte w) {
    byte i;
end:
    do
    /* A suspect: alone, one in the whole fleet. */
    :: atomic {
#ifdef NO_ONE_TRIAL
           !is_busy(w) && has_suspect ->
#elif defined(NO_DRAIN)
           on_trial == 0 && !runs_alone(w) && has_suspect ->
#else
           on_trial == 0 && !is_busy(w) && has_suspect ->
#endif
           if
           :: state[1] == waits && suspect[1] -> i = 1
           :: state[2] == waits && suspect[2] -> i = 2
           :: state[3] == waits && suspect[3] -> i = 3
           fi;
           if
           :: crashes[i] >= LIMIT ->
               printf("action %d is set aside: it ended %d workers\n", i, crashes[i]);
               state[i] = buried
           :: else ->
               assert(on_trial == 0);       /* G7 */
               on_trial = i;
               alone[i] = true;
               claim_one(w, i)
           fi;
           i = 0
       }
    /* Others: not beside one that runs alone. */
    :: atomic {
#ifdef NO_REST_BESIDE
           has_other ->
#else
           !runs_alone(w) && has_other ->
#endif
           if
#ifdef NO_SUSPICION
           :: state[1] == waits -> claim_one(w, 1)
           :: state[2] == waits -> claim_one(w, 2)
           :: state[3] == waits -> claim_one(w, 3)
#else
           :: state[1] == waits && !suspect[1] -> claim_one(w, 1)
           :: state[2] == waits && !suspect[2] -> claim_one(w, 2)
           :: state[3] == waits && !suspect[3] -> claim_one(w, 3)
#endif
           fi
       }
    :: atomic { by[1] == w + 1 -> end_action(1) }
    :: atomic { by[2] == w + 1 -> end_action(2) }
    :: atomic { by[3] == w + 1 -> end_worker(w) }
    od
}

init {
    atomic {
        suspect[1] = true; suspect[2] = true;
        run Worker(0); run Worker(1); run Worker(2)
    };
    timeout ->
    assert(all_over)                        /* G1 */
}
