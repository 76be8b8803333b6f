// Commands that must not outlive whoever runs them: a small process starts them, and ends them if need be.
#ifndef CSLUICE_COMMANDS_H
#define CSLUICE_COMMANDS_H

#include <stdint.h>
#include <sys/types.h>

/// What the keeper tells about a command.
enum csluice_keeper_news {
    /// It has started; the value is its pid, which is its process group's too.
    CSLUICE_KEEPER_STARTED = 1,
    /// It could not be started; the value is an error number.
    CSLUICE_KEEPER_FAILED = 2,
    /// Its first process has ended; the value is the status of waitpid(2).
    CSLUICE_KEEPER_ENDED = 3,
    /// Nothing of its process group is left.
    CSLUICE_KEEPER_GONE = 4,
};

struct csluice_keeper_event {
    uint64_t command;
    /// One of csluice_keeper_news.
    uint32_t news;
    int32_t value;
};

/// The names of the variables that csluice_keeper_run gives anew, and that no command inherits.
#define CSLUICE_KEEPER_VARIABLES 5

/// Forks a process that starts commands and is the parent of all that they start.
///
/// It ignores the signals that end others, has a session of its own, and ends with the other end of its socket:
/// when the process that has it is gone, it sends SIGTERM to the groups of commands that are left, SIGKILL when
/// `patience` milliseconds have passed, and ends when nothing of them is left.
///
/// To be called while the limits and the signals of the process are still those that commands are to have.
///
/// @param command What `/bin/sh -c` runs.
/// @param names The variables of csluice_keeper_run.
/// @param capacity The most commands at a time.
/// @return 0 or an error number.
int csluice_keeper_start(
    const char *command, const char *const names[CSLUICE_KEEPER_VARIABLES], int capacity, int patience,
    pid_t *process, int *socket);

/// Asks for a command; news of it follow.
///
/// @param variables CSLUICE_KEEPER_VARIABLES texts `NAME=VALUE`, each with its NUL.
/// @param errors Its standard error.
/// @param output_reader The other end of `output`; the keeper has it too until the command is gone or forgotten,
///     and reads what is written when this process is gone.
/// @param errors_reader The same for `errors`; -1 if there is none.
/// @return 0 or an error number.
int csluice_keeper_run(
    int socket, uint64_t command, const char *variables, uint32_t byte_count, int input, int output, int errors,
    int output_reader, int errors_reader);

/// Sends a signal to the process group of a command, unless it is gone.
int csluice_keeper_signal(int socket, uint64_t command, int signal);

/// Leaves alone what is left of a command whose first process has ended.
int csluice_keeper_forget(int socket, uint64_t command);

/// Waits for the next news.
///
/// @return 1; 0 when the keeper has gone; or an error number, negated.
int csluice_keeper_receive(int socket, struct csluice_keeper_event *event);

/// Makes a file without a name that holds the bytes, to be read from the first on.
///
/// @return Its descriptor, or an error number, negated.
int csluice_unnamed_file(const void *bytes, size_t count);

#endif
