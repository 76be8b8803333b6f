// How the keeper starts a command, sends it signals, and learns of its end.
//
// On Linux a process minds each command (minder.c); elsewhere the keeper is the parent of the command, and its group is
// all that it knows of it.
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "keeper.h"
#include "minder.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

// MARK: - News

int csluice_socket_has_ended = 0;

void csluice_tell(uint64_t command, uint32_t news, int32_t value) {
    struct csluice_keeper_event event = {.command = command, .news = news, .value = value};
    const char *bytes = (const char *)&event;
    size_t count = sizeof event;
    while (count > 0 && !csluice_socket_has_ended) {
        ssize_t sent = send(SOCKET, bytes, count, 0);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) {
            csluice_socket_has_ended = 1;
            return;
        }
        bytes += sent;
        count -= (size_t)sent;
    }
}

// MARK: - Commands

struct kept *csluice_find(struct keeper *keeper, uint64_t command) {
    for (int index = 0; index < keeper->used; index++) {
        struct kept *kept = &keeper->kept[index];
        if (kept->process != 0 && kept->command == command) return kept;
    }
    return NULL;
}

static struct kept *free_place(struct keeper *keeper) {
    for (int index = 0; index < keeper->used; index++) {
        if (keeper->kept[index].process == 0) return &keeper->kept[index];
    }
    return keeper->used < keeper->capacity ? &keeper->kept[keeper->used++] : NULL;
}

void csluice_drop(struct kept *kept) {
    kept->process = 0;
    for (int index = 0; index < CSLUICE_KEEPER_READERS; index++) {
        if (kept->readers[index] >= 0) close(kept->readers[index]);
    }
}

/// Becomes the command; returns an error number where it cannot.
static int become(struct keeper *keeper, const int descriptors[CSLUICE_KEEPER_DESCRIPTORS]) {
    setrlimit(RLIMIT_NOFILE, &keeper->limits);
    // Its group, which a signal reaches as a whole.
    setpgid(0, 0);
#if defined(__linux__)
    // If even the keeper is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // Standard input, output and error are 0, 1 and 2.
    for (int index = 0; index < CSLUICE_KEEPER_STREAMS; index++) {
        if (dup2(descriptors[index], index) < 0) return errno;
    }
    char *const arguments[] = {"sh", "-c", (char *)keeper->command, NULL};
    execve("/bin/sh", arguments, keeper->environment);
    return errno;
}

void csluice_close_from(int first) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0) == 0) return;
#endif
    long last = sysconf(_SC_OPEN_MAX);
    if (last < 0 || last > 65536) last = 65536;
    for (int descriptor = first; descriptor < last; descriptor++) close(descriptor);
}

struct start {
    struct keeper *keeper;
    const int *descriptors;
};

/// @return The pid of the command, or an error number, negated.
static pid_t start_leader(const struct start *context) {
    // It shares this process's memory until it has become the command, so that its error is told here.
    volatile int error = 0;
#if defined(__linux__)
    pid_t process = vfork();
#else
    pid_t process = fork();
#endif
    if (process == 0) {
        error = become(context->keeper, context->descriptors);
        _exit(127);
    }
    if (process < 0) return -errno;
    if (error != 0) {
        while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
        return -error;
    }
    // Both do it, whoever comes first: a signal to the group must not miss it.
    setpgid(process, process);
    return process;
}

#if defined(__linux__)
/// Starts the command in its minder, which keeps no end of any pipe.
static pid_t start_minded(void *context) {
    pid_t process = start_leader(context);
    csluice_close_from(SOCKET + 1);
    return process;
}
#endif

void csluice_start(
    struct keeper *keeper, uint64_t command, char *variables, size_t byte_count,
    int descriptors[CSLUICE_KEEPER_DESCRIPTORS]) {
    for (int index = 0; index < CSLUICE_KEEPER_STREAMS; index++) {
        if (descriptors[index] < 0) return csluice_tell(command, CSLUICE_KEEPER_FAILED, EMFILE);
    }
    struct kept *place = free_place(keeper);
    if (place == NULL) return csluice_tell(command, CSLUICE_KEEPER_FAILED, EAGAIN);
    int count = keeper->inherited_count;
    for (size_t offset = 0; offset < byte_count && count < keeper->inherited_count + CSLUICE_KEEPER_VARIABLES;) {
        keeper->environment[count++] = variables + offset;
        offset += strlen(variables + offset) + 1;
    }
    keeper->environment[count] = NULL;
    const struct start context = {keeper, descriptors};
#if defined(__linux__)
    pid_t self = getpid();
    pid_t process = fork();
    if (process == 0) csluice_mind(command, self, csluice_tell, start_minded, (void *)&context);
    if (process < 0) return csluice_tell(command, CSLUICE_KEEPER_FAILED, errno);
#else
    pid_t process = start_leader(&context);
    if (process < 0) return csluice_tell(command, CSLUICE_KEEPER_FAILED, -process);
#endif
    *place = (struct kept){.command = command, .process = process, .leader_runs = 1};
    // The place has them now.
    for (int index = 0; index < CSLUICE_KEEPER_READERS; index++) {
        place->readers[index] = descriptors[CSLUICE_KEEPER_STREAMS + index];
        descriptors[CSLUICE_KEEPER_STREAMS + index] = -1;
    }
#if !defined(__linux__)
    csluice_tell(command, CSLUICE_KEEPER_STARTED, process);
#endif
}

#if defined(__linux__)

/// Asks for the status of the minders that have ended.
///
/// @return 0: each end is told by SIGCHLD.
int csluice_look(struct keeper *keeper) {
    int status = 0;
    pid_t process = 0;
    while ((process = waitpid(-1, &status, WNOHANG)) != 0) {
        if (process < 0 && errno == EINTR) continue;
        if (process < 0) break;
        for (int index = 0; index < keeper->used; index++) {
            struct kept *kept = &keeper->kept[index];
            if (kept->process != process) continue;
            csluice_drop(kept);
            if (WIFEXITED(status) && WEXITSTATUS(status) == CSLUICE_MINDER_NOT_STARTED) break;
            // A minder that was killed has told nothing, and the kernel has killed its command.
            if (WIFSIGNALED(status)) csluice_tell(kept->command, CSLUICE_KEEPER_ENDED, status);
            csluice_tell(kept->command, CSLUICE_KEEPER_GONE, 0);
            break;
        }
    }
    while (keeper->used > 0 && keeper->kept[keeper->used - 1].process == 0) keeper->used--;
    return 0;
}

void csluice_signal(const struct kept *kept, int number) { csluice_minder_signal(kept->process, number); }

#else

/// Asks for the status of what has ended, and looks which groups have gone.
///
/// @return Whether a group is left whose first process has ended.
int csluice_look(struct keeper *keeper) {
    int status = 0;
    pid_t process = 0;
    while ((process = waitpid(-1, &status, WNOHANG)) != 0) {
        if (process < 0 && errno == EINTR) continue;
        if (process < 0) break;
        for (int index = 0; index < keeper->used; index++) {
            struct kept *kept = &keeper->kept[index];
            if (kept->process != process || !kept->leader_runs) continue;
            kept->leader_runs = 0;
            csluice_tell(kept->command, CSLUICE_KEEPER_ENDED, status);
        }
    }
    int has_rest = 0;
    for (int index = 0; index < keeper->used; index++) {
        struct kept *kept = &keeper->kept[index];
        if (kept->process == 0 || kept->leader_runs) continue;
        if (kill(-kept->process, 0) != 0 && errno == ESRCH) {
            csluice_drop(kept);
            csluice_tell(kept->command, CSLUICE_KEEPER_GONE, 0);
        } else {
            has_rest = 1;
        }
    }
    while (keeper->used > 0 && keeper->kept[keeper->used - 1].process == 0) keeper->used--;
    return has_rest;
}

void csluice_signal(const struct kept *kept, int number) {
    kill(-kept->process, number);
    // What has been stopped would not heed it.
    kill(-kept->process, SIGCONT);
}

#endif

void csluice_leave(struct kept *kept) {
#if defined(__linux__)
    csluice_minder_forget(kept->process);
#endif
    csluice_drop(kept);
}
