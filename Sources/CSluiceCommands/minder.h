// The process between the keeper and one command, on Linux: see minder.c.
#ifndef CSLUICE_MINDER_H
#define CSLUICE_MINDER_H

#include <stdint.h>
#include <sys/types.h>

#if defined(__linux__)

/// What a minder's end means to the keeper.
enum csluice_minder_end {
    /// No descendant of the command is left, or the keeper has asked it to leave them alone.
    CSLUICE_MINDER_GONE = 0,
    /// The command could not be started, and that was told.
    CSLUICE_MINDER_NOT_STARTED = 1,
};

/// Becomes the minder of a command; to be called in a process that was forked for it.
///
/// @param keeper The pid of the parent.
/// @param tell Tells news of the command.
/// @param start Starts the command, in a group of its own; returns its pid, or an error number, negated.
_Noreturn void csluice_mind(
    uint64_t command, pid_t keeper, void (*tell)(uint64_t command, uint32_t news, int32_t value),
    pid_t (*start)(void *context), void *context);

/// Has a minder send a signal to all descendants of its command, group by group.
void csluice_minder_signal(pid_t minder, int number);

/// Has a minder end, and leave alone what its command has left.
void csluice_minder_forget(pid_t minder);

/// Blocks the signals by which a minder is asked, so that none is lost or ends it; before the fork.
void csluice_minder_prepare(void);

#endif
#endif
