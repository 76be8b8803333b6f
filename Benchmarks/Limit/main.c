// Limit NAME=VALUE …   one workload, once; the seconds of each phase as a JSON object
//
//   file        the database; it must not exist
//   payloads    one JSON text a line
//   migrations  the folder of the engine's schema
//   layout      engine (default), textbook, or parsing: engine, with each payload parsed in each direction
//   count, queues, group, drain_group     see struct workload; 1 where left out
//   before      see struct workload; 0 where left out
//   sync, drain_sync                      1 is NORMAL, 2 is FULL, which is the default
//   drained     how many actions are drained; all of them where left out
//
// Limit insert NAME=VALUE …   another process than the broker's; when it committed each action, as a JSON
//                             list
//
//   file        a database that a broker runs
//   count, queues, interval     see insert_as_another
//
// Limit version   SQLite's

#include "limit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void refuse(const char *name, const char *why) {
    char sentence[128];
    snprintf(sentence, sizeof sentence, "the argument %s %s", name, why);
    fail(sentence);
}

static const char *argument(char **arguments, const char *name, const char *otherwise) {
    size_t length = strlen(name);
    for (; *arguments; arguments++) {
        const char *end = *arguments + length;
        if (strncmp(*arguments, name, length) == 0 && *end == '=') return end + 1;
    }
    if (!otherwise) refuse(name, "is missing");
    return otherwise;
}

static int number_from(int least, char **arguments, const char *name, const char *otherwise) {
    const char *text = argument(arguments, name, otherwise);
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end) refuse(name, "is not a whole number");
    if (errno || value < least || value > INT_MAX) refuse(name, "is too small or too large");
    return (int)value;
}

static int number(char **arguments, const char *name, const char *otherwise) {
    return number_from(1, arguments, name, otherwise);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check_remaining(const char *sql, int expected) {
    sqlite3_stmt *count = prepare(sql);
    first_row(count);
    if (sqlite3_column_int(count, 0) != expected) fail("the workload left another number of actions");
    sqlite3_finalize(count);
}

static int insert(char **arguments) {
    insert_as_another(
        argument(arguments, "file", 0), number(arguments, "count", "1"), number(arguments, "queues", "1"),
        number(arguments, "interval", "1"));
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "version") == 0) return puts(sqlite3_libversion()) < 0;
    if (argc > 2 && strcmp(argv[1], "insert") == 0) return insert(argv + 2);
    char **arguments = argv + 1;
    const char *name = argument(arguments, "layout", "engine");
    int is_textbook = strcmp(name, "textbook") == 0, parses = strcmp(name, "parsing") == 0;
    if (!is_textbook && !parses && strcmp(name, "engine") != 0) fail("there is no such layout");
    int count = number(arguments, "count", "1");
    struct workload work = {
        .count = count,
        .queues = number(arguments, "queues", "1"),
        .before = number_from(0, arguments, "before", "0"),
        .drained = number_from(0, arguments, "drained", argument(arguments, "count", "1")),
        .group = number(arguments, "group", "1"),
        .drain_group = number(arguments, "drain_group", "1"),
        .sync = number(arguments, "sync", "2"),
        .drain_sync = number(arguments, "drain_sync", "2"),
        .parses = parses,
    };
    if (work.before > count) refuse("before", "is more than there are");
    if (work.drained > count) refuse("drained", "is more than there are");
    const struct layout *layout = is_textbook ? &textbook_layout : &engine_layout;
    const char *path = argument(arguments, "file", 0);
    if (access(path, F_OK) == 0) fail("the file exists");
    payloads_read(argument(arguments, "payloads", 0));
    database_open(path);
    layout->create(is_textbook ? 0 : argument(arguments, "migrations", 0));

    database_set_sync(work.sync);
    layout->enqueue(&work, 0, work.before);
    double start = seconds();
    layout->enqueue(&work, work.before, count);
    printf("{\"enqueue\": %.6f", seconds() - start);
    check_remaining(layout->remaining, count);
    if (work.drained) {
        database_set_sync(work.drain_sync);
        start = seconds();
        layout->drain(&work);
        printf(", \"drain\": %.6f", seconds() - start);
        check_remaining(layout->remaining, count - work.drained);
    }
    printf("}\n");
    database_close();
    return 0;
}
