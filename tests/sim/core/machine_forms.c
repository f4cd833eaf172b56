/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines that a description may have, and what each does. */

struct form;
typedef int apply_func(const struct line *at, const struct form *form);
static apply_func set_machine, set_gpus, set_nodes, set_name, set_version, set_attribute, set_peer,
    set_state, add_fault, add_lie, include;

/*
 * The lines there are: words in small letters stand as they are, those in
 * capitals are values (see `readers`), those in brackets may be left out.
 * Numbers go to consecutive doubles from `offset`.
 */
static const struct form {
    const char *words;
    apply_func *apply;
    size_t offset; /* add_fault: the kind */
} forms[] = {
    {"include TEXT", include, 0},
    {"bulk_latency SWITCH", set_machine, offsetof(struct sim_machine, bulk_latency)},
    {"driver COUNT", set_machine, offsetof(struct sim_machine, driver)},
    {"gpus COUNT", set_machine, offsetof(struct sim_machine, gpu_count)},
    {"imex SWITCH", set_machine, offsetof(struct sim_machine, imex)},
    {"driver_version TEXT", set_version, 0},
    {"fabric SWITCH", set_machine, offsetof(struct sim_machine, fabric)},
    {"peer_reason COUNT", set_machine, offsetof(struct sim_machine, peer_reason)},
    {"queue COUNT", set_machine, offsetof(struct sim_machine, queue)},
    {"lazy SIZE", set_machine, offsetof(struct sim_machine, lazy_bytes)},
    {"multicast SWITCH", set_machine, offsetof(struct sim_machine, multicast)},
    {"cross RATE [NS]", set_machine, offsetof(struct sim_machine, cross)},
    {"call NS", set_machine, offsetof(struct sim_machine, call_ns)},
    {"copy NS", set_machine, offsetof(struct sim_machine, copy_ns)},
    {"launch NS", set_machine, offsetof(struct sim_machine, launch_ns)},
    {"timer NS", set_machine, offsetof(struct sim_machine, timer_ns)},
    {"timer_tick NS", set_machine, offsetof(struct sim_machine, timer_tick_ns)},
    {"jitter PART", set_machine, offsetof(struct sim_machine, jitter)},
    {"patience MS MS", set_machine, offsetof(struct sim_machine, patience_ms)},
    {"gpu RANGE name TEXT", set_name, 0},
    {"gpu RANGE memory SIZE", set_gpus, offsetof(struct sim_gpu, memory_bytes)},
    {"gpu RANGE sm COUNT", set_gpus, offsetof(struct sim_gpu, sm_count)},
    {"gpu RANGE clock_khz COUNT", set_gpus, offsetof(struct sim_gpu, clock_khz)},
    {"gpu RANGE node COUNT", set_gpus, offsetof(struct sim_gpu, node)},
    {"gpu RANGE capability COUNT COUNT", set_gpus, offsetof(struct sim_gpu, capability)},
    {"gpu RANGE hbm RATE [NS]", set_gpus, offsetof(struct sim_gpu, hbm)},
    {"gpu RANGE host RATE RATE [NS]", set_gpus, offsetof(struct sim_gpu, host)},
    {"gpu RANGE nvlink RATE RATE [NS]", set_gpus, offsetof(struct sim_gpu, nvlink)},
    {"gpu RANGE sm_copy RATE", set_gpus, offsetof(struct sim_gpu, sm_copy)},
    {"gpu RANGE mig COUNT", set_gpus, offsetof(struct sim_gpu, mig)},
    {"gpu RANGE state TEXT COUNT [COUNT] [COUNT] [COUNT]", set_state, 0},
    {"gpu RANGE attribute COUNT COUNT", set_attribute, 0},
    {"node RANGE memory RATE [NS]", set_nodes, offsetof(struct sim_node, memory)},
    {"node RANGE cpus COUNT COUNT", set_nodes, offsetof(struct sim_node, cpus)},
    {"peer RANGE RANGE SWITCH", set_peer, 0},
    {"fail TEXT COUNT TEXT", add_fault, FAULT_FAIL},
    {"corrupt copy COUNT byte COUNT", add_fault, FAULT_CORRUPT},
    {"skip copy COUNT", add_fault, FAULT_SKIP},
    {"stray copy COUNT", add_fault, FAULT_STRAY},
    {"slow link LINK PART", add_fault, FAULT_SLOW},
    {"hang stream COUNT", add_fault, FAULT_HANG},
    {"lie TEXT COUNT TEXT", add_lie, 0},
};

/* Store the line's numbers from value `first` on. */
static void set_numbers(const struct line *at, int first, void *object, size_t offset)
{
    double *field = (double *)(void *)((char *)object + offset);

    for (int i = first; i < at->slots; i++) {
        field[i - first] = at->values[i].a;
    }
}

static int set_machine(const struct line *at, const struct form *form)
{
    set_numbers(at, 0, at->m, form->offset);
    return at->m->gpu_count >= 0 && at->m->gpu_count <= SIM_GPUS_MAX
               ? 0
               : line_wrong(at, "GPUs from 0 to %d", SIM_GPUS_MAX);
}

static int set_gpus(const struct line *at, const struct form *form)
{
    for (int i = (int)at->values[0].a; i <= (int)at->values[0].b; i++) {
        set_numbers(at, 1, &at->m->gpus[i], form->offset);
    }
    return 0;
}

static int set_nodes(const struct line *at, const struct form *form)
{
    for (int i = (int)at->values[0].a; i <= (int)at->values[0].b; i++) {
        set_numbers(at, 1, &at->m->nodes[i], form->offset);
    }
    at->m->node_count = fmax(at->m->node_count, at->values[0].b + 1);
    return 0;
}

/* All the words that are left. */
static int set_name(const struct line *at, const struct form *form)
{
    char name[64] = "";

    (void)form;
    for (int w = 3; w < at->count; w++) {
        const size_t used = strlen(name);

        snprintf(name + used, sizeof(name) - used, w > 3 ? " %s" : "%s", at->words[w]);
    }
    for (int i = (int)at->values[0].a; i <= (int)at->values[0].b; i++) {
        memcpy(at->m->gpus[i].name, name, sizeof(name));
    }
    return 0;
}

/* Another file, named from where this one is. */
static int include(const struct line *at, const struct form *form)
{
    const char *name = at->values[0].text, *slash = strrchr(at->source, '/');
    char path[512];

    (void)form;
    if (slash == NULL || *name == '/') {
        snprintf(path, sizeof(path), "%s", name);
    } else {
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - at->source), at->source, name);
    }
    return sim_machine_load(at->m, path, at->message, at->room);
}

static int set_version(const struct line *at, const struct form *form)
{
    (void)form;
    snprintf(at->m->driver_version, sizeof(at->m->driver_version), "%s", at->values[0].text);
    return 0;
}

static int set_state(const struct line *at, const struct form *form)
{
    static const char *const names[] = {
#define S(name, value) #name,
        SIM_STATES(S)
#undef S
    };
    const struct value *v = at->values;
    int s = 0;

    (void)form;
    while (s < SIM_STATE_COUNT && strcmp(names[s], v[1].text) != 0) {
        s++;
    }
    if (s == SIM_STATE_COUNT) {
        return line_wrong(at, "no state is called '%s'", v[1].text);
    }
    for (int i = (int)v[0].a; i <= (int)v[0].b; i++) {
        at->m->gpus[i].states[s] = (struct sim_state){v[2].a, v[3].a, v[3].a > 0 ? v[4].a : 0,
                                                      v[5].a > 0 ? v[5].a : INFINITY};
    }
    return 0;
}

static int set_attribute(const struct line *at, const struct form *form)
{
    (void)form;
    for (int i = (int)at->values[0].a; i <= (int)at->values[0].b; i++) {
        struct sim_gpu *gpu = &at->m->gpus[i];

        if (gpu->attribute_count == SIM_ATTRIBUTES_MAX) {
            return line_wrong(at, "more than %d attributes", SIM_ATTRIBUTES_MAX);
        }
        set_numbers(at, 1, gpu->attributes[gpu->attribute_count++], 0);
    }
    return 0;
}

static int set_peer(const struct line *at, const struct form *form)
{
    const struct value *v = at->values;

    (void)form;
    for (int i = (int)v[0].a; i <= (int)v[0].b; i++) {
        for (int j = (int)v[1].a; j <= (int)v[1].b; j++) {
            at->m->peer[i][j] = at->m->peer[j][i] = v[2].a != 0 && i != j;
        }
    }
    return 0;
}

/* 0 is each copy, then. */
static bool is_of_copies(enum sim_fault_kind kind)
{
    return kind == FAULT_CORRUPT || kind == FAULT_SKIP || kind == FAULT_STRAY;
}

static int add_fault(const struct line *at, const struct form *form)
{
    const struct value *v = at->values;
    struct sim_fault fault = {.kind = (enum sim_fault_kind)form->offset, .nth = v[0].a};

    if (fault.kind == FAULT_FAIL) {
        snprintf(fault.entry, sizeof(fault.entry), "%s", v[0].text);
        fault.nth = v[1].a;
        fault.error = sim_error_code(v[2].text);
        if (fault.error <= 0) {
            return line_wrong(at, "no error is called '%s'", v[2].text);
        }
    } else if (fault.kind == FAULT_SLOW) {
        fault.nth = 1;
        fault.from = (int)v[0].a;
        fault.to = (int)v[0].b;
        fault.factor = v[1].a;
    } else if (fault.kind == FAULT_CORRUPT) {
        fault.byte = v[1].a;
    }
    if (fault.nth < (is_of_copies(fault.kind) ? 0 : 1) || at->m->fault_count == SIM_FAULTS_MAX) {
        return line_wrong(at, "counts begin at 1, and there are at most %d faults", SIM_FAULTS_MAX);
    }
    at->m->faults[at->m->fault_count++] = fault;
    return 0;
}

static int add_lie(const struct line *at, const struct form *form)
{
    const struct value *v = at->values;
    struct sim_lie lie = {.nth = v[1].a};
    char *end;

    (void)form;
    snprintf(lie.entry, sizeof(lie.entry), "%s", v[0].text);
    lie.value = strtod(v[2].text, &end);
    if (end == v[2].text || *end != '\0') {
        return line_wrong(at, "'%s' is not a number", v[2].text);
    }
    if (at->m->lie_count == SIM_LIES_MAX) {
        return line_wrong(at, "more than %d lies", SIM_LIES_MAX);
    }
    at->m->lies[at->m->lie_count++] = lie;
    return 0;
}

/* 1 if the line has other fixed words than the form. */
static int try_form(struct line *at, const struct form *form)
{
    char copy[80], *words[WORDS_MAX] = {0}, *rest;
    int count = 0;

    memset(at->values, 0, sizeof(at->values));
    at->slots = 0;
    snprintf(copy, sizeof(copy), "%s", form->words);
    for (char *w = strtok_r(copy, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) {
        if (islower((unsigned char)*w) &&
            (count >= at->count || strcmp(w, at->words[count]) != 0)) {
            return 1;
        }
        words[count++] = w;
    }
    for (int i = 0; i < count; i++) {
        if (i >= at->count && words[i][0] != '[') {
            return line_wrong(at, "the line is '%s'", form->words);
        }
        if (!islower((unsigned char)words[i][0])) {
            if (i < at->count && line_read_value(at, words[i], at->words[i]) != 0) {
                return -1;
            }
            at->slots++;
        }
    }
    if (at->count > count && form->apply != set_name) {
        return line_wrong(at, "'%s' is more than '%s'", at->words[count], form->words);
    }
    return form->apply(at, form);
}

int line_apply(struct line *at)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        const int result = try_form(at, &forms[i]);

        if (result <= 0) {
            return result;
        }
    }
    return line_wrong(at, "no line begins '%s%s%s'", at->words[0], at->count > 2 ? " ... " : "",
                      at->count > 2 ? at->words[2] : "");
}
