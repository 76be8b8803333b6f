// The keeper of commands: see CSluiceCommands.h.
//
// It is forked from a process that may have threads, and so calls what is safe behind that alone: no memory is
// allocated behind the fork. It is the parent of the commands, and on Linux of all that they leave behind: it learns
// of each end by SIGCHLD, and a pid stays a command's own until it has asked for its status.
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "CSluiceCommands.h"
#include "messages.h"
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
/// The descriptor of the socket in the keeper.
#define SOCKET 3

struct kept {
    uint64_t command;
    /// 0 where the place is free.
    pid_t group;
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

// MARK: - News

static int socket_has_ended = 0;

static void tell(uint64_t command, uint32_t news, int32_t value) {
    struct csluice_keeper_event event = {.command = command, .news = news, .value = value};
    const char *bytes = (const char *)&event;
    size_t count = sizeof event;
    while (count > 0 && !socket_has_ended) {
        ssize_t sent = send(SOCKET, bytes, count, 0);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) {
            socket_has_ended = 1;
            return;
        }
        bytes += sent;
        count -= (size_t)sent;
    }
}

// MARK: - Commands

static struct kept *find(struct keeper *keeper, uint64_t command) {
    for (int index = 0; index < keeper->used; index++) {
        struct kept *kept = &keeper->kept[index];
        if (kept->group != 0 && kept->command == command) return kept;
    }
    return NULL;
}

static struct kept *free_place(struct keeper *keeper) {
    for (int index = 0; index < keeper->used; index++) {
        if (keeper->kept[index].group == 0) return &keeper->kept[index];
    }
    return keeper->used < keeper->capacity ? &keeper->kept[keeper->used++] : NULL;
}

static void drop(struct kept *kept) {
    kept->group = 0;
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

static void start(
    struct keeper *keeper, uint64_t command, char *variables, size_t byte_count,
    int descriptors[CSLUICE_KEEPER_DESCRIPTORS]) {
    for (int index = 0; index < CSLUICE_KEEPER_STREAMS; index++) {
        if (descriptors[index] < 0) return tell(command, CSLUICE_KEEPER_FAILED, EMFILE);
    }
    struct kept *place = free_place(keeper);
    if (place == NULL) return tell(command, CSLUICE_KEEPER_FAILED, EAGAIN);
    int count = keeper->inherited_count;
    for (size_t offset = 0; offset < byte_count && count < keeper->inherited_count + CSLUICE_KEEPER_VARIABLES;) {
        keeper->environment[count++] = variables + offset;
        offset += strlen(variables + offset) + 1;
    }
    keeper->environment[count] = NULL;
    // It shares this process's memory until it has become the command, so that its error is told here.
    volatile int error = 0;
#if defined(__linux__)
    pid_t process = vfork();
#else
    pid_t process = fork();
#endif
    if (process == 0) {
        error = become(keeper, descriptors);
        _exit(127);
    }
    if (process < 0) return tell(command, CSLUICE_KEEPER_FAILED, errno);
    if (error != 0) {
        while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
        return tell(command, CSLUICE_KEEPER_FAILED, error);
    }
    // Both do it, whoever comes first: a signal to the group must not miss it.
    setpgid(process, process);
    *place = (struct kept){.command = command, .group = process, .leader_runs = 1};
    // The place has them now.
    for (int index = 0; index < CSLUICE_KEEPER_READERS; index++) {
        place->readers[index] = descriptors[CSLUICE_KEEPER_STREAMS + index];
        descriptors[CSLUICE_KEEPER_STREAMS + index] = -1;
    }
    tell(command, CSLUICE_KEEPER_STARTED, process);
}

/// Asks for the status of what has ended, and looks which groups have gone.
///
/// @return Whether a group is left whose first process has ended.
static int look(struct keeper *keeper) {
    int status = 0;
    pid_t process = 0;
    while ((process = waitpid(-1, &status, WNOHANG)) != 0) {
        if (process < 0 && errno == EINTR) continue;
        if (process < 0) break;
        for (int index = 0; index < keeper->used; index++) {
            struct kept *kept = &keeper->kept[index];
            if (kept->group != process || !kept->leader_runs) continue;
            kept->leader_runs = 0;
            tell(kept->command, CSLUICE_KEEPER_ENDED, status);
        }
    }
    int has_rest = 0;
    for (int index = 0; index < keeper->used; index++) {
        struct kept *kept = &keeper->kept[index];
        if (kept->group == 0 || kept->leader_runs) continue;
        if (kill(-kept->group, 0) != 0 && errno == ESRCH) {
            drop(kept);
            tell(kept->command, CSLUICE_KEEPER_GONE, 0);
        } else {
            has_rest = 1;
        }
    }
    while (keeper->used > 0 && keeper->kept[keeper->used - 1].group == 0) keeper->used--;
    return has_rest;
}

static void signal_all(struct keeper *keeper, int number) {
    for (int index = 0; index < keeper->used; index++) {
        if (keeper->kept[index].group != 0) kill(-keeper->kept[index].group, number);
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
        start(keeper, request.command, variables, request.value, descriptors);
        break;
    case CSLUICE_KEEPER_SIGNAL:
        kept = find(keeper, request.command);
        if (kept != NULL) {
            kill(-kept->group, (int)request.value);
            // What has been stopped would not heed it.
            kill(-kept->group, SIGCONT);
        }
        break;
    case CSLUICE_KEEPER_FORGET:
        kept = find(keeper, request.command);
        if (kept != NULL) drop(kept);
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
        for (int reader = 0; kept->group != 0 && reader < CSLUICE_KEEPER_READERS; reader++) {
            if (kept->readers[reader] < 0) continue;
            fcntl(kept->readers[reader], F_SETFL, O_NONBLOCK);
            // No more than this at a time: one that writes without end must not keep it from the others.
            for (int piece = 0; piece < 4 && read(kept->readers[reader], bytes, sizeof bytes) > 0; piece++) {}
        }
    }
}

/// Ends what is left.
static void end(struct keeper *keeper, const sigset_t *mask) {
    socket_has_ended = 1;
    signal_all(keeper, SIGTERM);
    signal_all(keeper, SIGCONT);
    long long deadline = milliseconds() + keeper->patience;
    int is_over = 0;
    look(keeper);
    while (keeper->used > 0) {
        if (milliseconds() >= deadline) is_over = 1;
        // Again and again: a group may have got new members between two looks.
        if (is_over) signal_all(keeper, SIGKILL);
        drain(keeper);
        wait_for(0, LOOK_MILLISECONDS, mask);
        look(keeper);
    }
}

static void close_from(int first) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0) == 0) return;
#endif
    long last = sysconf(_SC_OPEN_MAX);
    if (last < 0 || last > 65536) last = 65536;
    for (int descriptor = first; descriptor < last; descriptor++) close(descriptor);
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
    close_from(SOCKET + 1);
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
    struct sigaction action = {.sa_handler = notice};
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&mask);
    settle_in(keeper, socket);
    while (!socket_has_ended) {
        int has_rest = look(keeper);
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
