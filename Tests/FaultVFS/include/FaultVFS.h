#ifndef FAULT_VFS_H
#define FAULT_VFS_H

/// A VFS of SQLite (<https://www.sqlite.org/vfs.html>) that passes everything on to the system's, but for the
/// faults that a test asks for.
///
/// Each has a name and faults of its own, so that tests that run at the same time do not meet.
struct fault_vfs;

/// What an observer is told of.
enum fault_vfs_event {
    /// A file was made, or one that was there was opened.
    FAULT_VFS_OPENED,
    FAULT_VFS_WRITTEN,
    /// Cut to a length, or made as long; the length is told as the offset.
    FAULT_VFS_TRUNCATED,
    /// All that was told of the file before is on the disk when the sync has succeeded.
    FAULT_VFS_SYNC_BEGAN,
    FAULT_VFS_SYNCED,
    /// The offset is not 0 if the directory was synced behind it.
    FAULT_VFS_DELETED,
};

/// Is told of what was done, behind it, on the thread that did it.
typedef void (*fault_vfs_observer)(
    void *context, enum fault_vfs_event event, const char *path, long long offset, const void *bytes, int count
);

/// Makes one and registers it under a name, which is copied.
///
/// It stays until the process ends, since a store that a test has left may close its file later. Null when
/// SQLite or the system refuses.
struct fault_vfs *fault_vfs_create(const char *name);

/// Lets so many of the next syncs of its files fail as a disk does that cannot write; a negative number is
/// all, and 0 makes the disk whole again.
void fault_vfs_fail_syncs(struct fault_vfs *, int count);

/// Makes its files those of a file system that is mounted read-only, or writable again.
///
/// It concerns the files that are opened from then on.
void fault_vfs_set_read_only(struct fault_vfs *, int is_read_only);

/// Lets so many writes to its files succeed before the disk is full; a negative number makes room for all.
void fault_vfs_set_room(struct fault_vfs *, int count);

/// Lets its files be written within their length alone, as on a disk that is full; or as long as wanted again.
void fault_vfs_set_full(struct fault_vfs *, int is_full);

/// Kinds of calls that can fail.
enum fault_vfs_call {
    FAULT_VFS_READ,
    FAULT_VFS_WRITE,
    /// A write, that fails for want of room.
    FAULT_VFS_NO_ROOM,
    FAULT_VFS_TRUNCATE,
    FAULT_VFS_SYNC,
    /// Asking how long a file is.
    FAULT_VFS_SIZE,
    FAULT_VFS_LOCK,
    /// Mapping the log's index.
    FAULT_VFS_MAP,
    /// Locking a part of the log's index.
    FAULT_VFS_MAP_LOCK,
    FAULT_VFS_OPEN,
    FAULT_VFS_DELETE,
    /// Asking whether a file is there.
    FAULT_VFS_ACCESS,
    FAULT_VFS_CALLS,
};

/// Lets calls of a kind fail as SQLite's own VFS fails when the system refuses them: behind so many more that
/// succeed so many; a negative number is all, and 0 none.
void fault_vfs_fail(struct fault_vfs *, enum fault_vfs_call call, int behind, int count);

/// How many calls of a kind were made.
int fault_vfs_calls(const struct fault_vfs *, enum fault_vfs_call call);

/// How many were made to fail.
int fault_vfs_faults(const struct fault_vfs *);

/// Kills the process at one of the calls that change a file, map the log's index, open or close a file, lock or
/// unlock it, behind so many more; at a write, when half of it is done. A negative number is never.
void fault_vfs_kill(struct fault_vfs *, int behind);

/// How many of these calls are left before the kill; negative when none is to come.
int fault_vfs_life(const struct fault_vfs *);

/// Has allocations of SQLite fail when they are to; before anything else of SQLite is called in the process.
///
/// Returns SQLite's code.
int fault_memory_install(void);

/// Lets so many of SQLite's allocations fail, behind so many more that succeed; a negative number is all.
void fault_memory_fail(int behind, int count);

/// How many of SQLite's allocations were made, and how many made to fail.
int fault_memory_allocations(void);
int fault_memory_faults(void);

/// Has the system read and write less than it is asked to, and be interrupted by signals, each so often.
///
/// For SQLite's VFS of Unix, in the whole process. Returns SQLite's code.
int fault_calls_shorten(void);

/// How many reads and writes were cut short or interrupted.
int fault_calls_shortened(void);

/// Tells an observer of all that is done to its files from then on; to be called before the first is opened.
///
/// Not of the shared memory, which is gone with the machine's.
void fault_vfs_observe(struct fault_vfs *, fault_vfs_observer observer, void *context);

/// Something to be done, once.
typedef void (*fault_vfs_body)(void *context);

/// Does something in the next checkpoint of its files that finds the log changed by another connection: when it
/// has read how long the log is, and not yet looked how much of it was copied.
void fault_vfs_on_checkpoint(struct fault_vfs *, fault_vfs_body body, void *context);

/// How many syncs have failed.
int fault_vfs_failed_syncs(const struct fault_vfs *);

/// How many syncs have been done.
int fault_vfs_syncs(const struct fault_vfs *);

#endif
