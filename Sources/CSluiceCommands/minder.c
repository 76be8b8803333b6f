// A process between the keeper and one command, on Linux.
//
// It is a subreaper (prctl(2)): whatever a command starts, in whichever group or session, is its descendant, and when
// it has no child left (`ECHILD`), nothing of the command is left. So `timeout`, `setsid` and a shell's job control,
// which leave the command's group, hide nothing from it. It finds whom to signal by the parents in /proc.
//
// It is forked from the keeper, and allocates no memory.
#define _GNU_SOURCE
#include "minder.h"

#if defined(__linux__)
#include "CSluiceCommands.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// Asks for a signal to the descendants; the value is its number, 0 to leave them alone.
#define REQUEST (SIGRTMIN + 1)
/// The keeper was killed.
#define KEEPER_GONE (SIGRTMIN + 2)
/// How often descendants are killed again that were started meanwhile.
#define AGAIN_NANOSECONDS 10000000L
/// The most processes of the machine that are looked at.
#define MOST_PROCESSES 32768

struct process {
    pid_t pid, parent, group;
};

static struct process processes[MOST_PROCESSES];
static struct process *descendants[MOST_PROCESSES];

// MARK: - The processes of the machine

/// Reads a number in decimal, and moves on behind it.
static pid_t number_at(const char **text) {
    pid_t number = 0;
    while (**text == ' ') (*text)++;
    while (**text >= '0' && **text <= '9') number = number * 10 + (*(*text)++ - '0');
    return number;
}

/// @return Whether the process is there.
static int read_process(int folder, const char *name, struct process *process) {
    char path[32], text[512];
    size_t length = strlen(name);
    if (length + sizeof "/stat" > sizeof path) return 0;
    memcpy(path, name, length);
    memcpy(path + length, "/stat", sizeof "/stat");
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return 0;
    text[count] = 0;
    // The name, in parentheses, may hold anything; state, parent and group follow (proc(5)).
    const char *rest = strrchr(text, ')');
    if (rest == NULL || rest[1] == 0 || rest[2] == 0 || rest[2] == 'Z') return 0;
    rest += 3;
    process->pid = number_at(&name);
    process->parent = number_at(&rest);
    process->group = number_at(&rest);
    return 1;
}

struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static int read_processes(void) {
    static char entries[32768] __attribute__((aligned(8)));
    int count = 0;
    int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return 0;
    long size = 0;
    while ((size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long offset = 0; offset < size && count < MOST_PROCESSES;) {
            const struct entry *entry = (const struct entry *)(entries + offset);
            offset += entry->length;
            if (entry->name[0] < '1' || entry->name[0] > '9') continue;
            count += read_process(folder, entry->name, &processes[count]);
        }
    }
    close(folder);
    return count;
}

/// Finds the descendants of this process among those that were read.
///
/// @return How many there are in `descendants`.
static int find_descendants(int count) {
    int found = 0;
    for (int next = -1; next < found; next++) {
        pid_t parent = next < 0 ? getpid() : descendants[next]->pid;
        for (int index = 0; index < count; index++) {
            if (processes[index].parent == parent && found < MOST_PROCESSES) descendants[found++] = &processes[index];
        }
    }
    return found;
}

/// Sends a signal to all descendants, group by group, and lets those go on that have been stopped.
static void signal_descendants(pid_t leader, int number) {
    // What /proc does not show, where it is not mounted.
    kill(-leader, number);
    int count = find_descendants(read_processes());
    for (int index = 0; index < count; index++) {
        struct process *process = descendants[index];
        if (process->group == leader) continue;
        // One that has joined the group of the keeper must not have that one told.
        pid_t target = process->group == getpgrp() ? process->pid : -process->group;
        int is_told = 0;
        for (int before = 0; before < index && !is_told && target < 0; before++) {
            is_told = descendants[before]->group == process->group;
        }
        if (is_told) continue;
        kill(target, number);
        kill(target, SIGCONT);
    }
    kill(-leader, SIGCONT);
}

// MARK: - The process

static void requests(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, REQUEST);
    sigaddset(set, KEEPER_GONE);
}

void csluice_minder_prepare(void) {
    sigset_t set;
    requests(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

void csluice_minder_signal(pid_t minder, int number) {
    sigqueue(minder, REQUEST, (union sigval){.sival_int = number});
}

void csluice_minder_forget(pid_t minder) { csluice_minder_signal(minder, 0); }

/// Asks for the status of what has ended; ends this process when nothing is left.
static void reap(uint64_t command, pid_t leader, void (*tell)(uint64_t, uint32_t, int32_t)) {
    int status = 0;
    pid_t process = 0;
    while ((process = waitpid(-1, &status, WNOHANG)) != 0) {
        if (process < 0 && errno == EINTR) continue;
        if (process < 0) _exit(CSLUICE_MINDER_GONE);
        if (process == leader) tell(command, CSLUICE_KEEPER_ENDED, status);
    }
}

void csluice_mind(
    uint64_t command, pid_t keeper, void (*tell)(uint64_t, uint32_t, int32_t), pid_t (*start)(void *),
    void *context) {
    prctl(PR_SET_NAME, "command-minder");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, KEEPER_GONE);
    int is_killing = getppid() != keeper;
    pid_t leader = start(context);
    if (leader < 0) {
        tell(command, CSLUICE_KEEPER_FAILED, -leader);
        _exit(CSLUICE_MINDER_NOT_STARTED);
    }
    tell(command, CSLUICE_KEEPER_STARTED, leader);
    sigset_t set;
    requests(&set);
    const struct timespec again = {.tv_nsec = AGAIN_NANOSECONDS};
    while (1) {
        reap(command, leader, tell);
        // What is started between two looks is killed by the next.
        if (is_killing) signal_descendants(leader, SIGKILL);
        siginfo_t request;
        int number = sigtimedwait(&set, &request, is_killing ? &again : NULL);
        if (number == KEEPER_GONE) is_killing = 1;
        if (number != REQUEST) continue;
        if (request.si_value.sival_int == 0) _exit(CSLUICE_MINDER_GONE);
        if (request.si_value.sival_int == SIGKILL) is_killing = 1;
        signal_descendants(leader, request.si_value.sival_int);
    }
}

#else
typedef int csluice_minder_is_for_linux;
#endif
