#ifndef FILES_H
#define FILES_H

#include "nodes.h"

// The files that a process has open, their locks, and the log's index.

struct world_process {
    // First, so that what SQLite hands us is a pointer to the whole.
    sqlite3_vfs base;
    sqlite3_vfs *system;
    struct world_disk *disk;
    struct world_calls calls;
    void *context;
    int is_dead;
    int failing_syncs;
    // Whether only those of the database fail, and none of its log.
    int fails_database_only;
    int is_full;
    struct file *files;
};

struct file {
    // First, as above.
    sqlite3_file base;
    struct world_process *process;
    // Null for a temporary file.
    struct node *node;
    int is_database;
    struct file *next_of_process;
    struct file *next_of_node;
    int lock;
    unsigned shared;
    unsigned exclusive;
    int is_mapped;
    int is_closed;
    // Whether its next sync tells of one that failed.
    int has_error;
    sqlite3_file *system;
};

extern const sqlite3_io_methods file_methods;

// Lets others run before a call; returns whether the process is dead then.
int process_is_dead(struct world_process *process);
// Closes a file, and drops its locks.
void file_leave(struct file *file);
// Has those who watch a file hear of its change.
void process_wrote(struct world_process *process, struct node *node);

#endif
