/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Preloaded: the n-th allocation of the program fails, n being FAIL_ALLOCATION;
 * or, if FAIL_OF is a part of a library's name, of that library. The others
 * get what they ask for, as their faults are not the program's. With FAIL_SHOW
 * a line says of each where it was asked for. At the end a line says how many
 * there were, and how many bytes it had at once at most; and of each that was
 * not given back, by whomever, a line where it was asked for. Before a
 * sanitizer's allocator it stands as well as before the C library's.
 */

#define SHOWN __attribute__((visibility("default")))

enum { RANGES_MAX = 16, BLOCKS = 1 << 16, PART = 1 << 8, LINES_MAX = 8 };

/* The code whose allocations are followed: the program's, and the library's if one has to fail. */
static struct range {
    uintptr_t from, to, base;
    bool is_library;
} ranges[RANGES_MAX];
static int range_count;
static const char *library; /* NULL: it is the program whose allocations fail */
static atomic_ulong count;
static atomic_bool has_ended;
static unsigned long failing;
static bool is_shown;

/* What is not given back yet, found by its address. A place that was used is used again. */
struct block {
    uintptr_t at;
    const void *caller; /* NULL: given back */
    size_t bytes;
};
static struct block *blocks;                   /* mapped, where no sanitizer looks for pointers */
static atomic_flag is_held = ATOMIC_FLAG_INIT; /* a sanitizer replaces mutexes, too */
static size_t blocks_now, bytes_now, bytes_most;
static size_t kept[BLOCKS / PART]; /* of each part of `blocks`, so that few are looked at */

/* The allocator behind this one. */
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void (*next_free)(void *);

static void find_next(void)
{
    if (next_free == NULL) {
        blocks = mmap(NULL, BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
        *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
        *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
        *(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
        *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    }
}

static int note_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    const char *name = object->dlpi_name;
    const bool is_program = name[0] == '\0' && range_count == 0;
    const bool is_library = library != NULL && strstr(name, library) != NULL;

    (void)size;
    (void)unused;
    for (int i = 0; i < object->dlpi_phnum && range_count < RANGES_MAX; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if ((is_program || is_library) && part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            ranges[range_count++] = (struct range){
                .from = object->dlpi_addr + part->p_vaddr,
                .to = object->dlpi_addr + part->p_vaddr + part->p_memsz,
                .base = object->dlpi_addr,
                .is_library = is_library,
            };
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("FAIL_ALLOCATION");

    find_next();
    failing = number == NULL ? 0 : strtoul(number, NULL, 10);
    is_shown = getenv("FAIL_SHOW") != NULL;
    library = getenv("FAIL_OF");
    library = library == NULL || library[0] == '\0' ? NULL : library;
    dl_iterate_phdr(note_code, NULL);
}

/* NULL: of nobody whose allocations are followed. */
static const struct range *range_of(const void *caller)
{
    for (int i = 0; i < range_count; i++) {
        if ((uintptr_t)caller >= ranges[i].from && (uintptr_t)caller < ranges[i].to) {
            return &ranges[i];
        }
    }
    return NULL;
}

static void show_left(void)
{
    size_t lines = 0;

    for (size_t i = 0; i < BLOCKS && lines < LINES_MAX; i++) {
        if (kept[i / PART] == 0) {
            i += PART - 1;
        } else if (blocks[i].caller != NULL) {
            const struct range *range = range_of(blocks[i].caller);

            fprintf(stderr, "failing: not given back, %s, at +0x%lx: %zu bytes\n",
                    range->is_library ? library : "the program",
                    (unsigned long)((uintptr_t)blocks[i].caller - range->base), blocks[i].bytes);
            lines++;
        }
    }
}

__attribute__((destructor)) static void end(void)
{
    fprintf(stderr, "failing: %lu allocations, at most %zu bytes: %s\n", atomic_load(&count),
            bytes_most, program_invocation_short_name);
    show_left();
}

/* Called by a program that knows that what follows is not its own; without it, none is spared. */
SHOWN void failing_end(void);
SHOWN void failing_end(void)
{
    atomic_store(&has_ended, true);
}

static bool fails(const void *caller)
{
    const struct range *range = range_of(caller);
    unsigned long number = 0;

    if (atomic_load(&has_ended) || range == NULL || range->is_library != (library != NULL)) {
        return false;
    }
    number = atomic_fetch_add(&count, 1) + 1;
    if (is_shown || number == failing) {
        fprintf(stderr, "failing: allocation %lu, at +0x%lx\n", number,
                (unsigned long)((uintptr_t)caller - range->base));
    }
    if (number != failing) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

static void hold(void)
{
    while (atomic_flag_test_and_set(&is_held)) {
        sched_yield();
    }
}

static struct block *first_place(const void *memory)
{
    return &blocks[((uintptr_t)memory >> 4) % BLOCKS]; /* neighbours share a page of it */
}

static struct block *next_place(struct block *block)
{
    return block == &blocks[BLOCKS - 1] ? blocks : block + 1;
}

static void *got(void *memory, size_t bytes, const void *caller)
{
    struct block *block = first_place(memory);

    if (memory == NULL || atomic_load(&has_ended) || range_of(caller) == NULL) {
        return memory;
    }
    hold();
    if (blocks_now == BLOCKS - 1) {
        abort(); /* one has to be free, where looking for a block ends */
    }
    while (block->caller != NULL) {
        block = next_place(block);
    }
    *block = (struct block){.at = (uintptr_t)memory, .caller = caller, .bytes = bytes};
    kept[(size_t)(block - blocks) / PART]++;
    blocks_now++;
    bytes_now += bytes;
    bytes_most = bytes_now > bytes_most ? bytes_now : bytes_most;
    atomic_flag_clear(&is_held);
    return memory;
}

/* What it was, to be noted again should it stay. */
static struct block gave(const void *memory)
{
    struct block *block = first_place(memory);
    struct block was = {0};

    hold();
    while (block->at != 0 && (block->at != (uintptr_t)memory || block->caller == NULL)) {
        block = next_place(block);
    }
    was = *block;
    if (block->at != 0) {
        kept[(size_t)(block - blocks) / PART]--;
        blocks_now--;
        bytes_now -= block->bytes;
        block->caller = NULL;
        if (next_place(block)->at == 0) {
            block->at = 0; /* or the table would fill with what is over */
        }
    }
    atomic_flag_clear(&is_held);
    return was;
}

#define CALLER __builtin_return_address(0)

/* Others are passed on by a jump: a sanitizer looks who called, and knows the dynamic linker. */
static bool is_followed(const void *caller)
{
    find_next();
    return range_of(caller) != NULL;
}

SHOWN void *malloc(size_t bytes)
{
    if (!is_followed(CALLER)) {
        return next_malloc(bytes);
    }
    return fails(CALLER) ? NULL : got(next_malloc(bytes), bytes, CALLER);
}

SHOWN void free(void *memory)
{
    find_next();
    (void)gave(memory);
    next_free(memory);
}

SHOWN void *calloc(size_t number, size_t bytes)
{
    if (!is_followed(CALLER)) {
        return next_calloc(number, bytes);
    }
    return fails(CALLER) ? NULL : got(next_calloc(number, bytes), number * bytes, CALLER);
}

SHOWN void *realloc(void *old, size_t bytes)
{
    struct block was = {0};
    void *memory = NULL;

    find_next();
    if (fails(CALLER)) {
        return NULL;
    }
    was = gave(old);
    memory = next_realloc(old, bytes);
    if (memory == NULL && bytes > 0) {
        (void)got(old, was.bytes, was.caller);
        return NULL;
    }
    return got(memory, bytes, CALLER);
}

SHOWN void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (!is_followed(CALLER)) {
        return next_aligned_alloc(alignment, bytes);
    }
    return fails(CALLER) ? NULL : got(next_aligned_alloc(alignment, bytes), bytes, CALLER);
}

SHOWN char *strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = NULL;

    find_next();
    if (fails(CALLER)) {
        return NULL;
    }
    copy = got(next_malloc(bytes), bytes, CALLER);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

SHOWN int vasprintf(char **text, const char *format, va_list arguments)
{
    va_list again;
    int length;

    find_next();
    *text = NULL;
    if (fails(CALLER)) {
        return -1;
    }
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0 ||
        (*text = got(next_malloc((size_t)length + 1), (size_t)length + 1, CALLER)) == NULL) {
        return -1;
    }
    return vsnprintf(*text, (size_t)length + 1, format, arguments);
}
