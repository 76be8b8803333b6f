// The keeper of commands: see CSluiceCommands.h.
//
// It is forked from a process that may have threads, and so calls what is safe behind that alone: no memory is
// allocated behind the fork. It is the parent of the commands, or on Linux of the process that minds each (minder.c):
// it learns of each end by SIGCHLD, and a pid stays a command's own until it has asked for its status.
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

extern char **environ;

/// How often a group is looked at that ends unseen: not all of it need be children of the keeper's.
#define LOOK_MILLISECONDS 10

static void signal_all(struct keeper *keeper, int number) {
    for (int index = 0; index < keeper->used; index++) {
        if (keeper->kept[index].process != 0) csluice_signal(&keeper->kept[index], number);
    }
}

// MARK: - Requests

static int receive_all(void *buffer, size_t count) {
    char *bytes = buffer;
    while (count > 0) {
        ssize_t received = recv(SOCKET, bytes, count, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return 0;
        bytes += received;
        count -= (size_t)received;
    }
    return 1;
}

/// @return Whether the other side is still there.
static int serve(struct keeper *keeper) {
    static char variables[CSLUICE_KEEPER_LONGEST_BODY];
    struct csluice_keeper_request request;
    int descriptors[CSLUICE_KEEPER_DESCRIPTORS];
    for (int index = 0; index < CSLUICE_KEEPER_DESCRIPTORS; index++) descriptors[index] = -1;
    ssize_t received = csluice_receive_with_descriptors(SOCKET, &request, sizeof request, descriptors);
    if (received < 0 && errno == EINTR) return 1;
    if (received <= 0) return 0;
    if (!receive_all((char *)&request + received, sizeof request - (size_t)received)) return 0;
    struct kept *kept = NULL;
    switch (request.what) {
    case CSLUICE_KEEPER_RUN:
        if (request.value > sizeof variables || !receive_all(variables, request.value)) return 0;
        csluice_start(keeper, request.command, variables, request.value, descriptors);
        break;
    case CSLUICE_KEEPER_SIGNAL:
        kept = csluice_find(keeper, request.command);
        if (kept != NULL) csluice_signal(kept, (int)request.value);
        break;
    case CSLUICE_KEEPER_FORGET:
        kept = csluice_find(keeper, request.command);
        if (kept == NULL) break;
        csluice_leave(kept);
        break;
    }
    for (int index = 0; index < CSLUICE_KEEPER_DESCRIPTORS; index++) {
        if (descriptors[index] >= 0) close(descriptors[index]);
    }
    return 1;
}

// MARK: - The process

static void notice(int number) { (void)number; }

static long long milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// Waits for a request, the end of a child, or a moment.
///
/// @return Whether there is a request.
static int wait_for(int listens, int milliseconds, const sigset_t *mask) {
    fd_set set;
    FD_ZERO(&set);
    if (listens) FD_SET(SOCKET, &set);
    struct timespec time = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000L};
    int count = pselect(SOCKET + 1, &set, NULL, NULL, milliseconds < 0 ? NULL : &time, mask);
    return count > 0 && FD_ISSET(SOCKET, &set);
}

/// Reads what commands write, for nobody, so that none of them waits for a reader.
static void drain(struct keeper *keeper) {
    static char bytes[65536];
    for (int index = 0; index < keeper->used; index++) {
        struct kept *kept = &keeper->kept[index];
        for (int reader = 0; kept->process != 0 && reader < CSLUICE_KEEPER_READERS; reader++) {
            if (kept->readers[reader] < 0) continue;
            fcntl(kept->readers[reader], F_SETFL, O_NONBLOCK);
            // No more than this at a time: one that writes without end must not keep it from the others.
            for (int piece = 0; piece < 4 && read(kept->readers[reader], bytes, sizeof bytes) > 0; piece++) {}
        }
    }
}

/// Ends what is left.
static void end(struct keeper *keeper, const sigset_t *mask) {
    csluice_socket_has_ended = 1;
    signal_all(keeper, SIGTERM);
    long long deadline = milliseconds() + keeper->patience;
    int is_over = 0;
    csluice_look(keeper);
    while (keeper->used > 0) {
        if (milliseconds() >= deadline) is_over = 1;
        // Again and again: a group may have got new members between two looks.
        if (is_over) signal_all(keeper, SIGKILL);
        drain(keeper);
        wait_for(0, LOOK_MILLISECONDS, mask);
        csluice_look(keeper);
    }
}

/// Takes no part in what concerns the process that it was forked from.
static void settle_in(struct keeper *keeper, int socket) {
    setsid();
    for (int number = 1; number < NSIG; number++) {
        switch (number) {
        case SIGHUP: case SIGINT: case SIGQUIT: case SIGTERM: case SIGPIPE: case SIGALRM: case SIGUSR1: case SIGUSR2:
        case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGXFSZ: case SIGXCPU: signal(number, SIG_IGN); break;
        default: break;
        }
    }
    if (socket != SOCKET) dup2(socket, SOCKET);
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    csluice_close_from(SOCKET + 1);
    // Room for the read ends of all commands.
    getrlimit(RLIMIT_NOFILE, &keeper->limits);
    struct rlimit limits = keeper->limits;
    rlim_t wanted = (rlim_t)(keeper->capacity + 8) * CSLUICE_KEEPER_DESCRIPTORS;
    if (limits.rlim_cur < wanted) limits.rlim_cur = wanted < limits.rlim_max ? wanted : limits.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limits);
    // Whoever reads what the process writes must not wait for this one.
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        if (nothing > SOCKET) close(nothing);
    }
    if (keeper->title != NULL) {
        memset(keeper->title, 0, keeper->title_size);
        strncpy(keeper->title, "command-keeper", keeper->title_size - 1);
    }
#if defined(__linux__)
    // Who kills all of a name kills the other.
    prctl(PR_SET_NAME, "command-keeper");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
}

static void keep(struct keeper *keeper, int socket) {
    sigset_t children, mask;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_SETMASK, &children, NULL);
#if defined(__linux__)
    csluice_minder_prepare();
#endif
    struct sigaction action = {.sa_handler = notice};
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&mask);
    settle_in(keeper, socket);
    while (!csluice_socket_has_ended) {
        int has_rest = csluice_look(keeper);
        if (wait_for(1, has_rest ? LOOK_MILLISECONDS : -1, &mask) && !serve(keeper)) break;
    }
    end(keeper, &mask);
    _exit(0);
}

/// The environment without the variables that each command gets anew, and with room for those.
static char **inherited_environment(const char *const names[CSLUICE_KEEPER_VARIABLES], int *count) {
    int all = 0;
    while (environ != NULL && environ[all] != NULL) all++;
    char **copy = calloc((size_t)all + CSLUICE_KEEPER_VARIABLES + 1, sizeof *copy);
    if (copy == NULL) return NULL;
    *count = 0;
    for (int index = 0; index < all; index++) {
        int is_ours = 0;
        for (int name = 0; name < CSLUICE_KEEPER_VARIABLES; name++) {
            size_t length = strlen(names[name]);
            is_ours |= strncmp(environ[index], names[name], length) == 0 && environ[index][length] == '=';
        }
        if (!is_ours) copy[(*count)++] = environ[index];
    }
    return copy;
}

/// Finds where the arguments of this process stand, which `ps` shows.
static void find_title(struct keeper *keeper) {
#if defined(__linux__)
    char text[4096];
    FILE *file = fopen("/proc/self/stat", "r");
    if (file == NULL) return;
    size_t count = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[count] = 0;
    // The name, in parentheses, may hold anything; the two are the 48th and 49th field (proc(5)).
    char *field = strrchr(text, ')');
    for (int number = 2; field != NULL && number < 48; number++) {
        field = strchr(field + 1, ' ');
    }
    unsigned long first = 0, last = 0;
    if (field == NULL || sscanf(field, " %lu %lu", &first, &last) != 2 || last < first + 16) return;
    keeper->title = (char *)first;
    keeper->title_size = last - first;
#else
    (void)keeper;
#endif
}

int csluice_keeper_start(
    const char *command, const char *const names[CSLUICE_KEEPER_VARIABLES], int capacity, int patience,
    pid_t *process, int *socket) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    struct keeper keeper = {.command = command, .capacity = capacity, .patience = patience};
    keeper.environment = inherited_environment(names, &keeper.inherited_count);
    keeper.kept = calloc((size_t)capacity, sizeof *keeper.kept);
    int error = keeper.environment == NULL || keeper.kept == NULL ? ENOMEM : 0;
    if (error == 0) {
        find_title(&keeper);
        *process = fork();
        if (*process == 0) keep(&keeper, ends[1]);
        if (*process < 0) error = errno;
    }
    free(keeper.environment);
    free(keeper.kept);
    close(ends[1]);
    if (error == 0) *socket = ends[0]; else close(ends[0]);
    return error;
}
