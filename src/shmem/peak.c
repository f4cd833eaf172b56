/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators' bus bandwidth is held against: one direction of one GPU's port. */
#include "shmem.h"

#include "bwtool/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double shmem_peak(const struct bw_session *session, const struct bw_operator *row,
                  const struct bw_shmem_request *request, const struct bw_sampling *sampling,
                  struct bw_shmem_result *result)
{
    static const struct bw_testcase put = {.name = "put",
                                           .shape = SHAPE_PAIRS,
                                           .row = MEM_DEVICE,
                                           .col = MEM_DEVICE,
                                           .flow = FLOW_TO_COL,
                                           .by = BY_SRC,
                                           .engine = ENGINE_SM,
                                           .op = OP_COPY};
    struct bw_step step = {OP_COPY, {MEM_DEVICE, 0}, {MEM_DEVICE, 1}};
    struct bw_lane_plan lane = {.engine = ENGINE_SM, .issuer = 0, .scale = 1, .step_count = 1};
    struct bw_launch launch = {.row = 0, .col = 1, .lane_count = 1};
    const struct bw_plan plan = {.tc = &put,
                                 .rows = 2,
                                 .cols = 2,
                                 .launches = &launch,
                                 .launch_count = 1,
                                 .lanes = &lane,
                                 .lane_count = 1,
                                 .steps = &step,
                                 .step_count = 1};
    const int ranks = shmem_machine_of(session, request).ranks;
    struct bw_ports ports = bw_state_ports(session->state);
    struct bw_peak peak;

    result->peak_kind[0] = result->peak_source[0] = '\0';
    if (ranks < 2 || bw_shmem_formula(row->op)->mode == SHMEM_MODE_NONE) {
        return NAN;
    }
    ports.overrides = sampling->peaks;
    ports.override_count = sampling->peak_count;
    peak = bw_peak_of(&ports, &plan, &launch, 0, 0);
    if (!(peak.nominal_gb_per_s > 0)) {
        return NAN;
    }
    snprintf(result->peak_kind, sizeof(result->peak_kind), "%s",
             strncmp(peak.source, "given", 5) == 0 ? "declared" : "nominal");
    snprintf(result->peak_source, sizeof(result->peak_source), "%s, %d x %.60s: %.120s",
             bw_link_name(peak.link), ranks, session->gpus.gpus[0].name, peak.source);
    return peak.nominal_gb_per_s;
}
