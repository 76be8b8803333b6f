#ifndef WORLD_DISK_H
#define WORLD_DISK_H

/// The disk of a simulated world: a VFS of SQLite (<https://www.sqlite.org/vfs.html>) for each of its processes.
///
/// What is read and written are files of the system, which are mapped. Locks and shared memory are the world's own,
/// since its processes are one process of the system. Strictly one thread runs at a time: nothing here is locked.
struct world_disk;
/// The files, locks and mappings of one process.
struct world_process;

/// What the world does for a process that makes a call; `context` is the process's.
struct world_calls {
    /// Lets others run. It returns when the process may go on, or is dead.
    void (*step)(void *context);
    /// Waits by the world's time, which nobody sets, and tells it, in nanoseconds.
    void (*sleep)(void *context, long long nanoseconds);
    long long (*uptime)(void *context);
    /// The process's wall clock, in milliseconds since 1970.
    long long (*time)(void *context);
    /// A file that is watched was written, cut or deleted, by the process or another; it is not watched any more.
    void (*wrote)(void *context, const char *path);
    /// A sync of the process has failed, its own or one of another process of which it is told.
    void (*sync_failed)(void *context);
};

/// Decides, by the world's seed, about a write that was not synced: a number below `bound`.
typedef unsigned (*world_choice)(void *context, unsigned bound);

/// Tells SQLite that it need not lock or count anything; to be called before any other call.
///
/// Returns a code of SQLite.
int world_prepare(void);

struct world_disk *world_disk_create(void);

/// Gives back what the files have of the memory: whatever reads or writes one after that fails.
void world_disk_unmount(struct world_disk *);

/// Watches a file until its next change; returns 0 when there is none.
int world_disk_watch(struct world_disk *, const char *path);

/// Makes so many more calls take no step.
void world_disk_set_quiet(struct world_disk *, int calls);

/// Makes a process, and registers its VFS under a name, which is copied; null when SQLite refuses.
struct world_process *world_process_create(
    struct world_disk *, const char *name, struct world_calls calls, void *context
);

/// Ends a process as a kill does: its locks are dropped, its files closed, and all its calls fail from now on.
void world_process_kill(struct world_process *);

/// Lets so many of its next syncs fail, or those of the database alone; a negative number is all.
void world_process_fail_syncs(struct world_process *, int count, int database_only);

/// Lets its files be written within their length alone, as on a full disk; 0 ends it.
void world_process_set_full(struct world_process *, int is_full);

/// Ends the power: of each write since the last sync of its file it is chosen whether it is kept, lost or torn.
///
/// All processes must be dead. Returns how many writes were lost or torn; negative when the system refuses.
int world_disk_lose_power(struct world_disk *, world_choice, void *context);

#endif
