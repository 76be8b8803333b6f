#include "nodes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A file of a world is at most so long, and made longer by so much at a time.
enum { SECTOR = 512, LONGEST = 64 << 20, PIECE = 256 << 10 };

// What becomes of a change when the power ends. The system tells each open file once of a sync that failed: what it
// had to write counts as written from then on, and later syncs do not write it.
enum fate { IS_WAITING, IS_SAFE, IS_LEFT_OUT };

// A write or a truncation since the last sync, with what was there before.
struct change {
    struct change *earlier;
    sqlite3_int64 offset;
    // Of a truncation, the bytes that it cut off, and none that it wrote.
    int is_truncation;
    int count;
    int before_count;
    sqlite3_int64 size_before;
    enum fate fate;
    int is_kept;
    // What was there, and behind it what was written.
    char bytes[];
};

struct node *node_at(struct world_disk *disk, const char *path) {
    for (struct node *node = disk->nodes; node; node = node->next) {
        if (strcmp(node->path, path) == 0) return node;
    }
    struct node *node = calloc(1, sizeof *node);
    if (!node) return 0;
    node->path = strdup(path);
    node->next = disk->nodes;
    disk->nodes = node;
    return node;
}

// MARK: bytes

int node_map(struct node *node) {
    if (node->bytes) return SQLITE_OK;
    int descriptor = open(node->path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return SQLITE_CANTOPEN;
    struct stat facts;
    void *bytes = MAP_FAILED;
    if (fstat(descriptor, &facts) == 0) bytes = mmap(0, LONGEST, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED) return SQLITE_NOMEM;
    node->bytes = bytes;
    node->size = node->mapped_size = facts.st_size;
    return SQLITE_OK;
}

static int set_mapped_size(struct node *node, sqlite3_int64 size) {
    if (!node->bytes || size > LONGEST || truncate(node->path, size) != 0) return SQLITE_FULL;
    node->mapped_size = size;
    return SQLITE_OK;
}

void node_unmap(struct node *node) {
    if (!node->bytes) return;
    if (node->mapped_size > node->size) set_mapped_size(node, node->size);
    munmap(node->bytes, LONGEST);
    node->bytes = 0;
}

// What is cut off is zero if the file is made longer again.
int node_resize(struct node *node, sqlite3_int64 size) {
    int code = SQLITE_OK;
    if (size < node->size) code = set_mapped_size(node, size);
    else if (size > node->mapped_size) code = set_mapped_size(node, (size / PIECE + 1) * PIECE);
    if (code == SQLITE_OK) node->size = size;
    return code;
}

int node_write(struct node *node, const void *bytes, int count, sqlite3_int64 offset) {
    if (count == 0) return SQLITE_OK;
    int code = offset + count > node->size ? node_resize(node, offset + count) : SQLITE_OK;
    if (code != SQLITE_OK || !node->bytes) return code != SQLITE_OK ? code : SQLITE_IOERR_WRITE;
    memcpy(node->bytes + offset, bytes, (size_t)count);
    return SQLITE_OK;
}

// MARK: what power loss undoes

void node_forget_changes(struct node *node) {
    while (node->last) {
        struct change *change = node->last;
        node->last = change->earlier;
        free(change);
    }
}

// Notes a change that is about to be made.
int node_will_change(struct node *node, sqlite3_int64 offset, const void *bytes, int count, int is_truncation) {
    sqlite3_int64 left = node->size > offset ? node->size - offset : 0;
    int before_count = (int)(is_truncation || left < count ? left : count);
    struct change *change = malloc(sizeof *change + (size_t)before_count + (size_t)count);
    if (!change) return SQLITE_NOMEM;
    *change = (struct change){
        .earlier = node->last,
        .offset = offset,
        .is_truncation = is_truncation,
        .count = count,
        .before_count = before_count,
        .size_before = node->size,
    };
    memcpy(change->bytes, node->bytes + offset, (size_t)before_count);
    memcpy(change->bytes + before_count, bytes, (size_t)count);
    node->last = change;
    return SQLITE_OK;
}

static int undo(struct node *node, const struct change *change) {
    int code = node_resize(node, change->size_before);
    return code != SQLITE_OK ? code : node_write(node, change->bytes, change->before_count, change->offset);
}

static int redo(struct node *node, struct change *change, world_choice choose, void *context) {
    unsigned choice = change->fate == IS_SAFE ? 0 : choose(context, 4);
    change->is_kept = choice < 2;
    if (change->is_truncation) return choice < 2 ? node_resize(node, change->offset) : SQLITE_OK;
    int count = change->count;
    // Torn: some sectors of its begin.
    if (choice == 2) count = (int)choose(context, (unsigned)(count / SECTOR + 1)) * SECTOR;
    if (choice == 3) return SQLITE_OK;
    if (count > change->count) count = change->count;
    return node_write(node, change->bytes + change->before_count, count, change->offset);
}

static struct change *in_order(struct change *last) {
    struct change *first = 0;
    while (last) {
        struct change *earlier = last->earlier;
        last->earlier = first;
        first = last;
        last = earlier;
    }
    return first;
}

int world_disk_lose_power(struct world_disk *disk, world_choice choose, void *context) {
    int lost = 0;
    for (struct node *node = disk->nodes; node; node = node->next) {
        if (!node->last) continue;
        // It was deleted since.
        if (node_map(node) != SQLITE_OK) {
            node_forget_changes(node);
            continue;
        }
        int refused = 0;
        for (struct change *change = node->last; change; change = change->earlier) refused |= undo(node, change);
        node->last = in_order(node->last);
        for (struct change *change = node->last; change; change = change->earlier) {
            refused |= redo(node, change, choose, context);
            lost += !change->is_kept;
        }
        node_forget_changes(node);
        if (refused) return -1;
    }
    return lost;
}

// MARK: syncs

void node_synced(struct node *node) {
    int is_whole = 1;
    for (struct change *change = node->last; change; change = change->earlier) {
        if (change->fate == IS_LEFT_OUT) is_whole = 0;
        change->fate = change->fate == IS_WAITING ? IS_SAFE : change->fate;
        // What was there before does not matter any more.
        if (change->is_truncation && change->offset == 0) break;
    }
    if (is_whole) node_forget_changes(node);
}

void node_leave_out(struct node *node) {
    for (struct change *change = node->last; change; change = change->earlier) {
        if (change->fate == IS_WAITING) change->fate = IS_LEFT_OUT;
    }
}

// MARK: from outside

struct world_disk *world_disk_create(void) {
    return calloc(1, sizeof(struct world_disk));
}

void world_disk_unmount(struct world_disk *disk) {
    for (struct node *node = disk->nodes; node; node = node->next) {
        node_forget_changes(node);
        node_unmap(node);
    }
}

int world_disk_watch(struct world_disk *disk, const char *path) {
    struct node *node = access(path, F_OK) == 0 ? node_at(disk, path) : 0;
    if (node) node->is_watched = 1;
    return node != 0;
}

void world_disk_set_quiet(struct world_disk *disk, int calls) {
    disk->quiet = calls;
}
