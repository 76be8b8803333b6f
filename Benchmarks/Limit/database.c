#include "limit.h"

#include <stdio.h>
#include <stdlib.h>

// As the engine's CheckpointPolicy has it.
enum { long_log = 10000, short_log = 1000, small_commit = 4 };

static sqlite3 *db;
static sqlite3_stmt *begin_statement, *commit_statement;
static int log_frames, frames_at_checkpoint, synced_commits, is_full;

void fail(const char *what) {
    int code = db ? sqlite3_errcode(db) : SQLITE_OK;
    int is_sqlite = code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
    fprintf(stderr, "limit: %s%s%s\n", what, is_sqlite ? ": " : "", is_sqlite ? sqlite3_errmsg(db) : "");
    exit(1);
}

void *allocate(int count, size_t size) {
    void *memory = calloc((size_t)count, size);
    if (!memory) fail("there is not enough memory");
    return memory;
}

static int count_frames(void *context, sqlite3 *connection, const char *name, int frames) {
    (void)context, (void)connection, (void)name;
    log_frames = frames;
    return SQLITE_OK;
}

static void open_with(const char *path, int flags) {
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &db, flags, 0) != SQLITE_OK) fail("cannot open the database");
}

void database_open_as_shell(const char *path) {
    open_with(path, 0);
}

// The settings of the engine's DatabaseFile.
void database_open(const char *path) {
    open_with(path, SQLITE_OPEN_CREATE);
    execute("PRAGMA auto_vacuum = INCREMENTAL");
    execute("PRAGMA journal_mode = WAL");
    execute("PRAGMA wal_autocheckpoint = 0");
    execute("PRAGMA fullfsync = 1");
    execute("PRAGMA checkpoint_fullfsync = 1");
    execute("PRAGMA journal_size_limit = 67108864");
    execute("PRAGMA mmap_size = 0");
    execute("PRAGMA cache_size = -65536");
    execute("PRAGMA trusted_schema = 0");
    execute("PRAGMA foreign_keys = 0");
    execute("PRAGMA secure_delete = 0");
    execute("PRAGMA recursive_triggers = 0");
    execute("PRAGMA temp_store = MEMORY");
    sqlite3_wal_hook(db, count_frames, 0);
    begin_statement = prepare("BEGIN IMMEDIATE");
    commit_statement = prepare("COMMIT");
}

void database_close(void) {
    for (sqlite3_stmt *statement; (statement = sqlite3_next_stmt(db, 0));) sqlite3_finalize(statement);
    sqlite3_close(db);
}

void database_set_sync(int level) {
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA synchronous = %d", level);
    execute(sql);
    sqlite3_stmt *statement = prepare("PRAGMA synchronous");
    first_row(statement);
    if (sqlite3_column_int(statement, 0) != level) fail("synchronous was not taken over");
    sqlite3_finalize(statement);
    is_full = level >= 2;
}

void execute(const char *sql) {
    if (sqlite3_exec(db, sql, 0, 0, 0) != SQLITE_OK) fail(sql);
}

sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0) != SQLITE_OK) fail(sql);
    return statement;
}

void run(sqlite3_stmt *statement) {
    while (sqlite3_step(statement) == SQLITE_ROW) {}
    if (sqlite3_reset(statement) != SQLITE_OK) fail(sqlite3_sql(statement));
}

void first_row(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_ROW) fail(sqlite3_sql(statement));
}

sqlite3_int64 database_last_id(void) {
    return sqlite3_last_insert_rowid(db);
}

void begin(void) {
    run(begin_statement);
}

void commit(void) {
    run(commit_statement);
    synced_commits += is_full;
    // A commit after a complete checkpoint begins the log anew.
    if (log_frames < frames_at_checkpoint) frames_at_checkpoint = 0;
    int added = log_frames - frames_at_checkpoint;
    if (added < short_log) return;
    if (added < long_log && synced_commits * small_commit <= added) return;
    frames_at_checkpoint = log_frames;
    synced_commits = 0;
    if (sqlite3_wal_checkpoint_v2(db, 0, SQLITE_CHECKPOINT_PASSIVE, 0, 0) != SQLITE_OK) fail("checkpoint");
}
