// The physical reference: the statements that the engine runs for a workload, in a plain loop, against the same
// schema, with the same pragmas, on the same file system. What the engine loses against it is its own cost.
//
// limit SCHEMA FILE enqueue|drain COUNT QUEUES GROUP full|normal < PAYLOADS
//
// PAYLOADS: one JSON text a line. COUNT actions go round-robin into QUEUES queues, GROUP of them in a
// transaction. `drain` enqueues them first, untimed, and then runs each: claim, read the payload, settle, GROUP
// actions in a transaction, each settled in the transaction behind the one that claimed it. Writes seconds.

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { checkpoint_frames = 10000, max_payloads = 4096, max_group = 4096 };

static sqlite3 *db;
static int log_frames;

static void fail(const char *what) {
    fprintf(stderr, "limit: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(db, sql, 0, 0, 0) != SQLITE_OK) fail(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0) != SQLITE_OK) fail(sql);
    return statement;
}

static void step(sqlite3_stmt *statement) {
    while (sqlite3_step(statement) == SQLITE_ROW) {}
    if (sqlite3_reset(statement) != SQLITE_OK) fail(sqlite3_sql(statement));
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int on_commit(void *context, sqlite3 *connection, const char *name, int frames) {
    (void)context, (void)connection, (void)name;
    log_frames = frames;
    return SQLITE_OK;
}

static void apply(const char *folder, const char *name) {
    char path[4096];
    static char sql[1 << 20];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    size_t length = fread(sql, 1, sizeof sql - 1, file);
    sql[length] = 0;
    fclose(file);
    run(sql);
}

static void open_database(const char *schema, const char *path, int is_full) {
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0)) fail(path);
    run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
        "PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -65536; PRAGMA secure_delete = 0;"
        "PRAGMA temp_store = MEMORY; PRAGMA synchronous = 2");
    apply(schema, "0001_tables.sql");
    apply(schema, "0002_views.sql");
    apply(schema, "0003_triggers.sql");
    sqlite3_wal_hook(db, on_commit, 0);
    if (!is_full) run("PRAGMA synchronous = 1");
}

static void checkpoint_if_due(void) {
    static int frames_before;
    if (log_frames < frames_before) frames_before = 0;
    if (log_frames - frames_before < checkpoint_frames) return;
    frames_before = log_frames;
    sqlite3_wal_checkpoint_v2(db, 0, SQLITE_CHECKPOINT_PASSIVE, 0, 0);
}

static char *payloads[max_payloads];
static int payload_lengths[max_payloads];
static int payload_count;

static void read_payloads(void) {
    static char line[1 << 16];
    while (payload_count < max_payloads && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        payload_lengths[payload_count] = (int)strlen(line);
        payloads[payload_count++] = strdup(line);
    }
    if (payload_count == 0) fail("no payloads on standard input");
}

static void make_queues(int queues) {
    sqlite3_stmt *insert = prepare("INSERT INTO sluice_queue_rows (queue_id, name, sort_type) VALUES (?1, ?2, 'arrival')");
    run("BEGIN IMMEDIATE");
    for (int queue = 1; queue <= queues; queue++) {
        char name[64];
        int length = snprintf(name, sizeof name, "conversation/%d", queue);
        sqlite3_bind_int(insert, 1, queue);
        sqlite3_bind_text(insert, 2, name, length, SQLITE_TRANSIENT);
        step(insert);
    }
    run("COMMIT");
}

static void enqueue(int count, int queues, int group) {
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
    sqlite3_stmt *counter = prepare("UPDATE sluice_counters SET value = ?1 WHERE name = 'action'");
    sqlite3_stmt *insert = prepare(
        "INSERT INTO sluice_action_rows (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload)"
        " VALUES (?1, ?2, 0, NULL, ?3, 4611686018427387904, 'message', ?4)");
    for (int done = 0; done < count;) {
        step(begin);
        for (int member = 0; member < group && done < count; member++, done++) {
            sqlite3_bind_int64(insert, 1, done + 1);
            sqlite3_bind_int(insert, 2, done % queues + 1);
            sqlite3_bind_int64(insert, 3, 1700000000000000);
            sqlite3_bind_text(insert, 4, payloads[done % payload_count], payload_lengths[done % payload_count],
                              SQLITE_TRANSIENT);
            step(insert);
        }
        sqlite3_bind_int(counter, 1, done);
        step(counter);
        step(commit);
        checkpoint_if_due();
    }
}

static void drain(int count, int queues, int group) {
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
    sqlite3_stmt *head = prepare(
        "SELECT q.name, q.blocked_by, a.id, a.kind, a.enqueued_at_us, a.nonce, s.attempts, s.next_attempt_at_us,"
        " EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = q.queue_id)"
        " FROM sluice_queue_rows AS q LEFT JOIN sluice_action_rows AS a ON a.id = ("
        "  SELECT h.id FROM sluice_action_rows AS h WHERE h.queue_id = q.queue_id AND h.not_before_us IS NULL"
        "  ORDER BY h.sort_key, h.id LIMIT 1)"
        " LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id WHERE q.queue_id = ?1");
    sqlite3_stmt *claim = prepare("INSERT INTO sluice_claim_rows VALUES (?1, 0, ?2, ?3, 1700000000000000, 0)");
    sqlite3_stmt *read = prepare("SELECT payload FROM sluice_action_rows WHERE id = ?1");
    sqlite3_stmt *release = prepare(
        "DELETE FROM sluice_claim_rows WHERE queue_id = ?1 AND slot = 0 AND action_id = ?2 AND claim = ?3"
        " RETURNING started_at_us");
    sqlite3_stmt *delete = prepare("DELETE FROM sluice_action_rows WHERE id = ?1");
    sqlite3_stmt *forget = prepare("DELETE FROM sluice_state_rows WHERE action_id = ?1");
    static int64_t running[max_group], claims[max_group], in_queue[max_group];
    static char payload[1 << 16];
    int width = group < queues ? group : queues;
    int64_t last_claim = 0;
    int next_queue = 0;
    for (int settled = 0; settled < count;) {
        step(begin);
        for (int member = 0; member < width; member++) {
            if (running[member]) {
                sqlite3_bind_int64(release, 1, in_queue[member]);
                sqlite3_bind_int64(release, 2, running[member]);
                sqlite3_bind_int64(release, 3, claims[member]);
                step(release);
                sqlite3_bind_int64(delete, 1, running[member]);
                step(delete);
                sqlite3_bind_int64(forget, 1, running[member]);
                step(forget);
                running[member] = 0;
                settled++;
            }
            int queue = next_queue++ % queues + 1;
            sqlite3_bind_int(head, 1, queue);
            if (sqlite3_step(head) != SQLITE_ROW) fail("head");
            int64_t action = sqlite3_column_int64(head, 2);
            sqlite3_reset(head);
            if (!action) continue;
            in_queue[member] = queue;
            running[member] = action;
            claims[member] = ++last_claim;
            sqlite3_bind_int64(claim, 1, queue);
            sqlite3_bind_int64(claim, 2, action);
            sqlite3_bind_int64(claim, 3, last_claim);
            step(claim);
            sqlite3_bind_int64(read, 1, action);
            if (sqlite3_step(read) != SQLITE_ROW) fail("payload");
            memcpy(payload, sqlite3_column_text(read, 0), (size_t)sqlite3_column_bytes(read, 0));
            sqlite3_reset(read);
        }
        step(commit);
        checkpoint_if_due();
    }
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: limit SCHEMA FILE enqueue|drain COUNT QUEUES GROUP full|normal < PAYLOADS\n");
        return 64;
    }
    int count = atoi(argv[4]), queues = atoi(argv[5]), group = atoi(argv[6]);
    int is_full = strcmp(argv[7], "full") == 0;
    if (count < 1 || queues < 1 || group < 1 || group > max_group) fail("a number is out of range");
    read_payloads();
    open_database(argv[1], argv[2], is_full);
    make_queues(queues);
    double start = seconds();
    if (strcmp(argv[3], "enqueue") == 0) {
        enqueue(count, queues, group);
    } else {
        enqueue(count, queues, 1000);
        start = seconds();
        drain(count, queues, group);
    }
    printf("%.6f\n", seconds() - start);
    sqlite3_close(db);
    return 0;
}
