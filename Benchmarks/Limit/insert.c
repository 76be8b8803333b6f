// Enqueues as the sqlite3 shell does, through the view that the engine offers to everybody, and with the
// settings that the shell has: SQLite's own. So it checkpoints by itself once the log has 1,000 pages.

#include "limit.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// Two that follow each other are in queues far apart: a prime that no number of queues is likely to share.
enum { stride = 7919, lock_timeout = 10000 };

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// From half to one and a half times as long, so that no rhythm of the broker's is met again and again.
static void pause_about(int interval) {
    int64_t nanoseconds = ((int64_t)interval / 2 + rand() % interval) * 1000;
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    nanosleep(&time, 0);
}

void insert_as_another(const char *path, int count, int queues, int interval) {
    database_open_as_shell(path);
    // The one thing that one would set in the shell too, by its command `.timeout`.
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA busy_timeout = %d", lock_timeout);
    execute(sql);
    // FULL, which is SQLite's default; said again, and looked at, since W12 states it.
    database_set_sync(2);
    sqlite3_stmt *insert = prepare(
        "INSERT INTO sluice_actions (queue, kind, payload)"
        " VALUES (?1, 'foreign', json_object('number', ?2))");
    int64_t *committed = allocate(count, sizeof *committed);
    for (int index = 0; index < count; index++) {
        pause_about(interval);
        struct payload name = queue_name((int)((int64_t)index * stride % queues));
        sqlite3_bind_text(insert, 1, name.text, name.length, SQLITE_TRANSIENT);
        sqlite3_bind_int(insert, 2, index);
        run(insert);
        committed[index] = now();
    }
    for (int index = 0; index < count; index++) printf("%s%" PRId64, index ? ", " : "[", committed[index]);
    printf("]\n");
    free(committed);
    database_close();
}
