// What the library needs of the system that Swift's modules of the C library do not hold.
#ifndef CSLUICE_FILES_H
#define CSLUICE_FILES_H

#include <stdint.h>

struct csluice_files_mount {
    /// The kernel's number of the file system on Linux; 0 elsewhere.
    uint32_t type;
    /// The file system's name on Apple systems; empty elsewhere.
    char name[32];
    /// Whether the system says that its files are on another machine; only Apple systems do.
    int is_remote;
    /// Whether nothing can be written on it.
    int is_read_only;
};

/// What `statfs` says about the file system of a file; an error number, or 0.
int csluice_files_mount_of(const char *path, struct csluice_files_mount *mount);

#endif
