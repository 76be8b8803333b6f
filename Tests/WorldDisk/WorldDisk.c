#include "WorldDisk.h"

#include "../../Sources/CSluiceSQLite/shim.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A file of a world is at most so long, and made longer by so much at a time.
enum { REGIONS = 64, SECTOR = 512, LONGEST = 64 << 20, PIECE = 256 << 10 };

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

struct world_process {
    // First, so that what SQLite hands us is a pointer to the whole.
    sqlite3_vfs base;
    sqlite3_vfs *system;
    struct world_disk *disk;
    struct world_calls calls;
    void *context;
    int is_dead;
    int failing_syncs;
    int is_full;
    struct file *files;
};

struct file {
    // First, as above.
    sqlite3_file base;
    struct world_process *process;
    // Null for a temporary file.
    struct node *node;
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

static struct file *ours(sqlite3_file *file) {
    return (struct file *)file;
}

// Lets others run before a call; returns whether the process is dead then.
static int is_dead(struct world_process *process) {
    if (process->is_dead) return 1;
    if (process->disk->quiet-- <= 0) process->calls.step(process->context);
    return process->is_dead;
}

// MARK: bytes

static int map(struct node *node) {
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

static void unmap(struct node *node) {
    if (!node->bytes) return;
    if (node->mapped_size > node->size) set_mapped_size(node, node->size);
    munmap(node->bytes, LONGEST);
    node->bytes = 0;
}

// What is cut off is zero if the file is made longer again.
static int resize(struct node *node, sqlite3_int64 size) {
    int code = SQLITE_OK;
    if (size < node->size) code = set_mapped_size(node, size);
    else if (size > node->mapped_size) code = set_mapped_size(node, (size / PIECE + 1) * PIECE);
    if (code == SQLITE_OK) node->size = size;
    return code;
}

static int write_at(struct node *node, const void *bytes, int count, sqlite3_int64 offset) {
    if (count == 0) return SQLITE_OK;
    int code = offset + count > node->size ? resize(node, offset + count) : SQLITE_OK;
    if (code != SQLITE_OK || !node->bytes) return code != SQLITE_OK ? code : SQLITE_IOERR_WRITE;
    memcpy(node->bytes + offset, bytes, (size_t)count);
    return SQLITE_OK;
}

// MARK: what power loss undoes

static void forget_changes(struct node *node) {
    while (node->last) {
        struct change *change = node->last;
        node->last = change->earlier;
        free(change);
    }
}

// Notes a change that is about to be made.
static int note(struct node *node, sqlite3_int64 offset, const void *bytes, int count, int is_truncation) {
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
    int code = resize(node, change->size_before);
    return code != SQLITE_OK ? code : write_at(node, change->bytes, change->before_count, change->offset);
}

static int redo(struct node *node, struct change *change, world_choice choose, void *context) {
    unsigned choice = change->fate == IS_SAFE ? 0 : choose(context, 4);
    change->is_kept = choice < 2;
    if (change->is_truncation) return choice < 2 ? resize(node, change->offset) : SQLITE_OK;
    int count = change->count;
    // Torn: some sectors of its begin.
    if (choice == 2) count = (int)choose(context, (unsigned)(count / SECTOR + 1)) * SECTOR;
    if (choice == 3) return SQLITE_OK;
    if (count > change->count) count = change->count;
    return write_at(node, change->bytes + change->before_count, count, change->offset);
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
        if (map(node) != SQLITE_OK) {
            forget_changes(node);
            continue;
        }
        int refused = 0;
        for (struct change *change = node->last; change; change = change->earlier) refused |= undo(node, change);
        node->last = in_order(node->last);
        for (struct change *change = node->last; change; change = change->earlier) {
            refused |= redo(node, change, choose, context);
            lost += !change->is_kept;
        }
        forget_changes(node);
        if (refused) return -1;
    }
    return lost;
}

// MARK: watches

static void wrote(struct world_process *process, struct node *node) {
    if (!node || !node->is_watched) return;
    node->is_watched = 0;
    process->calls.wrote(process->context, node->path);
}

// MARK: files

static void leave(struct file *file) {
    if (file->is_closed) return;
    file->is_closed = 1;
    for (struct file **at = &file->process->files; *at; at = &(*at)->next_of_process) {
        if (*at == file) {
            *at = file->next_of_process;
            break;
        }
    }
    if (file->node) {
        int is_mapped = 0;
        for (struct file **at = &file->node->files; *at;) {
            if (*at == file) {
                *at = file->next_of_node;
            } else {
                is_mapped |= (*at)->is_mapped;
                at = &(*at)->next_of_node;
            }
        }
        if (!file->node->files) unmap(file->node);
        // Who opens it next finds no index of the log, and makes one.
        if (file->is_mapped && !is_mapped) {
            for (int region = 0; region < REGIONS; region++) {
                free(file->node->regions[region]);
                file->node->regions[region] = 0;
            }
        }
    }
    if (file->system->pMethods) file->system->pMethods->xClose(file->system);
}

static int file_close(sqlite3_file *file) {
    if (!ours(file)->is_closed) is_dead(ours(file)->process);
    leave(ours(file));
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_READ;
    if (!file->node) return file->system->pMethods->xRead(file->system, bytes, count, offset);
    if (!file->node->bytes) return SQLITE_IOERR_READ;
    sqlite3_int64 left = file->node->size > offset ? file->node->size - offset : 0;
    if (left >= count) {
        memcpy(bytes, file->node->bytes + offset, (size_t)count);
        return SQLITE_OK;
    }
    memset(bytes, 0, (size_t)count);
    memcpy(bytes, file->node->bytes + offset, (size_t)left);
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_WRITE;
    if (!file->node) return file->system->pMethods->xWrite(file->system, bytes, count, offset);
    if (!file->node->bytes) return SQLITE_IOERR_WRITE;
    if (file->process->is_full && offset + count > file->node->size) return SQLITE_FULL;
    int code = note(file->node, offset, bytes, count, 0);
    if (code == SQLITE_OK) code = write_at(file->node, bytes, count, offset);
    wrote(file->process, file->node);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_TRUNCATE;
    if (!file->node) return file->system->pMethods->xTruncate(file->system, size);
    if (!file->node->bytes) return SQLITE_IOERR_TRUNCATE;
    int code = note(file->node, size, "", 0, 1);
    if (code == SQLITE_OK) code = resize(file->node, size);
    wrote(file->process, file->node);
    return code;
}

static void sync_failed(struct file *file) {
    file->process->calls.sync_failed(file->process->context);
    if (!file->node) return;
    for (struct change *change = file->node->last; change; change = change->earlier) {
        if (change->fate == IS_WAITING) change->fate = IS_LEFT_OUT;
    }
    for (struct file *other = file->node->files; other; other = other->next_of_node) other->has_error = other != file;
}

static void synced(struct node *node) {
    int is_whole = 1;
    for (struct change *change = node->last; change; change = change->earlier) {
        if (change->fate == IS_LEFT_OUT) is_whole = 0;
        change->fate = change->fate == IS_WAITING ? IS_SAFE : change->fate;
        // What was there before does not matter any more.
        if (change->is_truncation && change->offset == 0) break;
    }
    if (is_whole) forget_changes(node);
}

static int file_sync(sqlite3_file *base, int flags) {
    (void)flags;
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_FSYNC;
    if (file->has_error) {
        file->has_error = 0;
        file->process->calls.sync_failed(file->process->context);
        return SQLITE_IOERR_FSYNC;
    }
    if (file->process->failing_syncs != 0) {
        if (file->process->failing_syncs > 0) file->process->failing_syncs--;
        sync_failed(file);
        return SQLITE_IOERR_FSYNC;
    }
    // The system's disk need not be asked.
    if (file->node) synced(file->node);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
    struct file *file = ours(base);
    if (file->process->is_dead) return SQLITE_IOERR_FSTAT;
    if (!file->node) return file->system->pMethods->xFileSize(file->system, size);
    *size = file->node->size;
    return SQLITE_OK;
}

// MARK: locks

static int others_hold(struct file *file, int level) {
    for (struct file *other = file->node->files; other; other = other->next_of_node) {
        if (other != file && other->lock >= level) return 1;
    }
    return 0;
}

static int file_lock(sqlite3_file *base, int level) {
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_LOCK;
    if (!file->node || file->lock >= level) return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED) {
        if (others_hold(file, SQLITE_LOCK_PENDING)) return SQLITE_BUSY;
    } else if (others_hold(file, SQLITE_LOCK_RESERVED)) {
        return SQLITE_BUSY;
    } else if (level == SQLITE_LOCK_EXCLUSIVE) {
        file->lock = SQLITE_LOCK_PENDING;
        if (others_hold(file, SQLITE_LOCK_SHARED)) return SQLITE_BUSY;
    }
    file->lock = level;
    return SQLITE_OK;
}

static int file_unlock(sqlite3_file *base, int level) {
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_UNLOCK;
    if (file->lock > level) file->lock = level;
    return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *is_reserved) {
    struct file *file = ours(base);
    if (file->process->is_dead) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    *is_reserved = file->lock >= SQLITE_LOCK_RESERVED || (file->node && others_hold(file, SQLITE_LOCK_RESERVED));
    return SQLITE_OK;
}

static int64_t clock_now(void *context) {
    struct world_process *process = context;
    return process->calls.uptime(process->context);
}

static void clock_sleep(void *context, int64_t nanoseconds) {
    struct world_process *process = context;
    process->calls.sleep(process->context, nanoseconds);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    if (ours(file)->process->is_dead) return SQLITE_IOERR;
    if (operation == CSQLITE_FCNTL_CLOCK) {
        *(csqlite_clock *)argument = (csqlite_clock){clock_now, clock_sleep, ours(file)->process};
        return SQLITE_OK;
    }
    return ours(file)->system->pMethods->xFileControl(ours(file)->system, operation, argument);
}

static int file_sector_size(sqlite3_file *file) {
    (void)file;
    return SECTOR * 8;
}

static int file_characteristics(sqlite3_file *file) {
    (void)file;
    return 0;
}

// MARK: the log's index

static int file_shm_map(sqlite3_file *base, int region, int size, int extends, void volatile **memory) {
    struct file *file = ours(base);
    *memory = 0;
    if (is_dead(file->process) || !file->node || region >= REGIONS) return SQLITE_IOERR_SHMMAP;
    file->is_mapped = 1;
    void **found = &file->node->regions[region];
    if (!*found && extends) *found = calloc(1, (size_t)size);
    if (!*found && extends) return SQLITE_NOMEM;
    *memory = *found;
    return SQLITE_OK;
}

static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    struct file *file = ours(base);
    if (is_dead(file->process)) return SQLITE_IOERR_SHMLOCK;
    unsigned mask = ((1u << count) - 1) << offset;
    if (flags & SQLITE_SHM_UNLOCK) {
        file->shared &= ~mask;
        file->exclusive &= ~mask;
        return SQLITE_OK;
    }
    for (struct file *other = file->node->files; other; other = other->next_of_node) {
        if (other == file) continue;
        unsigned held = other->exclusive | (flags & SQLITE_SHM_EXCLUSIVE ? other->shared : 0);
        if (held & mask) return SQLITE_BUSY;
    }
    if (flags & SQLITE_SHM_EXCLUSIVE) file->exclusive |= mask;
    else file->shared |= mask;
    return SQLITE_OK;
}

static void file_shm_barrier(sqlite3_file *file) {
    (void)file;
}

static int file_shm_unmap(sqlite3_file *base, int deletes) {
    (void)deletes;
    ours(base)->shared = ours(base)->exclusive = 0;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
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
};

// MARK: the file system

static struct node *node_at(struct world_disk *disk, const char *path) {
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

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *opened, int flags, int *flags_out) {
    struct world_process *process = (struct world_process *)vfs;
    struct file *file = ours(opened);
    memset(file, 0, sizeof *file);
    if (is_dead(process)) return SQLITE_CANTOPEN;
    file->process = process;
    file->system = (sqlite3_file *)(file + 1);
    int code = process->system->xOpen(process->system, path, file->system, flags, flags_out);
    if (code != SQLITE_OK) return code;
    file->base.pMethods = &methods;
    file->next_of_process = process->files;
    process->files = file;
    if (!path) return SQLITE_OK;
    file->node = node_at(process->disk, path);
    if (!file->node) return SQLITE_NOMEM;
    code = map(file->node);
    if (code != SQLITE_OK) return code;
    file->next_of_node = file->node->files;
    file->node->files = file;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    struct world_process *process = (struct world_process *)vfs;
    if (is_dead(process)) return SQLITE_IOERR_DELETE;
    int code = process->system->xDelete(process->system, path, syncs);
    struct node *node = code == SQLITE_OK ? node_at(process->disk, path) : 0;
    if (node) {
        forget_changes(node);
        unmap(node);
    }
    wrote(process, node);
    return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    struct world_process *process = (struct world_process *)vfs;
    if (process->is_dead) return SQLITE_IOERR_ACCESS;
    return process->system->xAccess(process->system, path, flags, result);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int length, char *full) {
    struct world_process *process = (struct world_process *)vfs;
    return process->system->xFullPathname(process->system, path, length, full);
}

static int vfs_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
    struct world_process *process = (struct world_process *)vfs;
    return process->system->xRandomness(process->system, count, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
    struct world_process *process = (struct world_process *)vfs;
    if (!process->is_dead) process->calls.sleep(process->context, microseconds * 1000LL);
    return microseconds;
}

static int vfs_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
    struct world_process *process = (struct world_process *)vfs;
    // SQLite counts from noon of the day before the year -4713.
    *milliseconds = process->calls.time(process->context) + 210866760000000;
    return SQLITE_OK;
}

static int vfs_time(sqlite3_vfs *vfs, double *days) {
    sqlite3_int64 milliseconds = 0;
    vfs_time_int64(vfs, &milliseconds);
    *days = (double)milliseconds / 86400000.0;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int length, char *text) {
    struct world_process *process = (struct world_process *)vfs;
    return process->system->xGetLastError(process->system, length, text);
}

// MARK: from outside

int world_prepare(void) {
#ifdef __GLIBC__
    // One thread runs at a time: more than one arena, or memory given back at once, costs a tenth of the time.
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
#endif
    int code = sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    return code == SQLITE_OK ? sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) : code;
}

struct world_disk *world_disk_create(void) {
    return calloc(1, sizeof(struct world_disk));
}

void world_disk_unmount(struct world_disk *disk) {
    for (struct node *node = disk->nodes; node; node = node->next) {
        forget_changes(node);
        unmap(node);
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

struct world_process *world_process_create(
    struct world_disk *disk, const char *name, struct world_calls calls, void *context
) {
    sqlite3_vfs *system = sqlite3_vfs_find("unix");
    struct world_process *process = calloc(1, sizeof *process);
    char *its_name = strdup(name);
    if (system && process && its_name) {
        process->system = system;
        process->disk = disk;
        process->calls = calls;
        process->context = context;
        process->base = (sqlite3_vfs){
            .iVersion = 2,
            .szOsFile = (int)sizeof(struct file) + system->szOsFile,
            .mxPathname = system->mxPathname,
            .zName = its_name,
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
        if (sqlite3_vfs_register(&process->base, 0) == SQLITE_OK) return process;
    }
    free(its_name);
    free(process);
    return 0;
}

void world_process_kill(struct world_process *process) {
    process->is_dead = 1;
    while (process->files) leave(process->files);
}

void world_process_fail_syncs(struct world_process *process, int count) {
    process->failing_syncs = count;
}

void world_process_set_full(struct world_process *process, int is_full) {
    process->is_full = is_full;
}
