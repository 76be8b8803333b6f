#ifndef NODES_H
#define NODES_H

#include "WorldDisk.h"

#include <sqlite3.h>

// The files of a world, with what is known of their bytes; and what becomes of these when the power ends.

enum { REGIONS = 64 };

struct file;
struct change;

struct node {
    struct node *next;
    char *path;
    struct file *files;
    void *regions[REGIONS];
    struct change *last;
    int is_watched;
    // The file, mapped: a world reads and writes some ten thousand times, each of which would be a call of the system.
    char *bytes;
    sqlite3_int64 size;
    sqlite3_int64 mapped_size;
};

struct world_disk {
    struct node *nodes;
    int quiet;
};

// The file of a path, made known if it is not; null without memory.
struct node *node_at(struct world_disk *disk, const char *path);
// Maps a file, and gives that back: a mapped one can be read and written. Codes of SQLite.
int node_map(struct node *node);
void node_unmap(struct node *node);
int node_resize(struct node *node, sqlite3_int64 size);
int node_write(struct node *node, const void *bytes, int count, sqlite3_int64 offset);
// Notes a change that is about to be made; of a truncation the bytes are none.
int node_will_change(struct node *node, sqlite3_int64 offset, const void *bytes, int count, int is_truncation);
void node_forget_changes(struct node *node);
// All that was written is on the disk, but what a failed sync has left out.
void node_synced(struct node *node);
void node_leave_out(struct node *node);

#endif
