// What the tool needs of the C library that Swift's modules of it do not hold.
#ifndef CSLUICE_TERMINAL_H
#define CSLUICE_TERMINAL_H

#include <stdint.h>

/// Columns of a terminal that a character takes: `wcwidth`, with the character set UTF-8 whatever the process's
/// locale; -1 for one that is not printed.
int cterminal_width(uint32_t character);

#endif
