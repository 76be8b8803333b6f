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

// The clock by which a connection waits: the system's, or one that its VFS has of its own.
typedef struct csqlite_clock {
    int64_t (*now_ns)(void *context);
    void (*sleep_ns)(void *context, int64_t duration_ns);
    void *context;
} csqlite_clock;

// The file control by which a VFS sets a csqlite_clock; those below 100 are SQLite's
// (https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html).
enum { CSQLITE_FCNTL_CLOCK = 0x534C };

static inline int64_t csqlite_system_now(void *context) {
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void csqlite_system_sleep(void *context, int64_t duration_ns) {
    (void)context;
    struct timespec pause = {(time_t)(duration_ns / 1000000000), (long)(duration_ns % 1000000000)};
    nanosleep(&pause, 0);
}

// How long a connection waits for a lock, and since when it does.
typedef struct csqlite_patience {
    csqlite_clock clock;
    int64_t limit_ns;
    int64_t start_ns;
} csqlite_patience;

// A busy handler (https://www.sqlite.org/c3ref/busy_handler.html). SQLite's own, behind sqlite3_busy_timeout(), looks
// again after 1, 2, 5, 10, 15 ... ms, and another process that commits in a fraction of one takes the lock meanwhile,
// again and again. This one looks again at once and often, and later less so.
static inline int csqlite_wait_for_lock(void *context, int count) {
    csqlite_patience *patience = (csqlite_patience *)context;
    int64_t now_ns = patience->clock.now_ns(patience->clock.context);
    if (count == 0) patience->start_ns = now_ns;
    int64_t waited = now_ns - patience->start_ns;
    int64_t left = patience->limit_ns - waited;
    if (left <= 0) return 0;
    int64_t step = waited < 20000000 ? 50000 : waited < 1000000000 ? 200000 : waited < 10000000000 ? 1000000 : 10000000;
    // Not in step with a process that commits at regular intervals.
    step += step / 8 * (count % 5);
    if (step > left) step = left;
    patience->clock.sleep_ns(patience->clock.context, step);
    return 1;
}

static inline int csqlite_set_patience(sqlite3 *connection, csqlite_patience *patience) {
    return sqlite3_busy_handler(connection, csqlite_wait_for_lock, patience);
}

static inline void csqlite_begin_patience(sqlite3 *connection, csqlite_patience *patience) {
    csqlite_clock clock = {csqlite_system_now, csqlite_system_sleep, 0};
    // A VFS that has none leaves it as it is.
    sqlite3_file_control(connection, "main", CSQLITE_FCNTL_CLOCK, &clock);
    *patience = (csqlite_patience){clock, 0, 0};
    csqlite_set_patience(connection, patience);
}

#endif
