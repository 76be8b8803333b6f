// The engine's own schema, from Migrations/, and of its statements those that no engine could do without.
//
// Left out, as they are the engine's way and not the work's: the look at `PRAGMA data_version` in each
// transaction, and the order that is written behind. The loop knows the order, as it has made it.

#include "limit.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Any time and any nonce will do, as long as they have the usual size.
static const int64_t some_time = 1700000000000000, some_nonce = 0x5a5a5a5a5a5a5a5a;

static int ends_in_sql(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".sql") == 0;
}

static void apply(const char *path) {
    static char sql[1 << 20];
    FILE *file = fopen(path, "r");
    if (!file) fail("cannot read a migration");
    size_t length = fread(sql, 1, sizeof sql - 1, file);
    if (!feof(file)) fail("a migration is too long");
    fclose(file);
    sql[length] = 0;
    execute(sql);
}

static void create(const char *migrations) {
    struct dirent **entries;
    int count = scandir(migrations, &entries, ends_in_sql, alphasort);
    if (count < 1) fail("there are no migrations");
    for (int index = 0; index < count; index++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", migrations, entries[index]->d_name);
        if (length < 0 || (size_t)length >= sizeof path) fail("the name of a migration is too long");
        apply(path);
        free(entries[index]);
    }
    free(entries);
}

static int64_t add_queue(int queue) {
    static sqlite3_stmt *insert;
    if (!insert) {
        insert = prepare("INSERT INTO sluice_queue_rows (name, sort_type) VALUES (?1, 'arrival')");
    }
    struct payload name = queue_name(queue);
    sqlite3_bind_text(insert, 1, name.text, name.length, SQLITE_TRANSIENT);
    run(insert);
    return database_last_id();
}

// The ids of the queues, as the engine's directory knows them; 0 is a queue that no action has named.
static int64_t *queue_ids;

static void enqueue(const struct workload *work, int from, int to) {
    static sqlite3_stmt *counter, *insert;
    if (!counter) {
        counter = prepare("UPDATE sluice_counters SET value = ?1 WHERE name = 'action'");
        insert = prepare(
            "INSERT INTO sluice_action_rows"
            " (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload)"
            " VALUES (?1, ?2, 0, NULL, ?3, ?4, 'message', ?5)");
        queue_ids = allocate(work->queues, sizeof *queue_ids);
    }
    for (int done = from; done < to;) {
        begin();
        for (int member = 0; member < work->group && done < to; member++) {
            int64_t *queue = &queue_ids[done % work->queues];
            if (!*queue) *queue = add_queue(done % work->queues);
            struct payload payload = payload_at(done);
            if (work->parses) json_parse(payload);
            sqlite3_bind_int64(insert, 1, ++done);
            sqlite3_bind_int64(insert, 2, *queue);
            sqlite3_bind_int64(insert, 3, some_time);
            sqlite3_bind_int64(insert, 4, some_nonce);
            sqlite3_bind_text(insert, 5, payload.text, payload.length, SQLITE_TRANSIENT);
            run(insert);
        }
        sqlite3_bind_int64(counter, 1, done);
        run(counter);
        commit();
    }
}

// An action that runs, and the claim that it runs under.
struct slot {
    int64_t queue, action, claim;
};

static void settle(const struct slot *slot) {
    static sqlite3_stmt *free_slot, *delete, *forget;
    if (!free_slot) {
        free_slot = prepare(
            "DELETE FROM sluice_claim_rows"
            " WHERE queue_id = ?1 AND slot = 0 AND action_id = ?2 AND claim = ?3");
        delete = prepare("DELETE FROM sluice_action_rows WHERE id = ?1");
        forget = prepare("DELETE FROM sluice_state_rows WHERE action_id = ?1");
    }
    sqlite3_bind_int64(free_slot, 1, slot->queue);
    sqlite3_bind_int64(free_slot, 2, slot->action);
    sqlite3_bind_int64(free_slot, 3, slot->claim);
    run(free_slot);
    sqlite3_bind_int64(delete, 1, slot->action);
    run(delete);
    sqlite3_bind_int64(forget, 1, slot->action);
    run(forget);
}

static void claim(const struct slot *slot, int parses) {
    static sqlite3_stmt *insert, *head;
    if (!insert) {
        insert = prepare(
            "INSERT INTO sluice_claim_rows (queue_id, slot, action_id, claim, started_at_us, trial_size)"
            " VALUES (?1, 0, ?2, ?3, ?4, 0)");
        head = prepare(
            "SELECT q.name, q.blocked_by, a.queue_id = ?2 AND a.not_before_us IS NULL, a.sort_key, a.kind,"
            " a.enqueued_at_us, a.nonce, s.attempts, s.next_attempt_at_us, s.retry_delay_us, s.is_suspect,"
            " s.crashes, s.is_cancelled,"
            " EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = ?2), s.last_error,"
            " q.blocked_action_id, a.payload"
            " FROM sluice_action_rows AS a"
            " JOIN sluice_queue_rows AS q ON q.queue_id = ?2"
            " LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id"
            " WHERE a.id = ?1");
    }
    sqlite3_bind_int64(head, 1, slot->action);
    sqlite3_bind_int64(head, 2, slot->queue);
    first_row(head);
    if (!sqlite3_column_int(head, 2)) fail("an action is not in its queue");
    if (sqlite3_column_int(head, 13)) fail("a slot is taken twice");
    struct payload payload = payload_take(head, 16);
    sqlite3_reset(head);
    if (parses) json_parse(payload);
    sqlite3_bind_int64(insert, 1, slot->queue);
    sqlite3_bind_int64(insert, 2, slot->action);
    sqlite3_bind_int64(insert, 3, slot->claim);
    sqlite3_bind_int64(insert, 4, some_time);
    run(insert);
}

// Each transaction settles what the one before it claimed, and claims as much again, queue after queue. So a
// claim is committed before its action would run, and a settling before the next action of its queue would.
static void drain(const struct workload *work) {
    int width = work->drain_group < work->queues ? work->drain_group : work->queues;
    struct slot *slots = allocate(width, sizeof *slots);
    int64_t last_claim = (int64_t)1 << 32;
    for (int settled = 0, turn = 0; settled < work->drained;) {
        begin();
        for (int member = 0; member < width; member++) {
            struct slot *slot = &slots[member];
            if (slot->action) {
                settle(slot);
                settled++;
            }
            slot->queue = queue_ids[turn % work->queues];
            slot->action = turn < work->count ? turn + 1 : 0;
            turn++;
            if (!slot->action) continue;
            slot->claim = ++last_claim;
            claim(slot, work->parses);
        }
        commit();
    }
    free(slots);
}

const struct layout engine_layout = {create, enqueue, drain, "SELECT count(*) FROM sluice_action_rows"};
