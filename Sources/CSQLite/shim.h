#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

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

#endif
