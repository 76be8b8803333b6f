// What goes over the socket between a process and the keeper of its commands.
#ifndef CSLUICE_MESSAGES_H
#define CSLUICE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum csluice_keeper_what { CSLUICE_KEEPER_RUN = 1, CSLUICE_KEEPER_SIGNAL = 2, CSLUICE_KEEPER_FORGET = 3 };

/// The names of a queue and a kind have 767 bytes at most, and the rest is short.
#define CSLUICE_KEEPER_LONGEST_BODY 8192

struct csluice_keeper_request {
    uint64_t command;
    /// One of csluice_keeper_what.
    uint32_t what;
    /// The bytes that follow, with the descriptors; or the number of a signal.
    uint32_t value;
};

/// Standard input, output and error of a command.
#define CSLUICE_KEEPER_STREAMS 3
/// The other ends of its output and errors, as far as it has them.
#define CSLUICE_KEEPER_READERS 2
#define CSLUICE_KEEPER_DESCRIPTORS (CSLUICE_KEEPER_STREAMS + CSLUICE_KEEPER_READERS)

/// Receives bytes, and the descriptors that come with the first of them, which no program started later inherits.
ssize_t csluice_receive_with_descriptors(
    int socket, void *buffer, size_t count, int descriptors[CSLUICE_KEEPER_DESCRIPTORS]);

#endif
