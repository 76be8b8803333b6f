#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { maximum_count = 4096 };

static struct payload payloads[maximum_count];
static int count;

void payloads_read(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("cannot read the payloads");
    for (;;) {
        // Each line keeps the memory that it was read into.
        char *line = 0;
        size_t capacity = 0;
        ssize_t length = getline(&line, &capacity, file);
        if (length < 0) {
            free(line);
            break;
        }
        if (length > 0 && line[length - 1] == '\n') line[--length] = 0;
        if (length > maximum_length) fail("a payload is too long");
        if (count == maximum_count) fail("there are too many payloads");
        payloads[count++] = (struct payload){line, (int)length};
    }
    // Where it ends otherwise, reading or memory has failed.
    if (!feof(file)) fail("cannot read a payload");
    fclose(file);
    if (count == 0) fail("there are no payloads");
}

struct payload payload_at(int index) {
    return payloads[index % count];
}

struct payload payload_take(sqlite3_stmt *statement, int column) {
    static char copy[maximum_length + 1];
    const unsigned char *text = sqlite3_column_text(statement, column);
    int length = sqlite3_column_bytes(statement, column);
    if (!text || length > maximum_length) fail("a payload is missing or too long");
    memcpy(copy, text, (size_t)length + 1);
    return (struct payload){copy, length};
}

struct payload queue_name(int queue) {
    static char name[32];
    return (struct payload){name, snprintf(name, sizeof name, "conversation/%d", queue)};
}
