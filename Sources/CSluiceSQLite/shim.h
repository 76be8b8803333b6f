#ifndef CSLUICE_SQLITE_SHIM_H
#define CSLUICE_SQLITE_SHIM_H

#include <sqlite3.h>
#include <stdint.h>
#include <time.h>

// Swift can neither call variadic functions nor read the cast macro SQLITE_TRANSIENT.

static inline int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const char *text, int length) {
    // An empty string may have no address, and NULL would bind the SQL NULL.
    return sqlite3_bind_text(statement, index, text ? text : "", length, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, int length) {
    return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

static inline int csqlite_db_config(sqlite3 *connection, int option, int value, int *result) {
    return sqlite3_db_config(connection, option, value, result);
}

// How long a connection waits for a lock, and since when it does.
typedef struct csqlite_patience {
    int64_t limit_ns;
    int64_t start_ns;
} csqlite_patience;

// A busy handler (https://www.sqlite.org/c3ref/busy_handler.html). SQLite's own, behind sqlite3_busy_timeout(), looks
// again after 1, 2, 5, 10, 15 ... ms, and another process that commits in a fraction of one takes the lock meanwhile,
// again and again. This one looks again at once and often, and later less so.
static inline int csqlite_wait_for_lock(void *context, int count) {
    csqlite_patience *patience = (csqlite_patience *)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (count == 0) patience->start_ns = now_ns;
    int64_t waited = now_ns - patience->start_ns;
    int64_t left = patience->limit_ns - waited;
    if (left <= 0) return 0;
    int64_t step = waited < 20000000 ? 50000 : waited < 1000000000 ? 200000 : waited < 10000000000 ? 1000000 : 10000000;
    // Not in step with a process that commits at regular intervals.
    step += step / 8 * (count % 5);
    if (step > left) step = left;
    struct timespec pause = {0, (long)step};
    nanosleep(&pause, 0);
    return 1;
}

static inline int csqlite_set_patience(sqlite3 *connection, csqlite_patience *patience) {
    return sqlite3_busy_handler(connection, csqlite_wait_for_lock, patience);
}

#endif
