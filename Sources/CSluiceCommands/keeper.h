// The keeper and its commands: see keeper.c.
#ifndef CSLUICE_KEEPER_H
#define CSLUICE_KEEPER_H

#include "CSluiceCommands.h"
#include "messages.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/// The descriptor of the socket in the keeper.
#define SOCKET 3

struct kept {
    uint64_t command;
    /// The leader of the command's group, or on Linux its minder; 0 where the place is free.
    pid_t process;
    int leader_runs;
    /// The read ends of its output and errors; -1 where it has none. Else a write would end it once the other
    /// process is gone.
    int readers[CSLUICE_KEEPER_READERS];
};

struct keeper {
    const char *command;
    char **environment;
    /// Where the variables of a command begin in it.
    int inherited_count;
    int patience;
    struct kept *kept;
    int capacity;
    /// No place behind this one is taken.
    int used;
    /// The limits of descriptors that commands are to have.
    struct rlimit limits;
    /// Where `ps` finds the arguments; `NULL` where the system does not tell.
    char *title;
    size_t title_size;
};

/// Whether nobody reads news any more.
extern int csluice_socket_has_ended;

/// Sends news of a command.
void csluice_tell(uint64_t command, uint32_t news, int32_t value);

/// Starts a command, and sends whether it has started.
///
/// @param variables Texts `NAME=VALUE`, each with its NUL.
/// @param descriptors Those that the place takes over are -1 afterwards.
void csluice_start(
    struct keeper *keeper, uint64_t command, char *variables, size_t byte_count,
    int descriptors[CSLUICE_KEEPER_DESCRIPTORS]);

/// Finds the place of a command; `NULL` if it is gone.
struct kept *csluice_find(struct keeper *keeper, uint64_t command);

/// Frees a place, and closes the pipes that it has.
void csluice_drop(struct kept *kept);

/// Finds which commands have ended, and sends that.
///
/// @return Whether some end without a signal to this process, so that it has to look again.
int csluice_look(struct keeper *keeper);

/// Sends a signal to a command, with all that it has started.
void csluice_signal(const struct kept *kept, int number);

/// Leaves alone the processes that a command has left.
void csluice_leave(struct kept *kept);

void csluice_close_from(int first);

#endif
