// A shim as SQLite's own test_vfs.c is one: a file is ours, with the system's file right behind it in memory.

#include "FaultVFS.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fault_vfs {
    // First, so that what SQLite hands us is a pointer to the whole.
    sqlite3_vfs base;
    sqlite3_vfs *system;
    // Syncs that are to fail; negative for all.
    atomic_int failing_syncs;
    atomic_int failed_syncs;
    atomic_int syncs;
    atomic_int is_read_only;
    // Writes that succeed before the disk is full; negative for a disk that never is.
    atomic_int room;
    // What the next checkpoint does half way; null for nothing.
    _Atomic(fault_vfs_body) body;
    void *_Atomic context;
};

struct file {
    // First, as above.
    sqlite3_file base;
    struct fault_vfs *vfs;
    sqlite3_file *system;
};

static struct fault_vfs *ours(sqlite3_vfs *vfs) {
    return (struct fault_vfs *)vfs;
}

static sqlite3_file *system_file(sqlite3_file *file) {
    return ((struct file *)file)->system;
}

// MARK: the faults

// Takes one of the failures that are left.
static int takes_fault(atomic_int *left) {
    int count = atomic_load(left);
    while (count > 0 && !atomic_compare_exchange_weak(left, &count, count - 1)) {}
    return count != 0;
}

static int file_sync(sqlite3_file *file, int flags) {
    struct fault_vfs *vfs = ((struct file *)file)->vfs;
    if (takes_fault(&vfs->failing_syncs)) {
        atomic_fetch_add(&vfs->failed_syncs, 1);
        return SQLITE_IOERR_FSYNC;
    }
    atomic_fetch_add(&vfs->syncs, 1);
    return system_file(file)->pMethods->xSync(system_file(file), flags);
}

// As SQLite's own VFS has it: what is there is opened for reading instead, what is not cannot be made.
static int allowed_flags(struct fault_vfs *vfs, int flags) {
    if (!atomic_load(&vfs->is_read_only)) return flags;
    return (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
}

// MARK: what is passed on: files

static int file_close(sqlite3_file *file) {
    return system_file(file)->pMethods->xClose(system_file(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return system_file(file)->pMethods->xRead(system_file(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct fault_vfs *vfs = ((struct file *)file)->vfs;
    if (atomic_load(&vfs->room) >= 0 && !takes_fault(&vfs->room)) return SQLITE_FULL;
    return system_file(file)->pMethods->xWrite(system_file(file), bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return system_file(file)->pMethods->xTruncate(system_file(file), size);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return system_file(file)->pMethods->xFileSize(system_file(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xLock(system_file(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xUnlock(system_file(file), level);
}

static int file_check_reserved(sqlite3_file *file, int *is_reserved) {
    return system_file(file)->pMethods->xCheckReservedLock(system_file(file), is_reserved);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return system_file(file)->pMethods->xFileControl(system_file(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) {
    return system_file(file)->pMethods->xSectorSize(system_file(file));
}

static int file_characteristics(sqlite3_file *file) {
    return system_file(file)->pMethods->xDeviceCharacteristics(system_file(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extends, void volatile **memory) {
    return system_file(file)->pMethods->xShmMap(system_file(file), region, size, extends, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return system_file(file)->pMethods->xShmLock(system_file(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) {
    system_file(file)->pMethods->xShmBarrier(system_file(file));
}

static int file_shm_unmap(sqlite3_file *file, int deletes) {
    return system_file(file)->pMethods->xShmUnmap(system_file(file), deletes);
}

// There are no memory-mapped reads.
static int file_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **page) {
    (void)file, (void)offset, (void)count;
    *page = 0;
    return SQLITE_OK;
}

// A checkpoint that finds the log changed gives up what is mapped, when it has read how long the log is.
static int file_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
    (void)offset;
    struct fault_vfs *vfs = ((struct file *)file)->vfs;
    fault_vfs_body body = page ? 0 : atomic_exchange(&vfs->body, 0);
    if (body) body(atomic_load(&vfs->context));
    return SQLITE_OK;
}

// Version 3: shared memory for WAL, and calls for memory-mapped reads.
static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
    .xFetch = file_fetch,
    .xUnfetch = file_unfetch,
};

// MARK: what is passed on: the file system

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *opened, int flags, int *flags_out) {
    struct file *file = (struct file *)opened;
    file->base.pMethods = 0;
    file->vfs = ours(vfs);
    file->system = (sqlite3_file *)(file + 1);
    sqlite3_vfs *system = ours(vfs)->system;
    int code = system->xOpen(system, path, file->system, allowed_flags(ours(vfs), flags), flags_out);
    // SQLite closes a file that failed to open if it has methods.
    if (file->system->pMethods) file->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    return ours(vfs)->system->xDelete(ours(vfs)->system, path, syncs);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    return ours(vfs)->system->xAccess(ours(vfs)->system, path, flags, result);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int length, char *full) {
    return ours(vfs)->system->xFullPathname(ours(vfs)->system, path, length, full);
}

static int vfs_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
    return ours(vfs)->system->xRandomness(ours(vfs)->system, count, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
    return ours(vfs)->system->xSleep(ours(vfs)->system, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *days) {
    return ours(vfs)->system->xCurrentTime(ours(vfs)->system, days);
}

static int vfs_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
    return ours(vfs)->system->xCurrentTimeInt64(ours(vfs)->system, milliseconds);
}

static int vfs_last_error(sqlite3_vfs *vfs, int length, char *text) {
    return ours(vfs)->system->xGetLastError(ours(vfs)->system, length, text);
}

// MARK: from outside

struct fault_vfs *fault_vfs_create(const char *name) {
    sqlite3_vfs *system = sqlite3_vfs_find(0);
    struct fault_vfs *vfs = calloc(1, sizeof *vfs);
    char *copy = strdup(name);
    if (system && system->iVersion >= 2 && vfs && copy) {
        vfs->system = system;
        atomic_store(&vfs->room, -1);
        // Extensions are not loaded through it: those entries stay null.
        vfs->base = (sqlite3_vfs){
            .iVersion = 2,
            .szOsFile = (int)sizeof(struct file) + system->szOsFile,
            .mxPathname = system->mxPathname,
            .zName = copy,
            .xOpen = vfs_open,
            .xDelete = vfs_delete,
            .xAccess = vfs_access,
            .xFullPathname = vfs_full_path,
            .xRandomness = vfs_randomness,
            .xSleep = vfs_sleep,
            .xCurrentTime = vfs_time,
            .xCurrentTimeInt64 = vfs_time_int64,
            .xGetLastError = vfs_last_error,
        };
        if (sqlite3_vfs_register(&vfs->base, 0) == SQLITE_OK) return vfs;
    }
    free(copy);
    free(vfs);
    return 0;
}

void fault_vfs_fail_syncs(struct fault_vfs *vfs, int count) {
    atomic_store(&vfs->failing_syncs, count);
}

void fault_vfs_set_read_only(struct fault_vfs *vfs, int is_read_only) {
    atomic_store(&vfs->is_read_only, is_read_only);
}

void fault_vfs_set_room(struct fault_vfs *vfs, int count) {
    atomic_store(&vfs->room, count);
}

void fault_vfs_on_checkpoint(struct fault_vfs *vfs, fault_vfs_body body, void *context) {
    atomic_store(&vfs->context, context);
    atomic_store(&vfs->body, body);
}

int fault_vfs_failed_syncs(const struct fault_vfs *vfs) {
    return atomic_load(&vfs->failed_syncs);
}

int fault_vfs_syncs(const struct fault_vfs *vfs) {
    return atomic_load(&vfs->syncs);
}
