// The physical reference: the statements that a workload needs, in a plain loop, with the engine's schema,
// settings and checkpoints, on the same file system. What the engine loses against it is its own cost.

#ifndef LIMIT_H
#define LIMIT_H

#include <sqlite3.h>
#include <stddef.h>

// Of a payload, in bytes: room for the 100 KB of W13.
enum { maximum_length = 1 << 18 };

struct workload {
    // Actions in all, and the queues that they go into, in turn.
    int count;
    int queues;
    // Of the actions, those that are stored before the others, whose time is not taken, and those that are
    // drained.
    int before;
    int drained;
    // Actions in one transaction while enqueuing, and while draining.
    int group;
    int drain_group;
    // Of each commit: 1 is NORMAL, 2 is FULL.
    int sync;
    int drain_sync;
    // Whether each payload is parsed before it is stored and after it is read, as the layout says.
    int parses;
};

// A way to store the actions: the engine's, or what a textbook says.
struct layout {
    void (*create)(const char *migrations);
    // Stores the actions from one number to another.
    void (*enqueue)(const struct workload *, int from, int to);
    // Claims actions, reads their payloads, and removes them.
    void (*drain)(const struct workload *);
    const char *remaining;
};

extern const struct layout engine_layout;
extern const struct layout textbook_layout;

// Prints a sentence, with what SQLite says if it has failed, and ends the process.
_Noreturn void fail(const char *what);
// Zeroed memory for so many things of a size.
void *allocate(int count, size_t size);

// database.c: one connection for the life of the process.
void database_open(const char *path);
// Opens a file that is there, and leaves all settings as SQLite has them.
void database_open_as_shell(const char *path);
void database_close(void);
void database_set_sync(int level);
void execute(const char *sql);
sqlite3_stmt *prepare(const char *sql);
// Runs a statement to its end and makes it ready for the next run.
void run(sqlite3_stmt *);
// Runs a statement that answers one row, and leaves it standing there.
void first_row(sqlite3_stmt *);
// The id of the row that was inserted last.
sqlite3_int64 database_last_id(void);
void begin(void);
void commit(void);

// insert.c: adds actions to a file that a broker runs, as another program does, one every `interval`
// microseconds, in turn to `queues` queues. Prints when each was committed, as a JSON list.
void insert_as_another(const char *path, int count, int queues, int interval);

// payloads.c
struct payload {
    const char *text;
    int length;
};
void payloads_read(const char *path);
struct payload payload_at(int index);
// Copies the text in a column, as somebody does who needs it after the statement has moved on.
struct payload payload_take(sqlite3_stmt *, int column);
// The name of a queue; valid until the next call.
struct payload queue_name(int queue);

// json.c: checks that a payload is one JSON text, RFC 8259 and UTF-8 included, and copies what its strings
// and numbers say, as any program does that has a value in hand and not a text. Ends the process if it is
// none.
void json_parse(struct payload);

#endif
