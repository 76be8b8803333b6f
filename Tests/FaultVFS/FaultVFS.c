// A shim as SQLite's own test_vfs.c is one: a file is ours, with the system's file right behind it in memory.

#include "FaultVFS.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    // Set before the first file is opened, and never again.
    fault_vfs_observer observer;
    void *observer_context;
    // Calls of each kind that were made, and those from which on they fail, so many of them.
    atomic_int made[FAULT_VFS_CALLS];
    atomic_int failing_from[FAULT_VFS_CALLS];
    atomic_int failing[FAULT_VFS_CALLS];
    atomic_int faults;
    // Files cannot become longer.
    atomic_int is_full;
    // Calls of all kinds until the process is killed; negative for never.
    atomic_int life;
};

struct file {
    // First, as above.
    sqlite3_file base;
    struct fault_vfs *vfs;
    // SQLite's, which keeps it until the file is closed; null for one that is temporary.
    const char *path;
    sqlite3_file *system;
};

static struct fault_vfs *ours(sqlite3_vfs *vfs) {
    return (struct fault_vfs *)vfs;
}

static sqlite3_file *system_file(sqlite3_file *file) {
    return ((struct file *)file)->system;
}

static void tell(
    struct fault_vfs *vfs, enum fault_vfs_event event, const char *path, sqlite3_int64 offset, const void *bytes,
    int count
) {
    if (vfs->observer && path) vfs->observer(vfs->observer_context, event, path, offset, bytes, count);
}

static void tell_of(
    sqlite3_file *file, enum fault_vfs_event event, sqlite3_int64 offset, const void *bytes, int count
) {
    tell(((struct file *)file)->vfs, event, ((struct file *)file)->path, offset, bytes, count);
}

// MARK: the faults

// Takes one of the failures that are left.
static int takes_fault(atomic_int *left) {
    int count = atomic_load(left);
    while (count > 0 && !atomic_compare_exchange_weak(left, &count, count - 1)) {}
    return count != 0;
}

// What SQLite's own VFS answers when the system refuses a call.
static const int failure_codes[FAULT_VFS_CALLS] = {
    [FAULT_VFS_READ] = SQLITE_IOERR_READ,
    [FAULT_VFS_WRITE] = SQLITE_IOERR_WRITE,
    [FAULT_VFS_NO_ROOM] = SQLITE_FULL,
    [FAULT_VFS_TRUNCATE] = SQLITE_IOERR_TRUNCATE,
    [FAULT_VFS_SYNC] = SQLITE_IOERR_FSYNC,
    [FAULT_VFS_SIZE] = SQLITE_IOERR_FSTAT,
    [FAULT_VFS_LOCK] = SQLITE_IOERR_LOCK,
    [FAULT_VFS_MAP] = SQLITE_IOERR_SHMMAP,
    [FAULT_VFS_MAP_LOCK] = SQLITE_IOERR_SHMLOCK,
    [FAULT_VFS_OPEN] = SQLITE_CANTOPEN,
    [FAULT_VFS_DELETE] = SQLITE_IOERR_DELETE,
    [FAULT_VFS_ACCESS] = SQLITE_IOERR_ACCESS,
};

static void die(void) {
    kill(getpid(), SIGKILL);
    // It comes at once, but for what other threads do meanwhile.
    while (1) pause();
}

// Whether the process is to die in the midst of this call.
static int dies(struct fault_vfs *vfs) {
    int life = atomic_load(&vfs->life);
    return life >= 0 && atomic_fetch_sub(&vfs->life, 1) == 0;
}

// Counts a call of a kind, and tells how it is to fail: with SQLite's code, or not at all.
static int fault(struct fault_vfs *vfs, enum fault_vfs_call call) {
    int number = atomic_fetch_add(&vfs->made[call], 1);
    if (number < atomic_load(&vfs->failing_from[call]) || !takes_fault(&vfs->failing[call])) return SQLITE_OK;
    atomic_fetch_add(&vfs->faults, 1);
    return failure_codes[call];
}

// The same for what can be the moment of a kill, which finds it not done.
static int fault_or_kill(struct fault_vfs *vfs, enum fault_vfs_call call) {
    if (dies(vfs)) die();
    return fault(vfs, call);
}

static struct fault_vfs *vfs_of(sqlite3_file *file) {
    return ((struct file *)file)->vfs;
}

static int file_sync(sqlite3_file *file, int flags) {
    struct fault_vfs *vfs = ((struct file *)file)->vfs;
    int refused = fault_or_kill(vfs, FAULT_VFS_SYNC);
    if (refused) return refused;
    if (takes_fault(&vfs->failing_syncs)) {
        atomic_fetch_add(&vfs->failed_syncs, 1);
        return SQLITE_IOERR_FSYNC;
    }
    atomic_fetch_add(&vfs->syncs, 1);
    tell_of(file, FAULT_VFS_SYNC_BEGAN, 0, 0, 0);
    int code = system_file(file)->pMethods->xSync(system_file(file), flags);
    if (code == SQLITE_OK) tell_of(file, FAULT_VFS_SYNCED, 0, 0, 0);
    return code;
}

// As SQLite's own VFS has it: what is there is opened for reading instead, what is not cannot be made.
static int allowed_flags(struct fault_vfs *vfs, int flags) {
    if (!atomic_load(&vfs->is_read_only)) return flags;
    return (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
}

// MARK: what is passed on: files

static int file_close(sqlite3_file *file) {
    if (dies(vfs_of(file))) die();
    return system_file(file)->pMethods->xClose(system_file(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    int refused = fault(vfs_of(file), FAULT_VFS_READ);
    if (refused) return refused;
    return system_file(file)->pMethods->xRead(system_file(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct fault_vfs *vfs = ((struct file *)file)->vfs;
    if (atomic_load(&vfs->room) >= 0 && !takes_fault(&vfs->room)) return SQLITE_FULL;
    if (atomic_load(&vfs->is_full)) {
        sqlite3_int64 size = 0;
        int code = system_file(file)->pMethods->xFileSize(system_file(file), &size);
        if (code != SQLITE_OK || offset + count > size) return SQLITE_FULL;
    }
    int refused = fault(vfs, FAULT_VFS_WRITE);
    if (!refused) refused = fault(vfs, FAULT_VFS_NO_ROOM);
    if (refused) return refused;
    if (dies(vfs)) {
        // The system had written a part.
        system_file(file)->pMethods->xWrite(system_file(file), bytes, count / 2, offset);
        die();
    }
    int code = system_file(file)->pMethods->xWrite(system_file(file), bytes, count, offset);
    if (code == SQLITE_OK) tell_of(file, FAULT_VFS_WRITTEN, offset, bytes, count);
    return code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int refused = fault_or_kill(vfs_of(file), FAULT_VFS_TRUNCATE);
    if (refused) return refused;
    int code = system_file(file)->pMethods->xTruncate(system_file(file), size);
    if (code == SQLITE_OK) tell_of(file, FAULT_VFS_TRUNCATED, size, 0, 0);
    return code;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    int refused = fault(vfs_of(file), FAULT_VFS_SIZE);
    if (refused) return refused;
    return system_file(file)->pMethods->xFileSize(system_file(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    int refused = fault_or_kill(vfs_of(file), FAULT_VFS_LOCK);
    if (refused) return refused;
    return system_file(file)->pMethods->xLock(system_file(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
    if (dies(vfs_of(file))) die();
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
    int refused = fault_or_kill(vfs_of(file), FAULT_VFS_MAP);
    if (refused) return refused;
    return system_file(file)->pMethods->xShmMap(system_file(file), region, size, extends, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    if (dies(vfs_of(file))) die();
    // What is given up is: SQLite's own VFS does not fail there either.
    int refused = flags & SQLITE_SHM_LOCK ? fault(vfs_of(file), FAULT_VFS_MAP_LOCK) : SQLITE_OK;
    if (refused) return refused;
    return system_file(file)->pMethods->xShmLock(system_file(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) {
    system_file(file)->pMethods->xShmBarrier(system_file(file));
}

static int file_shm_unmap(sqlite3_file *file, int deletes) {
    if (dies(vfs_of(file))) die();
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
    int refused = fault_or_kill(ours(vfs), FAULT_VFS_OPEN);
    if (refused) return refused;
    file->vfs = ours(vfs);
    file->path = path;
    file->system = (sqlite3_file *)(file + 1);
    sqlite3_vfs *system = ours(vfs)->system;
    int code = system->xOpen(system, path, file->system, allowed_flags(ours(vfs), flags), flags_out);
    // SQLite closes a file that failed to open if it has methods.
    if (file->system->pMethods) file->base.pMethods = &methods;
    if (code == SQLITE_OK) tell_of(opened, FAULT_VFS_OPENED, 0, 0, 0);
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    int refused = fault_or_kill(ours(vfs), FAULT_VFS_DELETE);
    if (refused) return refused;
    int code = ours(vfs)->system->xDelete(ours(vfs)->system, path, syncs);
    if (code == SQLITE_OK) tell(ours(vfs), FAULT_VFS_DELETED, path, syncs, 0, 0);
    return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    int refused = fault(ours(vfs), FAULT_VFS_ACCESS);
    if (refused) return refused;
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
        atomic_store(&vfs->life, -1);
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

void fault_vfs_set_full(struct fault_vfs *vfs, int is_full) {
    atomic_store(&vfs->is_full, is_full);
}

void fault_vfs_observe(struct fault_vfs *vfs, fault_vfs_observer observer, void *context) {
    vfs->observer_context = context;
    vfs->observer = observer;
}

void fault_vfs_on_checkpoint(struct fault_vfs *vfs, fault_vfs_body body, void *context) {
    atomic_store(&vfs->context, context);
    atomic_store(&vfs->body, body);
}

void fault_vfs_fail(struct fault_vfs *vfs, enum fault_vfs_call call, int behind, int count) {
    atomic_store(&vfs->failing[call], 0);
    atomic_store(&vfs->failing_from[call], atomic_load(&vfs->made[call]) + behind);
    atomic_store(&vfs->failing[call], count);
}

void fault_vfs_kill(struct fault_vfs *vfs, int behind) {
    atomic_store(&vfs->life, behind);
}

int fault_vfs_life(const struct fault_vfs *vfs) {
    return atomic_load(&vfs->life);
}

int fault_vfs_calls(const struct fault_vfs *vfs, enum fault_vfs_call call) {
    return atomic_load(&vfs->made[call]);
}

int fault_vfs_faults(const struct fault_vfs *vfs) {
    return atomic_load(&vfs->faults);
}

int fault_vfs_failed_syncs(const struct fault_vfs *vfs) {
    return atomic_load(&vfs->failed_syncs);
}

int fault_vfs_syncs(const struct fault_vfs *vfs) {
    return atomic_load(&vfs->syncs);
}
