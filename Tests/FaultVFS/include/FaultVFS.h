#ifndef FAULT_VFS_H
#define FAULT_VFS_H

/// A VFS of SQLite (<https://www.sqlite.org/vfs.html>) that passes everything on to the system's, but for the
/// faults that a test asks for.
///
/// Each has a name and faults of its own, so that tests that run at the same time do not meet.
struct fault_vfs;

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
