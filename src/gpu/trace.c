/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/gpu.h"

#include "bwtool/text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number such as "0x10de" in a file of one line; 0 if there is none. */
static unsigned long read_number(const char *folder, const char *device, const char *name)
{
    char *path = bw_text_format("%s/%s/%s", folder, device, name);
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char line[32] = "";
    unsigned long number = 0;

    if (file != NULL) {
        if (fgets(line, sizeof(line), file) != NULL) {
            number = strtoul(line, NULL, 16);
        }
        fclose(file);
    }
    free(path);
    return number;
}

/* Class 03: VGA compatible, 3D and other display controllers; 10de: NVIDIA. */
static bool has_nvidia_display(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry = NULL;
    bool found = false;

    if (dir == NULL) {
        return false;
    }
    while (!found && (entry = readdir(dir)) != NULL) {
        found = entry->d_name[0] != '.' && read_number(folder, entry->d_name, "vendor") == 0x10de &&
                read_number(folder, entry->d_name, "class") >> 16 == 0x03;
    }
    closedir(dir);
    return found;
}

bool bw_gpu_is_traced(const char *root)
{
    char *devices = bw_text_format("%s/sys/bus/pci/devices", root);
    char *control = bw_text_format("%s/dev/nvidiactl", root);
    const bool found = (control != NULL && access(control, F_OK) == 0) ||
                       (devices != NULL && has_nvidia_display(devices));

    free(devices);
    free(control);
    return found;
}

int bw_gpu_count_traced(const char *root)
{
    char *folder = bw_text_format("%s/dev", root);
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *entry = NULL;
    int count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        unsigned number = 0;
        int length = 0;

        count += sscanf(entry->d_name, "nvidia%3u%n", &number, &length) == 1 &&
                 entry->d_name[length] == '\0';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    free(folder);
    return count;
}

/* Asks by itself, because bw_cu_open() would complain. */
static bool driver_has_a_device(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = lib != NULL ? dlsym(lib, "cuInit") : NULL;
    __typeof__(&cuInit) init = NULL;

    /* Stays loaded: a driver that was initialised cannot be unloaded. */
    memcpy(&init, &symbol, sizeof(init));
    bw_gpu_ask_for_queues();
    return init != NULL && init(0) != CUDA_ERROR_NO_DEVICE;
}

bool bw_gpu_is_expected(const char *root)
{
    return bw_gpu_is_traced(root) || driver_has_a_device();
}
