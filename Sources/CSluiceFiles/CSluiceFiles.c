#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "CSluiceFiles.h"
#include <errno.h>
#include <string.h>
#if defined(__linux__)
#include <sys/statfs.h>
#include <sys/statvfs.h>
#else
#include <sys/param.h>
#include <sys/mount.h>
#endif

int csluice_files_mount_of(const char *path, struct csluice_files_mount *mount) {
    memset(mount, 0, sizeof *mount);
    struct statfs status;
    if (statfs(path, &status) != 0) return errno;
#if defined(__linux__)
    // The numbers have 32 bits; the field has more on some machines, and a sign.
    mount->type = (uint32_t)status.f_type;
    // The kernel puts the flags of statvfs there.
    mount->is_read_only = (status.f_flags & ST_RDONLY) != 0;
#elif defined(__APPLE__)
    strlcpy(mount->name, status.f_fstypename, sizeof mount->name);
    mount->is_remote = (status.f_flags & MNT_LOCAL) == 0;
    mount->is_read_only = (status.f_flags & MNT_RDONLY) != 0;
#endif
    return 0;
}
