// What one would write after a textbook: one table, the queue's name in each row, an index for the order.
// A claim deletes, so that an action is lost if its process dies; less work than the engine's promise takes.

#include "limit.h"

static void create(const char *migrations) {
    (void)migrations;
    execute(
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, sort_key INTEGER NOT NULL,"
        " payload TEXT NOT NULL)");
    execute("CREATE INDEX jobs_order ON jobs (queue, sort_key)");
}

static void bind_queue(sqlite3_stmt *statement, int index, int queue) {
    struct payload name = queue_name(queue);
    sqlite3_bind_text(statement, index, name.text, name.length, SQLITE_TRANSIENT);
}

static void enqueue(const struct workload *work, int from, int to) {
    sqlite3_stmt *insert = prepare("INSERT INTO jobs (queue, sort_key, payload) VALUES (?1, ?2, ?3)");
    for (int done = from; done < to;) {
        begin();
        for (int member = 0; member < work->group && done < to; member++, done++) {
            struct payload payload = payload_at(done);
            bind_queue(insert, 1, done % work->queues);
            sqlite3_bind_int64(insert, 2, done);
            sqlite3_bind_text(insert, 3, payload.text, payload.length, SQLITE_TRANSIENT);
            run(insert);
        }
        commit();
    }
}

static void drain(const struct workload *work) {
    sqlite3_stmt *head = prepare(
        "SELECT id, payload FROM jobs WHERE queue = ?1 ORDER BY sort_key, id LIMIT 1");
    sqlite3_stmt *delete = prepare("DELETE FROM jobs WHERE id = ?1");
    for (int done = 0, turn = 0; done < work->drained;) {
        begin();
        for (int member = 0; member < work->drain_group && done < work->drained; member++) {
            bind_queue(head, 1, turn++ % work->queues);
            if (sqlite3_step(head) == SQLITE_ROW) {
                payload_take(head, 1);
                sqlite3_bind_int64(delete, 1, sqlite3_column_int64(head, 0));
                sqlite3_reset(head);
                run(delete);
                done++;
            }
            sqlite3_reset(head);
        }
        commit();
    }
}

const struct layout textbook_layout = {create, enqueue, drain, "SELECT count(*) FROM jobs"};
