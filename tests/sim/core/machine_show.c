/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where a process's view of a machine comes from: its environment. */

/* The lines of an environment variable. */
static int parse_variable(struct sim_machine *m, const char *name, char *message, size_t room)
{
    const char *lines = getenv(name);
    char *text = strdup(lines == NULL ? "" : lines);
    int bad = text == NULL;

    for (char *c = text; c != NULL && (c = strchr(c, ';')) != NULL;) {
        *c = '\n';
    }
    if (!bad) {
        bad = sim_machine_parse(m, name, text, message, room);
    }
    free(text);
    return bad;
}

int sim_machine_from_environment(struct sim_machine *m)
{
    const char *path = getenv("SIM_MACHINE");
    char message[256] = "out of memory";
    int bad;

    sim_machine_init(m);
    bad = parse_variable(m, "SIM_BEGIN", message, sizeof(message));
    if (path != NULL && bad == 0) {
        bad = sim_machine_load(m, path, message, sizeof(message));
    }
    if (bad == 0) {
        bad = parse_variable(m, "SIM_EXTRA", message, sizeof(message));
    }
    if (bad != 0) {
        fprintf(stderr, "sim: %s\n", message);
    }
    return bad;
}

/* Hexadecimal for "Simulated", then the kind, then the GPU's number. */
void sim_machine_uuid_bytes(const struct sim_gpu *gpu, bool of_instance, unsigned char bytes[16])
{
    memset(bytes, 0, 16);
    memcpy(bytes, "Simulated", 9);
    bytes[14] = of_instance ? (unsigned char)gpu->mig : 0;
    bytes[15] = (unsigned char)gpu->physical;
}

void sim_machine_uuid(const struct sim_gpu *gpu, bool of_instance, char *text, size_t room)
{
    unsigned char b[16];

    sim_machine_uuid_bytes(gpu, of_instance, b);
    snprintf(text, room, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             of_instance ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
             b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* The GPU that a word of CUDA_VISIBLE_DEVICES names: a number, or a UUID's beginning; -1: none. */
static int named(const struct sim_machine *m, const char *word, size_t length)
{
    int found = -1, matches = 0;
    char *end;
    long number;
    char uuid[48];

    if (length > 0 && isdigit((unsigned char)*word)) {
        number = strtol(word, &end, 10);
        return end == word + length && number < (long)m->gpu_count ? (int)number : -1;
    }
    for (int i = 0; i < (int)m->gpu_count && length > 4; i++) {
        sim_machine_uuid(&m->gpus[i], m->gpus[i].mig > 0 && *word == 'M', uuid, sizeof(uuid));
        if (strncasecmp(uuid, word, length) == 0) {
            found = i;
            matches++;
        }
    }
    return matches == 1 ? found : -1;
}

/* What the list names up to its first mistake, in its order; -1 if one is named twice. */
static int list_visible(const struct sim_machine *m, const char *list, int order[SIM_GPUS_MAX])
{
    int count = 0;

    for (const char *word = list; count < SIM_GPUS_MAX;) {
        int gpu;

        word += strspn(word, " ");
        gpu = named(m, word, strcspn(word, ", "));
        if (gpu < 0) {
            break;
        }
        for (int i = 0; i < count; i++) {
            if (order[i] == gpu) {
                return -1;
            }
        }
        order[count++] = gpu;
        word = strchr(word, ',');
        if (word == NULL) {
            break;
        }
        word++;
    }
    return count;
}

void sim_machine_show(struct sim_machine *m, const char *visible)
{
    struct sim_machine *old;
    int order[SIM_GPUS_MAX], place[SIM_GPUS_MAX], all = (int)m->gpu_count, count;

    if (visible == NULL) { /* of split GPUs, one instance */
        m->visible_count = all > 0 && m->gpus[0].mig > 0 ? 1 : all;
        return;
    }
    old = malloc(sizeof(*old));
    if (old == NULL) {
        return;
    }
    count = list_visible(m, visible, order);
    m->visible_twice = count < 0;
    count = m->visible_count = count < 0 ? 0 : count;
    for (int i = 0; i < all; i++) {
        bool is_shown = false;

        for (int k = 0; k < m->visible_count; k++) {
            is_shown |= order[k] == i;
        }
        if (!is_shown) {
            order[count++] = i;
        }
    }
    *old = *m;
    for (int i = 0; i < all; i++) {
        m->gpus[i] = old->gpus[order[i]];
        place[order[i]] = i;
        for (int k = 0; k < all; k++) {
            m->peer[i][k] = old->peer[order[i]][order[k]];
        }
    }
    for (int i = 0; i < m->fault_count; i++) {
        struct sim_fault *fault = &m->faults[i];

        if (fault->kind == FAULT_SLOW) {
            fault->from = fault->from == SIM_HOST ? SIM_HOST : place[fault->from];
            fault->to = fault->to == SIM_HOST ? SIM_HOST : place[fault->to];
        }
    }
    free(old);
}
