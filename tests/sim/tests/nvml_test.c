/* SPDX-License-Identifier: Apache-2.0 */
#include "../nvml/nvml.h"
#include "check.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* The stand-in for NVML, as a program loads it; for machines/degraded.txt. */

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);

    CHECK(found != NULL, "%s is there", name);
    return found;
}

/* `name` called with these arguments. */
#define CALL(name, types, ...)   ((int(*) types)(uintptr_t)find(#name))(__VA_ARGS__)
#define ASK(name, device, value) CALL(name, (struct nvml_device *, unsigned *), device, value)

static struct nvml_device *device(const char *uuid)
{
    struct nvml_device *found = NULL;

    CHECK(CALL(nvmlDeviceGetHandleByUUID, (const char *, struct nvml_device **), uuid, &found) ==
              NVML_SUCCESS,
          "%s", uuid);
    return found;
}

int main(void)
{
    struct nvml_device *zero, *one, *by_bus = NULL;
    struct nvml_field_value fields[3] = {
        {.field = 91}, {.field = 163, .scope = 0}, {.field = 9999}};
    unsigned gen = 0, width = 0, value = 0, replays[3] = {0};
    unsigned long long reasons = 0, crc[2] = {0};
    char text[96] = "";
    int status = -1;

    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!CHECK(library != NULL, "%s", dlerror())) {
        return check_report("nvml_test");
    }
    CHECK(ASK(nvmlDeviceGetCount_v2, NULL, NULL) == NVML_UNINITIALIZED, "not before nvmlInit");
    CHECK(((int (*)(void))(uintptr_t)find("nvmlInit_v2"))() == NVML_SUCCESS, "init");
    CHECK(CALL(nvmlSystemGetDriverVersion, (char *, unsigned), text, sizeof(text)) ==
                  NVML_SUCCESS &&
              strcmp(text, "580.0.0-simulated") == 0,
          "'%s'", text);
    zero = device("GPU-53696d75-6c61-7465-6400-000000000000");
    one = device("GPU-53696d75-6c61-7465-6400-000000000001");
    CHECK(CALL(nvmlDeviceGetHandleByUUID, (const char *, struct nvml_device **), "GPU-5",
               &by_bus) == NVML_NOT_FOUND,
          "no such UUID");
    CHECK(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, struct nvml_device **),
               "00000000:02:00.0", &by_bus) == NVML_SUCCESS &&
              by_bus == one,
          "by bus");
    CHECK(ASK(nvmlDeviceGetCurrPcieLinkGeneration, zero, &gen) == NVML_SUCCESS && gen == 3 &&
              ASK(nvmlDeviceGetCurrPcieLinkWidth, zero, &width) == NVML_SUCCESS && width == 8 &&
              ASK(nvmlDeviceGetMaxPcieLinkGeneration, zero, &gen) == NVML_SUCCESS && gen == 5,
          "PCIe %u x %u", gen, width);
    for (int i = 0; i < 3; i++) {
        ASK(nvmlDeviceGetPcieReplayCounter, zero, &replays[i]);
    }
    CHECK(replays[0] == 3 && replays[1] == 9 && replays[2] == 9,
          "from the second look on: %u %u %u", replays[0], replays[1], replays[2]);
    CHECK(CALL(nvmlDeviceGetCurrentClocksEventReasons, (struct nvml_device *, unsigned long long *),
               one, &reasons) == NVML_SUCCESS &&
              reasons == 64,
          "reasons %llu", reasons);
    CHECK(CALL(nvmlDeviceGetNvLinkState, (struct nvml_device *, unsigned, unsigned *), one, 1,
               &value) == NVML_SUCCESS &&
              value == 0 &&
              CALL(nvmlDeviceGetNvLinkState, (struct nvml_device *, unsigned, unsigned *), one, 2,
                   &value) == NVML_SUCCESS &&
              value == 1,
          "links");
    CHECK(CALL(nvmlDeviceGetNvLinkState, (struct nvml_device *, unsigned, unsigned *), one, 18,
               &value) == NVML_INVALID_ARGUMENT,
          "no such link");
    for (int i = 0; i < 2; i++) {
        CALL(nvmlDeviceGetNvLinkErrorCounter,
             (struct nvml_device *, unsigned, int, unsigned long long *), one, 0, 3, &crc[i]);
    }
    CHECK(crc[0] == 0 && crc[1] == 17, "CRC errors %llu, %llu", crc[0], crc[1]);
    CHECK(CALL(nvmlDeviceGetFieldValues, (struct nvml_device *, int, struct nvml_field_value *),
               one, 3, fields) == NVML_SUCCESS &&
              fields[0].value.natural == 18 && fields[1].value.large == 17 &&
              fields[2].result == NVML_NOT_SUPPORTED,
          "fields");
    CHECK(CALL(nvmlDeviceGetP2PStatus, (struct nvml_device *, struct nvml_device *, int, int *),
               zero, one, 0, &status) == NVML_SUCCESS &&
              status == 0,
          "peers: %d", status);
    CHECK(ASK(nvmlDeviceGetFanSpeed, one, &value) == NVML_NOT_SUPPORTED, "no fan");
    CHECK(((int (*)(void))(uintptr_t)find("nvmlShutdown"))() == NVML_SUCCESS, "shutdown");
    return check_report("nvml_test");
}
