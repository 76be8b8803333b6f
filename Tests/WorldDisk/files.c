#include "files.h"

#include "../../Sources/CSluiceSQLite/shim.h"

#include <stdlib.h>
#include <string.h>

enum { SECTOR = 4096 };

static struct file *ours(sqlite3_file *file) {
    return (struct file *)file;
}

int process_is_dead(struct world_process *process) {
    if (process->is_dead) return 1;
    if (process->disk->quiet-- <= 0) process->calls.step(process->context);
    return process->is_dead;
}

void process_wrote(struct world_process *process, struct node *node) {
    if (!node || !node->is_watched) return;
    node->is_watched = 0;
    process->calls.wrote(process->context, node->path);
}

void file_leave(struct file *file) {
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
        if (!file->node->files) node_unmap(file->node);
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
    if (!ours(file)->is_closed) process_is_dead(ours(file)->process);
    file_leave(ours(file));
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
    struct file *file = ours(base);
    if (process_is_dead(file->process)) return SQLITE_IOERR_READ;
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
    if (process_is_dead(file->process)) return SQLITE_IOERR_WRITE;
    if (!file->node) return file->system->pMethods->xWrite(file->system, bytes, count, offset);
    if (!file->node->bytes) return SQLITE_IOERR_WRITE;
    if (file->process->is_full && offset + count > file->node->size) return SQLITE_FULL;
    int code = node_will_change(file->node, offset, bytes, count, 0);
    if (code == SQLITE_OK) code = node_write(file->node, bytes, count, offset);
    process_wrote(file->process, file->node);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct file *file = ours(base);
    if (process_is_dead(file->process)) return SQLITE_IOERR_TRUNCATE;
    if (!file->node) return file->system->pMethods->xTruncate(file->system, size);
    if (!file->node->bytes) return SQLITE_IOERR_TRUNCATE;
    int code = node_will_change(file->node, size, "", 0, 1);
    if (code == SQLITE_OK) code = node_resize(file->node, size);
    process_wrote(file->process, file->node);
    return code;
}

static void sync_failed(struct file *file) {
    file->process->calls.sync_failed(file->process->context);
    if (!file->node) return;
    node_leave_out(file->node);
    for (struct file *other = file->node->files; other; other = other->next_of_node) other->has_error = other != file;
}

static int file_sync(sqlite3_file *base, int flags) {
    (void)flags;
    struct file *file = ours(base);
    if (process_is_dead(file->process)) return SQLITE_IOERR_FSYNC;
    if (file->has_error) {
        file->has_error = 0;
        file->process->calls.sync_failed(file->process->context);
        return SQLITE_IOERR_FSYNC;
    }
    if (file->process->failing_syncs != 0 && (file->is_database || !file->process->fails_database_only)) {
        if (file->process->failing_syncs > 0) file->process->failing_syncs--;
        sync_failed(file);
        return SQLITE_IOERR_FSYNC;
    }
    // The system's disk need not be asked.
    if (file->node) node_synced(file->node);
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
    if (process_is_dead(file->process)) return SQLITE_IOERR_LOCK;
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
    if (process_is_dead(file->process)) return SQLITE_IOERR_UNLOCK;
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
    return SECTOR;
}

static int file_characteristics(sqlite3_file *file) {
    (void)file;
    return 0;
}

// MARK: the log's index

static int file_shm_map(sqlite3_file *base, int region, int size, int extends, void volatile **memory) {
    struct file *file = ours(base);
    *memory = 0;
    if (process_is_dead(file->process) || !file->node || region >= REGIONS) return SQLITE_IOERR_SHMMAP;
    file->is_mapped = 1;
    void **found = &file->node->regions[region];
    if (!*found && extends) *found = calloc(1, (size_t)size);
    if (!*found && extends) return SQLITE_NOMEM;
    *memory = *found;
    return SQLITE_OK;
}

static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    struct file *file = ours(base);
    if (process_is_dead(file->process)) return SQLITE_IOERR_SHMLOCK;
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

const sqlite3_io_methods file_methods = {
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
