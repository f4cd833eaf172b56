/* SPDX-License-Identifier: Apache-2.0 */
/* From the links that a cell's copies cross to what it could be at most. */
#include "bwtool/peak.h"

#include "peak_link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [LINK_NONE] = "",   [LINK_PCIE] = "pcie", [LINK_NVLINK] = "nvlink",
    [LINK_C2C] = "c2c", [LINK_HBM] = "hbm",   [LINK_HOST] = "host",
};

const char *bw_link_name(enum bw_link link)
{
    return names[link];
}

bool bw_peak_parse(const char *text, struct bw_peak_override *override)
{
    const char *equals = strchr(text, '=');
    char *end = NULL;

    for (int i = LINK_PCIE; equals != NULL && i <= LINK_HOST; i++) {
        const size_t length = strlen(names[i]);

        if (length != (size_t)(equals - text) || strncmp(text, names[i], length) != 0) {
            continue;
        }
        if (equals[1] < '0' || equals[1] > '9') {
            return false; /* neither signs nor "nan" */
        }
        *override = (struct bw_peak_override){.link = (enum bw_link)i};
        override->gb_per_s = strtod(equals + 1, &end);
        override->why = *end == ',' && end[1] != '\0' ? end + 1 : NULL;
        return override->gb_per_s > 0 && override->gb_per_s < 1e9 &&
               (*end == '\0' || override->why != NULL);
    }
    return false;
}

/* One lane's part in a cell: what it crosses, and where the bytes leave and arrive. */
struct crossing {
    struct bw_peak peak;
    int out, in;    /* GPU; -1: the host, which has no port of its own */
    bool is_shared; /* all of a GPU's copies go through one port     */
};

static const struct bw_port *port_of(const struct bw_ports *ports, int gpu)
{
    return gpu >= 0 && gpu < ports->count ? &ports->ports[gpu] : NULL;
}

static void cross_pair(const struct bw_ports *ports, const struct bw_testcase *tc, int issuer,
                       struct crossing *c)
{
    const struct bw_port *src = port_of(ports, c->out);
    const struct bw_port *dst = port_of(ports, c->in);

    if (src == NULL || dst == NULL) {
        return;
    }
    if (src->nvlinks < 0 || dst->nvlinks < 0) {
        return; /* it may be NVLink, and it may not */
    }
    if (src->nvlinks > 0 && dst->nvlinks > 0) {
        c->is_shared = src->has_switch;
        bw_link_nvlink(src, dst, c->in, tc->engine, &c->peak);
    }
    if (c->peak.link == LINK_NONE) {
        c->is_shared = true;
        bw_link_pcie_peers(src, dst, issuer == c->out, &c->peak);
        c->peak.group = src->path_to != NULL ? src->path_to[c->in] : 0;
    }
}

static struct crossing cross(const struct bw_ports *ports, const struct bw_plan *plan,
                             const struct bw_lane_plan *lane)
{
    const struct bw_testcase *tc = plan->tc;
    const struct bw_step *step = &plan->steps[lane->step];
    struct crossing c = {
        .peak = {.link = LINK_NONE, .nominal_gb_per_s = NAN, .bound_gb_per_s = NAN},
        .out = step->src.id,
        .in = step->dst.id};
    const struct bw_port *port = NULL;

    if (bw_testcase_is_multinode(tc)) {
        return c; /* the other ends' links are other ranks' knowledge */
    }
    if (bw_testcase_is_host(tc)) {
        c.peak.link = LINK_HOST;
        return c;
    }
    if (step->src.mem != MEM_HOST && step->dst.mem != MEM_HOST && c.out != c.in) {
        cross_pair(ports, tc, lane->issuer, &c);
        return c;
    }
    port = port_of(ports, step->src.mem == MEM_HOST ? c.in : c.out);
    if (step->src.mem != MEM_HOST && step->dst.mem != MEM_HOST) {
        bw_link_memory(port, tc->op, &c.peak);
        return c;
    }
    c.is_shared = true;
    c.out = step->src.mem == MEM_HOST ? -1 : c.out;
    c.in = step->dst.mem == MEM_HOST ? -1 : c.in;
    if (port == NULL) {
        return c;
    }
    if (port->c2c_links > 0) {
        bw_link_c2c(port, &c.peak);
    } else {
        bw_link_pcie(port, c.in >= 0, &c.peak);
    }
    return c;
}

/* The last override for the crossing's link, if there is one. */
static void apply_override(const struct bw_ports *ports, const struct bw_testcase *tc,
                           struct bw_peak *peak)
{
    for (size_t i = ports->override_count; i-- > 0;) {
        const struct bw_peak_override *given = &ports->overrides[i];
        const bool is_twofold = given->link == LINK_HBM && tc->op == OP_COPY;

        if (given->link != peak->link) {
            continue;
        }
        peak->nominal_gb_per_s = given->gb_per_s / (is_twofold ? 2 : 1);
        peak->bound_gb_per_s = NAN; /* packets of what, nobody said */
        snprintf(peak->source, sizeof(peak->source), "given by --peak%s%s%s",
                 given->why != NULL ? ": " : "", given->why != NULL ? given->why : "",
                 is_twofold ? "; " BW_LINK_TWOFOLD : "");
        return;
    }
}

static struct crossing cross_lane(const struct bw_ports *ports, const struct bw_plan *plan,
                                  size_t lane)
{
    struct crossing c = cross(ports, plan, &plan->lanes[lane]);

    if (bw_testcase_is_latency(plan->tc)) {
        c.peak.nominal_gb_per_s = c.peak.bound_gb_per_s = NAN;
        c.peak.source[0] = '\0';
    } else {
        apply_override(ports, plan->tc, &c.peak);
    }
    return c;
}

/*
 * What all lanes together may be on one side: each port counts once. The
 * lanes before have said whether `lane` brings a new port.
 */
static bool is_new_port(const struct crossing *all, size_t lane, bool is_out)
{
    const int port = is_out ? all[lane].out : all[lane].in;

    for (size_t i = 0; port >= 0 && all[lane].is_shared && i < lane; i++) {
        if (all[i].is_shared && (is_out ? all[i].out : all[i].in) == port) {
            return false;
        }
    }
    return true;
}

/* Sum over the lanes' ports, on the side where it is less. */
static struct bw_peak combine(const struct crossing *all, size_t count)
{
    struct bw_peak sum = all[0].peak;
    double nominal[2] = {0, 0};
    double bound[2] = {0, 0};
    int ports[2] = {0, 0};
    int side = 0;

    for (size_t i = 0; i < count; i++) {
        if (all[i].peak.link != sum.link) {
            sum.nominal_gb_per_s = sum.bound_gb_per_s = NAN;
            sum.link = LINK_NONE;
            sum.source[0] = '\0';
            return sum;
        }
        for (int k = 0; k < 2; k++) {
            if (is_new_port(all, i, k == 0)) {
                nominal[k] += all[i].peak.nominal_gb_per_s;
                bound[k] += all[i].peak.bound_gb_per_s;
                ports[k]++;
            }
        }
    }
    side = nominal[1] < nominal[0];
    sum.nominal_gb_per_s = nominal[side];
    sum.bound_gb_per_s = bound[side];
    if (ports[side] > 1 && sum.source[0] != '\0') {
        char one[sizeof(sum.source)];

        memcpy(one, sum.source, sizeof(one));
        snprintf(sum.source, sizeof(sum.source), "sum of %d; the first: %.200s", ports[side], one);
    }
    return sum;
}

static struct bw_peak peak_of_all(const struct bw_ports *ports, const struct bw_plan *plan,
                                  const struct bw_launch *launch)
{
    struct crossing *all = calloc(launch->lane_count, sizeof(*all));
    struct bw_peak peak = {.nominal_gb_per_s = NAN, .bound_gb_per_s = NAN};
    size_t count = 0;

    if (all == NULL) {
        return peak;
    }
    for (size_t i = 0; i < launch->lane_count; i++) {
        if (!plan->lanes[launch->lane + i].is_load) {
            all[count++] = cross_lane(ports, plan, launch->lane + i);
        }
    }
    if (count != 0) {
        peak = combine(all, count);
    }
    free(all);
    return peak;
}

struct bw_peak bw_peak_of(const struct bw_ports *ports, const struct bw_plan *plan,
                          const struct bw_launch *launch, int matrix, size_t lane)
{
    switch (bw_testcase_reduce(plan->tc)) {
    case REDUCE_FIRST:
        return cross_lane(ports, plan, launch->lane).peak;
    case REDUCE_EACH:
        if (bw_testcase_matrix_count(plan->tc) == 3) {
            return matrix == 2 ? peak_of_all(ports, plan, launch)
                               : cross_lane(ports, plan, launch->lane + (size_t)matrix).peak;
        }
        return cross_lane(ports, plan, launch->lane + lane).peak;
    case REDUCE_SUM:
    case REDUCE_TOTAL:
        break;
    }
    return peak_of_all(ports, plan, launch);
}

bool bw_peak_is_exceeded(const struct bw_peak *peak, double value)
{
    const double most =
        isfinite(peak->bound_gb_per_s) ? peak->bound_gb_per_s : peak->nominal_gb_per_s;

    return peak->link != LINK_NONE && isfinite(most) && value > most * 1.005;
}
