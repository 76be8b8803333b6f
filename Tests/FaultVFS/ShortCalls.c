// A system that reads and writes less than it is asked to, as it may, and whose calls signals interrupt.

#include "FaultVFS.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;
static atomic_int shortened;

// How many bytes the system takes this time; 0 for a signal that came first.
static size_t portion(size_t count) {
    int number = atomic_fetch_add(&calls, 1);
    if (number % 7 != 0 && number % 5 != 0) return count;
    atomic_fetch_add(&shortened, 1);
    if (number % 7 == 0) return 0;
    return count / 2 > 0 ? count / 2 : count;
}

static ssize_t interrupted(void) {
    errno = EINTR;
    return -1;
}

static ssize_t short_pread(int file, void *bytes, size_t count, off_t offset) {
    size_t part = portion(count);
    return part == 0 && count > 0 ? interrupted() : pread(file, bytes, part, offset);
}

static ssize_t short_pwrite(int file, const void *bytes, size_t count, off_t offset) {
    size_t part = portion(count);
    return part == 0 && count > 0 ? interrupted() : pwrite(file, bytes, part, offset);
}

int fault_calls_shorten(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(0);
    if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall) return SQLITE_ERROR;
    // Where the library was built for files of 64 bits' length it calls the one, else the other; what it does not
    // know is not found.
    static const char *const reads[] = {"pread", "pread64", 0};
    static const char *const writes[] = {"pwrite", "pwrite64", 0};
    for (int i = 0; reads[i]; i++) {
        if (vfs->xGetSystemCall(vfs, reads[i])) {
            int code = vfs->xSetSystemCall(vfs, reads[i], (sqlite3_syscall_ptr)short_pread);
            if (code != SQLITE_OK) return code;
        }
        if (vfs->xGetSystemCall(vfs, writes[i])) {
            int code = vfs->xSetSystemCall(vfs, writes[i], (sqlite3_syscall_ptr)short_pwrite);
            if (code != SQLITE_OK) return code;
        }
    }
    return SQLITE_OK;
}

int fault_calls_shortened(void) {
    return atomic_load(&shortened);
}
