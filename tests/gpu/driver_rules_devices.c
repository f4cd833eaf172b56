/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which devices there are, by CUDA_VISIBLE_DEVICES: each in a process of its own. */

/* Devices that cuInit and cuDeviceGetCount show; -1 and a note if the error is another one. */
static int count_devices(struct answer *a)
{
    const CUresult res = cu.Init(0);
    int count = 0;

    if (res == CUDA_ERROR_NO_DEVICE) {
        return 0;
    }
    GOOD(res);
    GOOD(cu.DeviceGetCount(&count));
    return count;
}

static void must_show(struct answer *a, int wanted)
{
    const int count = count_devices(a);

    rules_must(a, count == wanted, "%d devices, not %d", count, wanted);
}

static void show_none(struct world *unused, struct answer *a)
{
    (void)unused;
    must_show(a, 0);
}

static void show_one(struct world *unused, struct answer *a)
{
    (void)unused;
    must_show(a, 1);
}

static void bus_of(int ordinal, struct answer *a, char *id, int room)
{
    CUdevice dev = 0;

    GOOD(cu.DeviceGet(&dev, ordinal));
    GOOD(cu.DeviceGetPCIBusId(id, room, dev));
}

static void refuse(struct world *unused, struct answer *a)
{
    (void)unused;
    WANT(cu.Init(0), CUDA_ERROR_INVALID_DEVICE);
}

/* "1,0": bus numbers fall. */
static void show_swapped(struct world *unused, struct answer *a)
{
    char first[32] = "", second[32] = "";

    (void)unused;
    must_show(a, 2);
    if (a->verdict == RULE_OK) {
        bus_of(0, a, first, sizeof(first));
        bus_of(1, a, second, sizeof(second));
        rules_must(a, strcmp(first, second) > 0, "%s, then %s", first, second);
    }
}

/* By the first device's own UUID: this needs the UUID first, so the process starts itself again. */
static void show_by_uuid(struct world *w, struct answer *a)
{
    CUuuid uuid;
    char text[64] = "GPU-", line[256], name[96] = "";
    size_t used = 4;
    FILE *from;

    GOOD(cu.DeviceGetName(name, sizeof(name), w->dev[w->gpus - 1]));
    if (strstr(name, " MIG ") != NULL) {
        memcpy(text, "MIG-", 4);
    }

    GOOD(cu.DeviceGetUuid(&uuid, w->dev[w->gpus - 1]));
    for (int i = 0; i < 16; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned char)uuid.bytes[i]);
    }
    snprintf(line, sizeof(line),
             "CUDA_VISIBLE_DEVICES=%s /proc/%d/exe --alone 'visible: \"0\" is one'", text,
             (int)getpid());
    from = popen(line, "r");
    line[0] = '\0';
    if (from == NULL || fgets(line, sizeof(line), from) == NULL) {
        rules_must(a, false, "no answer");
    }
    if (from != NULL) {
        pclose(from);
    }
    rules_must(a, line[0] == '0', "%s", line + 1);
}

static void attributes(struct world *w, struct answer *a)
{
    static const struct {
        CUdevice_attribute attribute;
        int least;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        int value = -1;

        GOOD(cu.DeviceGetAttribute(&value, wanted[i].attribute, w->dev[0]));
        rules_must(a, value >= wanted[i].least, "attribute %d is %d", (int)wanted[i].attribute,
                   value);
    }
}

const struct rule rules_devices[] = {
    {"device: attributes that are taken for granted", attributes, 0, NULL},
    {"visible: \"\" is none", show_none, ALONE, ""},
    {"visible: \"-1\" is none", show_none, ALONE, "-1"},
    {"visible: a number that is too high is none", show_none, ALONE, "99"},
    {"visible: \"0\" is one", show_one, ALONE, "0"},
    {"visible: what follows a bad number is cut off", show_one, ALONE, "0,99,1"},
    {"visible: one twice is an error of cuInit", refuse, ALONE, "0,0"},
    {"visible: the order is the list's", show_swapped, ALONE | NEEDS_TWO, "1,0"},
    {"visible: a UUID", show_by_uuid, 0, NULL},
    {NULL, NULL, 0, NULL},
};
