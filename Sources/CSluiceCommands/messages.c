#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "messages.h"
#include "CSluiceCommands.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(CSLUICE_KEEPER_DESCRIPTORS * sizeof(int))];
};

ssize_t csluice_receive_with_descriptors(
    int socket, void *buffer, size_t count, int descriptors[CSLUICE_KEEPER_DESCRIPTORS]) {
    union control control;
    struct iovec part = {.iov_base = buffer, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
#if defined(MSG_CMSG_CLOEXEC)
    ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
#else
    ssize_t received = recvmsg(socket, &message, 0);
#endif
    if (received <= 0) return received;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return received;
    size_t bytes = header->cmsg_len - CMSG_LEN(0);
    size_t most = CSLUICE_KEEPER_DESCRIPTORS * sizeof(int);
    memcpy(descriptors, CMSG_DATA(header), bytes < most ? bytes : most);
    for (size_t index = 0; index < CSLUICE_KEEPER_DESCRIPTORS; index++) {
        if (descriptors[index] >= 0) fcntl(descriptors[index], F_SETFD, FD_CLOEXEC);
    }
    return received;
}

static int send_all(int socket, const void *buffer, size_t count) {
    const char *bytes = buffer;
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 0;
}

int csluice_keeper_run(
    int socket, uint64_t command, const char *variables, uint32_t byte_count, int input, int output, int errors,
    int output_reader, int errors_reader) {
    if (byte_count > CSLUICE_KEEPER_LONGEST_BODY) return E2BIG;
    struct csluice_keeper_request request = {.command = command, .what = CSLUICE_KEEPER_RUN, .value = byte_count};
    union control control;
    memset(&control, 0, sizeof control);
    struct iovec part = {.iov_base = &request, .iov_len = sizeof request};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    int descriptors[CSLUICE_KEEPER_DESCRIPTORS] = {input, output, errors, output_reader, errors_reader};
    size_t descriptor_bytes = sizeof descriptors - (errors_reader < 0 ? sizeof(int) : 0);
    header->cmsg_len = CMSG_LEN(descriptor_bytes);
    message.msg_controllen = CMSG_SPACE(descriptor_bytes);
    memcpy(CMSG_DATA(header), descriptors, descriptor_bytes);
    ssize_t sent = 0;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return errno;
    int error = send_all(socket, (char *)&request + sent, sizeof request - (size_t)sent);
    return error != 0 ? error : send_all(socket, variables, byte_count);
}

static int ask(int socket, uint64_t command, uint32_t what, uint32_t value) {
    struct csluice_keeper_request request = {.command = command, .what = what, .value = value};
    return send_all(socket, &request, sizeof request);
}

int csluice_keeper_signal(int socket, uint64_t command, int signal) {
    return ask(socket, command, CSLUICE_KEEPER_SIGNAL, (uint32_t)signal);
}

int csluice_keeper_forget(int socket, uint64_t command) {
    return ask(socket, command, CSLUICE_KEEPER_FORGET, 0);
}

int csluice_keeper_receive(int socket, struct csluice_keeper_event *event) {
    char *bytes = (char *)event;
    size_t count = sizeof *event;
    while (count > 0) {
        ssize_t received = recv(socket, bytes, count, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received < 0) return -errno;
        if (received == 0) return 0;
        bytes += received;
        count -= (size_t)received;
    }
    return 1;
}

// MARK: - Files without a name

static int make_unnamed_file(void) {
#if defined(__linux__)
#if !defined(MFD_NOEXEC_SEAL)
#define MFD_NOEXEC_SEAL 0x0008U
#endif
    int memory = memfd_create("sluice-payload", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    // Kernels before 6.3 do not know that nobody wants to execute it.
    if (memory < 0 && errno == EINVAL) memory = memfd_create("sluice-payload", MFD_CLOEXEC);
    // A filter of system calls or a security module may refuse it.
    if (memory >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES)) return memory;
#endif
    const char *directory = getenv("TMPDIR");
    char path[1024];
    if (directory == NULL || directory[0] == 0 || strlen(directory) > sizeof path - 32) directory = "/tmp";
    strcpy(path, directory);
    strcat(path, "/sluice-payload-XXXXXX");
    int file = mkstemp(path);
    if (file < 0) return -1;
    unlink(path);
    fcntl(file, F_SETFD, FD_CLOEXEC);
    return file;
}

int csluice_unnamed_file(const void *bytes, size_t count) {
    int file = make_unnamed_file();
    if (file < 0) return -errno;
    const char *rest = bytes;
    while (count > 0) {
        ssize_t written = write(file, rest, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            int error = errno;
            close(file);
            return -error;
        }
        rest += written;
        count -= (size_t)written;
    }
    if (lseek(file, 0, SEEK_SET) != 0) {
        int error = errno;
        close(file);
        return -error;
    }
    return file;
}
