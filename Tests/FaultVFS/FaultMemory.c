// Memory that runs out when a test asks for it (https://www.sqlite.org/malloc.html).

#include "FaultVFS.h"

#include <sqlite3.h>
#include <stdatomic.h>

static sqlite3_mem_methods system_methods;
static atomic_int allocations;
static atomic_int failing_from;
static atomic_int failing;
static atomic_int faults;

static int fails(void) {
    int number = atomic_fetch_add(&allocations, 1);
    if (number < atomic_load(&failing_from)) return 0;
    int count = atomic_load(&failing);
    while (count > 0 && !atomic_compare_exchange_weak(&failing, &count, count - 1)) {}
    if (count == 0) return 0;
    atomic_fetch_add(&faults, 1);
    return 1;
}

static void *allocate(int size) {
    return fails() ? 0 : system_methods.xMalloc(size);
}

static void *reallocate(void *memory, int size) {
    return fails() ? 0 : system_methods.xRealloc(memory, size);
}

int fault_memory_install(void) {
    int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_methods);
    if (code != SQLITE_OK) return code;
    sqlite3_mem_methods methods = system_methods;
    methods.xMalloc = allocate;
    methods.xRealloc = reallocate;
    code = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    // Small pieces come from there too, not from a stock that each connection has.
    return code == SQLITE_OK ? sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) : code;
}

void fault_memory_fail(int behind, int count) {
    atomic_store(&failing, 0);
    atomic_store(&failing_from, atomic_load(&allocations) + behind);
    atomic_store(&failing, count);
}

int fault_memory_allocations(void) {
    return atomic_load(&allocations);
}

int fault_memory_faults(void) {
    return atomic_load(&faults);
}
