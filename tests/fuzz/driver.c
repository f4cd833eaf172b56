/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzzer without libFuzzer: first every file of a corpus, then files of
 * it changed at random, for so many seconds. The same seed gives the same
 * inputs. An input that ends the program is left in the file "crash".
 *
 *   [FUZZ_SEED=N] fuzz_NAME SECONDS CORPUS_FOLDER...
 */
#include "fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FILES_MAX = 256, BYTES_MAX = 4096 };

static struct input {
    uint8_t data[BYTES_MAX];
    size_t size;
} files[FILES_MAX], now;
static size_t file_count;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below == 0 ? 0 : (state * 0x2545F4914F6CDD1DULL >> 33) % below;
}

static void read_corpus(const char *folder)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char path[1024];
        struct stat about;
        FILE *file = NULL;

        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        if (stat(path, &about) == 0 && S_ISREG(about.st_mode) && file_count < FILES_MAX &&
            (file = fopen(path, "rb")) != NULL) {
            files[file_count].size = fread(files[file_count].data, 1, BYTES_MAX, file);
            file_count++;
            fclose(file);
        }
        free(names[i]);
    }
    free(names);
}

/* The last words of a program that was ended. */
static void on_crash(int number)
{
    FILE *file = fopen("crash", "wb");

    if (file != NULL) {
        fwrite(now.data, 1, now.size, file);
        fclose(file);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void splice(void)
{
    const struct input *other = &files[draw(file_count)];
    const size_t from = draw(other->size + 1);
    const size_t keep = draw(now.size + 1);
    size_t bytes = draw(other->size - from + 1);

    bytes = bytes > BYTES_MAX - keep ? BYTES_MAX - keep : bytes;
    memcpy(now.data + keep, other->data + from, bytes);
    now.size = keep + bytes;
}

static void insert(void)
{
    static const char usual[] = "0123456789-.:,\n KMGT";
    const size_t at = draw(now.size + 1);

    if (now.size < BYTES_MAX) {
        memmove(now.data + at + 1, now.data + at, now.size - at);
        now.data[at] = draw(4) == 0 ? (uint8_t)draw(256) : (uint8_t)usual[draw(sizeof(usual) - 1)];
        now.size++;
    }
}

static void drop(void)
{
    const size_t at = draw(now.size);
    const size_t bytes = now.size == 0 ? 0 : 1 + draw(now.size - at < 8 ? now.size - at : 8);

    if (bytes > 0 && bytes <= now.size - at) {
        memmove(now.data + at, now.data + at + bytes, now.size - at - bytes);
        now.size -= bytes;
    }
}

static void change(void)
{
    for (uint64_t times = 1 + draw(6); times > 0; times--) {
        switch (draw(5)) {
        case 0:
            splice();
            break;
        case 1:
        case 2:
            insert();
            break;
        case 3:
            drop();
            break;
        default:
            if (now.size > 0) {
                now.data[draw(now.size)] = (uint8_t)draw(256);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 10;
    const int fatal[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL};
    const char *seed = getenv("FUZZ_SEED");
    const time_t begin = time(NULL);
    unsigned long count = 0;

    state = seed != NULL ? strtoull(seed, NULL, 10) | 1 : 0x9E3779B97F4A7C15ULL;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 2; i < argc; i++) {
        read_corpus(argv[i]);
    }
    if (file_count == 0) {
        printf("not ok no corpus\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        signal(fatal[i], on_crash);
    }
    for (size_t i = 0; i < file_count; i++, count++) {
        now = files[i];
        LLVMFuzzerTestOneInput(now.data, now.size);
    }
    while (difftime(time(NULL), begin) < seconds) {
        for (int i = 0; i < 64; i++, count++) {
            if (i % 8 == 0) {
                now = files[draw(file_count)];
            }
            change();
            LLVMFuzzerTestOneInput(now.data, now.size);
        }
    }
    printf("ok %lu inputs from a corpus of %zu\n", count, file_count);
    return 0;
}
