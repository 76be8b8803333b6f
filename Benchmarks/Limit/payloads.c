#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { maximum_count = 4096, maximum_length = 1 << 18 };

static struct payload payloads[maximum_count];
static int count;

void payloads_read(const char *path) {
    static char line[maximum_length];
    FILE *file = fopen(path, "r");
    if (!file) fail("cannot read the payloads");
    while (count < maximum_count && fgets(line, sizeof line, file)) {
        int length = (int)strcspn(line, "\n");
        line[length] = 0;
        payloads[count++] = (struct payload){strdup(line), length};
    }
    fclose(file);
    if (count == 0) fail("there are no payloads");
}

struct payload payload_at(int index) {
    return payloads[index % count];
}

struct payload payload_take(sqlite3_stmt *statement, int column) {
    static char copy[maximum_length];
    const unsigned char *text = sqlite3_column_text(statement, column);
    int length = sqlite3_column_bytes(statement, column);
    if (!text || length >= maximum_length) fail("a payload is missing or too long");
    memcpy(copy, text, (size_t)length + 1);
    return (struct payload){copy, length};
}

struct payload queue_name(int queue) {
    static char name[32];
    return (struct payload){name, snprintf(name, sizeof name, "conversation/%d", queue)};
}
