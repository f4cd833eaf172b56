/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the description of a simulated machine: taken, or refused with the line's number. */
#include "fuzz.h"

#include "machine.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_be_quiet();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sim_machine machine;
    char message[256] = "";
    char *text = fuzz_text(data, size);

    if (strstr(text, "include") == NULL) { /* no files of this machine */
        sim_machine_init(&machine);
        if (sim_machine_parse(&machine, "input", text, message, sizeof(message)) == 0) {
            MUST(machine.gpu_count >= 0 && machine.gpu_count <= SIM_GPUS_MAX);
            MUST(machine.node_count >= 1 && machine.node_count <= SIM_NODES_MAX);
            MUST(machine.fault_count >= 0 && machine.fault_count <= SIM_FAULTS_MAX);
            MUST(machine.lie_count >= 0 && machine.lie_count <= SIM_LIES_MAX);
            sim_machine_show(&machine, "1,0");
            MUST(machine.visible_count >= 0 && machine.visible_count <= SIM_GPUS_MAX);
        } else {
            MUST(strncmp(message, "input:", 6) == 0 && strlen(message) < sizeof(message));
        }
    }
    free(text);
    return 0;
}
