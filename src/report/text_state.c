/* SPDX-License-Identifier: Apache-2.0 */
/* What -v says beside the samples, in lines like theirs: parts of peaks, and the GPUs' state. */
#include "text_matrix.h"

#include "bwtool/state.h"
#include "words.h"

#include <math.h>

static void print_peak(FILE *out, const struct bw_cell *cell)
{
    const struct bw_peak *peak = &cell->peak;
    const char *link = peak->link == LINK_NONE ? "unknown link" : bw_link_name(peak->link);

    if (!isfinite(peak->nominal_gb_per_s)) {
        fprintf(out, ": %.2f GB/s of an unknown peak (%s)\n", cell->value, link);
        return;
    }
    fprintf(out, ": %.2f GB/s is %.1f %% of %.2f", cell->value,
            100 * cell->value / peak->nominal_gb_per_s, peak->nominal_gb_per_s);
    if (isfinite(peak->bound_gb_per_s)) {
        fprintf(out, " and %.1f %% of the bound %.2f", 100 * cell->value / peak->bound_gb_per_s,
                peak->bound_gb_per_s);
    }
    fprintf(out, " (%s: ", link);
    bw_words_put(out, peak->source);
    fputs(bw_peak_is_exceeded(peak, cell->value) ? "): ABOVE IT\n" : ")\n", out);
}

void bw_text_peaks(FILE *out, const struct bw_testcase_result *result)
{
    if (result->tc == NULL || bw_testcase_is_latency(result->tc) || result->matrix_count == 0) {
        return;
    }
    for (int r = 0; r < result->matrices[0].rows; r++) {
        for (int c = 0; c < result->matrices[0].cols; c++) {
            for (int m = 0; m < result->matrix_count; m++) {
                const struct bw_matrix *matrix = &result->matrices[m];
                const struct bw_cell *cell = &matrix->cells[r * matrix->cols + c];

                if (!bw_cell_has_value(cell) || cell->peak.nominal_gb_per_s == 0) {
                    continue; /* never filled in */
                }
                fputs("\tPeak: ", out);
                bw_text_ends(out, result->tc, matrix, r, c, m == 1);
                fputs(m == 2 ? " and back" : "", out);
                print_peak(out, cell);
            }
        }
    }
}

/* NAME and "1980", "345-1980" or "unknown", with a unit behind. */
static void print_range(FILE *out, const char *name, const struct bw_gpu_record *record,
                        enum bw_nvml_value value, double scale, const char *unit)
{
    const int64_t low = record->low.of[value];
    const int64_t high = record->high.of[value];

    if (low < 0) {
        fprintf(out, "%sunknown", name);
    } else if (low == high) {
        fprintf(out, "%s%.0f%s", name, (double)low * scale, unit);
    } else {
        fprintf(out, "%s%.0f-%.0f%s", name, (double)low * scale, (double)high * scale, unit);
    }
}

static void print_throttles(FILE *out, int64_t bits)
{
    bool is_first = true;

    if (bits < 0) {
        fputs("unknown", out);
        return;
    }
    for (int i = 0; bw_state_throttle_name(i) != NULL; i++) {
        if ((bits >> i & 1) != 0) {
            fprintf(out, "%s%s", is_first ? "" : " ", bw_state_throttle_name(i));
            is_first = false;
        }
    }
    fputs(is_first ? "nothing" : "", out);
}

static void print_record(FILE *out, const struct bw_gpu_record *record, int gpu)
{
    fprintf(out, "\tState: Device %d: ", gpu);
    print_range(out, "SM ", record, NVML_sm_mhz, 1, " MHz");
    print_range(out, ", memory ", record, NVML_memory_mhz, 1, " MHz");
    print_range(out, ", ", record, NVML_temperature_c, 1, " C");
    print_range(out, ", ", record, NVML_power_mw, 1e-3, " W");
    print_range(out, ", PCIe ", record, NVML_pcie_gen, 1, ".0");
    print_range(out, " x", record, NVML_pcie_width, 1, "");
    fputs(", throttled by ", out);
    print_throttles(out, record->high.of[NVML_throttle]);
    fputc('\n', out);
}

void bw_text_state(FILE *out, const struct bw_testcase_result *result)
{
    for (int i = 0; result->records != NULL && i < result->record_count; i++) {
        print_record(out, &result->records[i], i);
    }
}
