/* SPDX-License-Identifier: Apache-2.0 */
/* In builds that count executed lines: a program that leaves at once leaves its counts, too. */
#include <dlfcn.h>
#include <gcov.h>
#include <stddef.h>
#ifdef BWTOOL_WITH_MPI
#include <mpi.h>
#endif

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
int __real_raise(int signal);
int __wrap_raise(int signal);

/* Allocations of what counts lines must not fail (tests/torture/failing.c). It writes later. */
__attribute__((destructor)) static void end(void)
{
    void (*failing_end)(void) = NULL;

    *(void **)&failing_end = dlsym(RTLD_DEFAULT, "failing_end");
    if (failing_end != NULL) {
        failing_end();
    }
}

void __wrap__exit(int status)
{
    end();
    __gcov_dump();
    __real__exit(status);
}

int __wrap_raise(int signal)
{
    __gcov_dump();
    return __real_raise(signal);
}

#ifdef BWTOOL_WITH_MPI
int __real_MPI_Abort(MPI_Comm job, int status);
int __wrap_MPI_Abort(MPI_Comm job, int status);

int __wrap_MPI_Abort(MPI_Comm job, int status)
{
    __gcov_dump();
    return __real_MPI_Abort(job, status);
}
#endif
