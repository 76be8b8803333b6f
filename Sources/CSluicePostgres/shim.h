#ifndef CSLUICE_POSTGRES_SHIM_H
#define CSLUICE_POSTGRES_SHIM_H

#include <libpq-fe.h>
#include <poll.h>

#endif
