// Tells Thread Sanitizer of the waits of Synchronization.Mutex.
//
// On Linux a mutex that nobody holds is taken by an atomic instruction in the caller's code, which the sanitizer
// sees. One that is held is waited for and handed over by the kernel (FUTEX_LOCK_PI, FUTEX_UNLOCK_PI), in functions
// of Swift's library, which is not instrumented: the sanitizer misses that the one happens before the other, and
// calls what the mutex protects a race. These functions stand in front of Swift's, by LD_PRELOAD, and say it.
// Their names and parameters: stdlib/public/Synchronization/Mutex/LinuxImpl.swift of github.com/swiftlang/swift.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Absent in programs without the sanitizer, such as shells that tests start.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*lock_function)(uint32_t thread, SELF void *mutex);
typedef SWIFT bool (*try_lock_function)(SELF void *mutex);
typedef SWIFT void (*unlock_function)(SELF void *mutex);

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) __asm(LOCK);
SWIFT bool try_lock_slowly(SELF void *mutex) __asm(TRY_LOCK);
SWIFT void unlock_slowly(SELF void *mutex) __asm(UNLOCK);

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) {
    ((lock_function)dlsym(RTLD_NEXT, LOCK))(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT bool try_lock_slowly(SELF void *mutex) {
    bool is_locked = ((try_lock_function)dlsym(RTLD_NEXT, TRY_LOCK))(mutex);
    if (is_locked && __tsan_acquire) __tsan_acquire(mutex);
    return is_locked;
}

SWIFT void unlock_slowly(SELF void *mutex) {
    if (__tsan_release) __tsan_release(mutex);
    ((unlock_function)dlsym(RTLD_NEXT, UNLOCK))(mutex);
}
