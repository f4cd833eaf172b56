/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/nvml.h"

#include "nvml_table.h"

#include "bwtool/log.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* Our own declarations of what we use; the library's interface is stable in these. */
enum { NVML_OK = 0, NVML_STRING_BYTES = 96, NVML_P2P_READ = 0 };

static struct {
    void *lib;
    bool was_tried;
    char driver_version[NVML_STRING_BYTES];
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int res);
    int (*driver_version_of)(char *text, unsigned bytes);
    int (*handle)(const char *uuid, struct bw_nvml_device **device);
    int (*p2p_status)(struct bw_nvml_device *a, struct bw_nvml_device *b, int what, int *status);
    int (*mig_mode)(struct bw_nvml_device *device, unsigned *now, unsigned *pending);
} nvml;

void bw_nvml_look_up(const char *symbol, void *function)
{
    void *found = nvml.lib == NULL ? NULL : dlsym(nvml.lib, symbol);

    memcpy(function, &found, sizeof(found));
}

static bool start(void)
{
    int res = 0;

    nvml.lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml.lib == NULL) {
        bw_note("no NVML (%s): clocks, link states and the driver's version stay unknown",
                dlerror());
        return false;
    }
    bw_nvml_look_up("nvmlInit_v2", &nvml.init);
    bw_nvml_look_up("nvmlShutdown", &nvml.shutdown);
    bw_nvml_look_up("nvmlErrorString", &nvml.error_string);
    bw_nvml_look_up("nvmlSystemGetDriverVersion", &nvml.driver_version_of);
    bw_nvml_look_up("nvmlDeviceGetHandleByUUID", &nvml.handle);
    bw_nvml_look_up("nvmlDeviceGetP2PStatus", &nvml.p2p_status);
    bw_nvml_look_up("nvmlDeviceGetMigMode", &nvml.mig_mode);
    if (nvml.init == NULL || nvml.shutdown == NULL) {
        bw_note("NVML is of no use: it has no nvmlInit_v2");
        return false;
    }
    res = nvml.init();
    if (res != NVML_OK) {
        bw_note("NVML is of no use: %s in nvmlInit_v2",
                nvml.error_string != NULL ? nvml.error_string(res) : "an error");
        return false;
    }
    return true;
}

bool bw_nvml_open(void)
{
    void *lib = NULL;

    if (nvml.was_tried) {
        return nvml.lib != NULL;
    }
    if (!start()) {
        lib = nvml.lib;
        memset(&nvml, 0, sizeof(nvml));
        nvml.was_tried = true;
        if (lib != NULL) {
            dlclose(lib);
        }
        return false;
    }
    nvml.was_tried = true;
    bw_nvml_table_fill();
    if (nvml.driver_version_of == NULL ||
        nvml.driver_version_of(nvml.driver_version, sizeof(nvml.driver_version)) != NVML_OK) {
        nvml.driver_version[0] = '\0';
    }
    return true;
}

void bw_nvml_close(void)
{
    void *lib = nvml.lib;

    if (lib != NULL) {
        (void)nvml.shutdown();
        dlclose(lib);
    }
    memset(&nvml, 0, sizeof(nvml));
    bw_nvml_table_fill(); /* with nothing */
}

const char *bw_nvml_driver_version(void)
{
    return nvml.driver_version;
}

struct bw_nvml_device *bw_nvml_device(const char *uuid)
{
    struct bw_nvml_device *device = NULL;

    if (nvml.handle == NULL || nvml.handle(uuid, &device) != NVML_OK) {
        return NULL;
    }
    return device;
}

const char *bw_nvml_p2p_reason(const char *uuid_a, const char *uuid_b)
{
    static const char *const reasons[] = {
        NULL, /* it has access */
        "chipset not supported",
        "GPU not supported",
        "the path through the I/O hubs does not support it",
        "disabled by a registry key of the driver",
        "not supported",
    };
    struct bw_nvml_device *a = bw_nvml_device(uuid_a);
    struct bw_nvml_device *b = bw_nvml_device(uuid_b);
    int status = 0;

    if (a == NULL || b == NULL || nvml.p2p_status == NULL ||
        nvml.p2p_status(a, b, NVML_P2P_READ, &status) != NVML_OK) {
        return NULL;
    }
    return status >= 0 && (size_t)status < sizeof(reasons) / sizeof(reasons[0]) ? reasons[status]
                                                                                : NULL;
}

bool bw_nvml_is_mig(const char *uuid)
{
    struct bw_nvml_device *device = bw_nvml_device(uuid);
    unsigned now = 0, pending = 0;

    if (strncmp(uuid, "MIG-", 4) == 0) {
        return true;
    }
    return device != NULL && nvml.mig_mode != NULL &&
           nvml.mig_mode(device, &now, &pending) == NVML_OK && now == 1;
}
