/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <stdio.h>
#include <string.h>

/*
 * Prints what hwloc would see of the described machine, for HWLOC_XMLFILE;
 * with "cpus", the number of its CPUs, with "driver", that one's version. A
 * core has one CPU here.
 */

enum { CPUS_OF_A_NODE = 4, MASK_ROOM = 512 };

static struct sim_machine machine;

static int first_cpu(int node)
{
    const double *cpus = machine.nodes[node].cpus;

    return cpus[1] - cpus[0] > 127 ? node * CPUS_OF_A_NODE : (int)cpus[0];
}

static int last_cpu(int node)
{
    const double *cpus = machine.nodes[node].cpus;

    return cpus[1] - cpus[0] > 127 ? first_cpu(node) + CPUS_OF_A_NODE - 1 : (int)cpus[1];
}

/* A set as hwloc writes it: 32 bits a word, the highest word first. */
static const char *mask(int first, int last, char *text)
{
    size_t used = 0;

    *text = '\0';
    for (int word = last / 32; word >= 0; word--) {
        unsigned bits = 0;

        for (int i = 0; i < 32; i++) {
            bits |= word * 32 + i >= first && word * 32 + i <= last ? 1u << i : 0;
        }
        used +=
            (size_t)snprintf(text + used, MASK_ROOM - used, used > 0 ? ",0x%08x" : "0x%08x", bits);
    }
    return text;
}

static void print_sets(int cpu_first, int cpu_last, int node_first, int node_last)
{
    char cpus[MASK_ROOM], nodes[MASK_ROOM];

    mask(cpu_first, cpu_last, cpus);
    mask(node_first, node_last, nodes);
    printf(" cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"%s\" complete_nodeset=\"%s\"", cpus,
           cpus, nodes, nodes);
}

static void print_gpu(int gpu)
{
    printf("<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
           "bridge_pci=\"0000:[%02x-%02x]\">"
           "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.0\" "
           "pci_type=\"0302 [10de:2335] [10de:18be] a1\" pci_link_speed=\"63.0\"/></object>\n",
           5000 + 2 * gpu, (unsigned)gpu + 1, (unsigned)gpu + 1, 5001 + 2 * gpu, (unsigned)gpu + 1);
}

static void print_node(int node)
{
    const int first = first_cpu(node), last = last_cpu(node);

    printf("<object type=\"Package\" os_index=\"%d\" gp_index=\"%d\"", node, 100 + node);
    print_sets(first, last, node, node);
    printf(">\n<object type=\"NUMANode\" os_index=\"%d\" gp_index=\"%d\" "
           "local_memory=\"68719476736\"",
           node, 200 + node);
    print_sets(first, last, node, node);
    puts("/>");
    for (int cpu = first; cpu <= last; cpu++) {
        printf("<object type=\"Core\" os_index=\"%d\" gp_index=\"%d\"", cpu, 1000 + cpu);
        print_sets(cpu, cpu, node, node);
        printf("><object type=\"PU\" os_index=\"%d\" gp_index=\"%d\"", cpu, 3000 + cpu);
        print_sets(cpu, cpu, node, node);
        puts("/></object>");
    }
    for (int gpu = 0; gpu < (int)machine.gpu_count; gpu++) {
        if ((int)machine.gpus[gpu].node == node) {
            print_gpu(gpu);
        }
    }
    puts("</object>");
}

int main(int argc, char **argv)
{
    char text[MASK_ROOM];
    int nodes, last;

    if (sim_machine_from_environment(&machine) != 0) {
        return 1;
    }
    nodes = (int)machine.node_count;
    last = last_cpu(nodes - 1);
    if (argc > 1 && strcmp(argv[1], "cpus") == 0) {
        printf("%d\n", last + 1);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "driver") == 0) {
        printf("%.0f\n", machine.driver);
        return 0;
    }
    puts("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">");
    printf("<object type=\"Machine\" os_index=\"0\" gp_index=\"1\"");
    print_sets(0, last, 0, nodes - 1);
    printf(" allowed_cpuset=\"%s\"", mask(0, last, text));
    printf(" allowed_nodeset=\"%s\">\n", mask(0, nodes - 1, text));
    for (int node = 0; node < nodes; node++) {
        print_node(node);
    }
    for (int gpu = 0; gpu < (int)machine.gpu_count; gpu++) {
        if (machine.gpus[gpu].node < 0) { /* nobody knows where it is */
            print_gpu(gpu);
        }
    }
    puts("</object>\n</topology>");
    return 0;
}
