/*
 * PostgreSQL: enqueues, their ids, tokens of commits that are not known, and the mark low_id (sluice_enqueue_many,
 * sluice_token, PostgresEnqueuer). Three clients enqueue an action each, the first two into queue 0, the third into
 * queue 1; three workers run them.
 *
 * What stands for what: an enqueue is a transaction of three steps (the queue's row, the id, the commit), which the
 * server goes on with when the client has lost its connection. Clients lose it once each at any time. A worker reads
 * the head of a queue and ends it in one step: claims_on_a_server.pml has what lies between.
 * Left out: keys, limits of depth, other orders than that of arrival.
 *
 * Promised: ids of a queue rise in the order of commits (G2); each action is stored once, however often connections
 * are lost (G14), and runs once, in the order of ids (G2, G5); none is left (G1).
 */
#define CLIENTS 3
#define WORKERS 3
#define QUEUES 2
#define IDS 8
#define queue_of(client) ((client) == 2)

mtype = { unknown, under_way, stored, given_up };

byte sequence;
byte row_lock[QUEUES];              /* the client that has the queue's row, plus one */
byte last_id[QUEUES];               /* of those that are committed */
bool is_there[IDS];                 /* by id: committed and not run */
bool is_in_second[IDS];
byte low[QUEUES];                   /* nothing waits up to this id */
byte last_run[QUEUES];
byte copies[CLIENTS];
byte runs;
mtype token[6] = unknown;           /* by client and try */
bool answered[6];
byte over;                          /* clients that know how their enqueue has ended */

/* The transaction of a client's try, on the server. */
proctype Transaction(byte client, try) {
    byte id;
    atomic {
#ifndef NO_QUEUE_LOCK
        row_lock[queue_of(client)] == 0 ->
        row_lock[queue_of(client)] = client + 1;
        printf("client %d locks queue %d\n", client, queue_of(client))
#else
        true
#endif
    }
    atomic {
        sequence++;
#ifdef NO_SINGLE_IDS
        /* Each connection has taken some ids from the sequence in advance. */
        id = 2 * (2 - client) + 1 + try;
#else
        id = sequence;
#endif
        printf("client %d gets the id %d\n", client, id)
    }
    atomic {
        if
        :: token[2 * client + try] == given_up ->
            printf("the enqueue of client %d is refused: its token is taken\n", client)
        :: token[2 * client + try] == unknown ->
            token[2 * client + try] = under_way
        fi
    }
    atomic {
        if
        :: token[2 * client + try] == under_way ->
            printf("client %d commits its action with the id %d\n", client, id);
            assert(id > last_id[queue_of(client)]);     /* G2 */
            last_id[queue_of(client)] = id;
            token[2 * client + try] = stored;
            copies[client]++;
            assert(copies[client] == 1);                /* G14 */
            is_there[id] = true;
            is_in_second[id] = queue_of(client)
        :: else
        fi;
#ifndef NO_QUEUE_LOCK
        row_lock[queue_of(client)] = 0;
#endif
        answered[2 * client + try] = true;
        id = 0
    }
}

proctype Client(byte client) {
    byte try;
    run Transaction(client, 0);
    if
    :: atomic { answered[2 * client] -> over++ }
    :: atomic {
           printf("client %d loses its connection\n", client);
#ifdef NO_TOKEN
           run Transaction(client, 1)
       };
       atomic { answered[2 * client + 1] -> over++ }
#else
           true
       };
       /* The insertion of the same token waits for a transaction that has inserted it. */
       atomic { token[2 * client] != under_way ->
           if
           :: token[2 * client] == stored ->
               printf("client %d learns that its enqueue was committed\n", client);
               over++
           :: else ->
               printf("client %d takes the token: the enqueue was not committed, and it tries again\n", client);
#ifndef NO_TOKEN_OF_RESOLVER
               token[2 * client] = given_up;
#endif
               run Transaction(client, 1);
               try = 1
           fi
       };
       if
       :: try == 1 -> atomic { answered[2 * client + 1] -> over++ }
       :: else
       fi
#endif
    fi
}

#define waits(id, queue) (is_there[id] && is_in_second[id] == (queue) && (id) > low[queue])
#define has_head(queue) (waits(1, queue) || waits(2, queue) || waits(3, queue) || waits(4, queue) || \
                         waits(5, queue) || waits(6, queue))

/* Runs the head of a queue, the smallest of those that are committed and beyond the mark. */
inline run_head(queue) {
    i = 1;
    do
    :: waits(i, queue) -> break
    :: else -> i++
    od;
    printf("a worker runs the action with the id %d\n", i);
    assert(i > last_run[queue]);                        /* G2 */
    last_run[queue] = i;
    low[queue] = i;
    is_there[i] = false;
    runs++;
    i = 0
}

proctype Worker() {
    byte i;
end:
    do
    :: atomic { has_head(0) -> run_head(0) }
    :: atomic { has_head(1) -> run_head(1) }
    od
}

init {
    atomic {
        run Client(0); run Client(1); run Client(2);
        run Worker(); run Worker(); run Worker()
    };
    /* Nothing can go on any more. */
    timeout ->
    assert(over == CLIENTS);                                        /* G14 */
    assert(copies[0] == 1 && copies[1] == 1 && copies[2] == 1);     /* G14 */
    assert(runs == CLIENTS)                                         /* G1 */
}
