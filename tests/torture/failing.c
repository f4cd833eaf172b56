/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Preloaded: the n-th allocation of the program fails, n being FAIL_ALLOCATION;
 * or, if FAIL_OF is the part of a library's name, of that library. The others
 * get what they ask for, as their faults are not the program's. With FAIL_SHOW
 * a line says of each where it was asked for. At the end a line says how many
 * there were, and how many bytes it had at once at most.
 */

#define SHOWN __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void __libc_free(void *memory);
extern void *__libc_memalign(size_t alignment, size_t bytes);

enum { RANGES_MAX = 16 };
static struct range {
    uintptr_t from, to;
} ranges[RANGES_MAX];
static int range_count;
static uintptr_t base;
static atomic_ulong count;
static atomic_bool has_ended;
static unsigned long failing;
static bool is_shown;
static atomic_long bytes_now, bytes_most;
static const char *library; /* NULL: the program itself */

static int note_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    const char *name = object->dlpi_name;
    const bool is_ours =
        library == NULL ? name[0] == '\0' && range_count == 0 : strstr(name, library) != NULL;

    (void)size;
    (void)unused;
    for (int i = 0; is_ours && i < object->dlpi_phnum && range_count < RANGES_MAX; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            base = object->dlpi_addr;
            ranges[range_count].from = object->dlpi_addr + part->p_vaddr;
            ranges[range_count].to = object->dlpi_addr + part->p_vaddr + part->p_memsz;
            range_count++;
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("FAIL_ALLOCATION");

    failing = number == NULL ? 0 : strtoul(number, NULL, 10);
    is_shown = getenv("FAIL_SHOW") != NULL;
    library = getenv("FAIL_OF");
    dl_iterate_phdr(note_code, NULL);
}

__attribute__((destructor)) static void end(void)
{
    fprintf(stderr, "failing: %lu allocations, at most %ld bytes: %s\n", atomic_load(&count),
            atomic_load(&bytes_most), program_invocation_short_name);
}

static bool is_ours(const void *caller)
{
    for (int i = 0; i < range_count; i++) {
        if ((uintptr_t)caller >= ranges[i].from && (uintptr_t)caller < ranges[i].to) {
            return true;
        }
    }
    return false;
}

/* Called by a program that knows that what follows is not its own; without it, none is spared. */
SHOWN void failing_end(void);
SHOWN void failing_end(void)
{
    atomic_store(&has_ended, true);
}

static bool fails(const void *caller)
{
    unsigned long number = 0;

    if (atomic_load(&has_ended) || !is_ours(caller)) {
        return false;
    }
    number = atomic_fetch_add(&count, 1) + 1;
    if (is_shown || number == failing) {
        fprintf(stderr, "failing: allocation %lu, at +0x%lx\n", number,
                (unsigned long)((uintptr_t)caller - base));
    }
    if (number != failing) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

/* What the program got, as it is given back by it, too: what a library gave it counts as less. */
static void *got(void *memory, const void *caller)
{
    if (memory != NULL && is_ours(caller)) {
        const long bytes = (long)malloc_usable_size(memory);
        const long now = atomic_fetch_add(&bytes_now, bytes) + bytes;
        long most = atomic_load(&bytes_most);

        while (now > most && !atomic_compare_exchange_weak(&bytes_most, &most, now)) {
        }
    }
    return memory;
}

static void gave(void *memory, const void *caller)
{
    if (memory != NULL && is_ours(caller)) {
        atomic_fetch_sub(&bytes_now, (long)malloc_usable_size(memory));
    }
}

#define CALLER __builtin_return_address(0)

SHOWN void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : got(__libc_malloc(bytes), CALLER);
}

SHOWN void free(void *memory)
{
    gave(memory, CALLER);
    __libc_free(memory);
}

SHOWN void *calloc(size_t number, size_t bytes)
{
    return fails(CALLER) ? NULL : got(__libc_calloc(number, bytes), CALLER);
}

SHOWN void *realloc(void *old, size_t bytes)
{
    if (fails(CALLER)) {
        return NULL;
    }
    gave(old, CALLER);
    return got(__libc_realloc(old, bytes), CALLER);
}

SHOWN void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : got(__libc_memalign(alignment, bytes), CALLER);
}

SHOWN char *strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = fails(CALLER) ? NULL : got(__libc_malloc(bytes), CALLER);

    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

SHOWN int vasprintf(char **text, const char *format, va_list arguments)
{
    va_list again;
    int length;

    *text = NULL;
    if (fails(CALLER)) {
        return -1;
    }
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0 || (*text = got(__libc_malloc((size_t)length + 1), CALLER)) == NULL) {
        return -1;
    }
    return vsnprintf(*text, (size_t)length + 1, format, arguments);
}
