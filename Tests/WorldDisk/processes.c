#include "files.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// The file system of a process, and what is done to it from outside.

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *opened, int flags, int *flags_out) {
    struct world_process *process = (struct world_process *)vfs;
    struct file *file = (struct file *)opened;
    memset(file, 0, sizeof *file);
    if (process_is_dead(process)) return SQLITE_CANTOPEN;
    file->process = process;
    file->system = (sqlite3_file *)(file + 1);
    int code = process->system->xOpen(process->system, path, file->system, flags, flags_out);
    if (code != SQLITE_OK) return code;
    file->base.pMethods = &file_methods;
    file->next_of_process = process->files;
    process->files = file;
    if (!path) return SQLITE_OK;
    file->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    file->node = node_at(process->disk, path);
    if (!file->node) return SQLITE_NOMEM;
    code = node_map(file->node);
    if (code != SQLITE_OK) return code;
    file->next_of_node = file->node->files;
    file->node->files = file;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    struct world_process *process = (struct world_process *)vfs;
    if (process_is_dead(process)) return SQLITE_IOERR_DELETE;
    int code = process->system->xDelete(process->system, path, syncs);
    struct node *node = code == SQLITE_OK ? node_at(process->disk, path) : 0;
    if (node) {
        node_forget_changes(node);
        node_unmap(node);
    }
    process_wrote(process, node);
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
    while (process->files) file_leave(process->files);
}

void world_process_fail_syncs(struct world_process *process, int count, int database_only) {
    process->failing_syncs = count;
    process->fails_database_only = database_only;
}

void world_process_set_full(struct world_process *process, int is_full) {
    process->is_full = is_full;
}
