/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * driver_rules [RULE...]: all rules, or those named. A line each, a short
 * table last. Exit status 0 if none differs, 1 if one does, 3 without a GPU.
 */

static const struct rule *const parts[] = {rules_devices, rules_errors, rules_memory,
                                           rules_order,   rules_held,   rules_kernels};
static const char *const verdicts[] = {"ok", "differs", "skip"};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

static unsigned counts[3];
static char differing[4096];

/* Run a rule by this program in a process of its own; it prints its verdict's number and note. */
static void run_alone(const char *self, const struct rule *rule, struct answer *a)
{
    char line[sizeof(a->note)] = "";
    int ends[2], status = 0;
    FILE *from;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        rules_must(a, false, "no process");
        return;
    }
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (rule->visible != NULL) {
            setenv("CUDA_VISIBLE_DEVICES", rule->visible, 1);
        }
        alarm(60);
        execl(self, self, "--alone", rule->name, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    from = fdopen(ends[0], "r");
    if (from == NULL || fgets(line, sizeof(line), from) == NULL) {
        line[0] = '\0';
    }
    if (from != NULL) {
        fclose(from);
    }
    waitpid(child, &status, 0);
    line[strcspn(line, "\n")] = '\0';
    if (line[0] < '0' || line[0] > '2') {
        rules_must(a, false, "its process ended with status %x and no verdict", (unsigned)status);
        return;
    }
    a->verdict = (enum verdict)(line[0] - '0');
    snprintf(a->note, sizeof(a->note), "%s", line + 1);
}

static void run_rule(const char *self, struct world *w, const struct rule *rule)
{
    struct answer a = {RULE_OK, ""};
    const size_t used = strlen(differing);

    if ((rule->needs & NEEDS_TWO) != 0 && w->gpus < 2) {
        rules_skip(&a, "needs two GPUs");
    } else if ((rule->needs & NEEDS_PEERS) != 0 && !w->peers) {
        rules_skip(&a, "needs two GPUs that are peers");
    } else if ((rule->needs & ALONE) != 0) {
        run_alone(self, rule, &a);
    } else {
        rules_use(w, 0);
        rule->run(w, &a);
        rules_let_go(w);
        for (int i = 0; i < w->gpus; i++) {
            rules_use(w, i);
            cu.CtxSynchronize();
        }
    }
    counts[a.verdict]++;
    printf("%-8s%s%s%s\n", verdicts[a.verdict], rule->name, a.note[0] != '\0' ? ": " : "", a.note);
    fflush(stdout);
    if (a.verdict == RULE_DIFFERS) {
        snprintf(differing + used, sizeof(differing) - used, "| %s | %s |\n", rule->name, a.note);
    }
}

static const struct rule *find(const char *name)
{
    for (int p = 0; p < PARTS; p++) {
        for (const struct rule *rule = parts[p]; rule->name != NULL; rule++) {
            if (strcmp(rule->name, name) == 0) {
                return rule;
            }
        }
    }
    return NULL;
}

/* In a process of its own: the rule opens what it needs. */
static int be_alone(const char *name)
{
    const struct rule *rule = find(name);
    struct answer a = {RULE_OK, ""};

    if (rule == NULL || !rules_load()) {
        return 2;
    }
    rule->run(NULL, &a);
    printf("%d%s\n", (int)a.verdict, a.note);
    fflush(stdout);
    _exit(0); /* a driver that has lost its context may not come back from its own end */
}

static void print_table(struct world *w)
{
    char name[96] = "?";
    int version = 0;

    cu.DeviceGetName(name, sizeof(name), w->dev[0]);
    cu.DriverGetVersion(&version);
    printf("\n| %d x %s, driver for CUDA %d.%d | |\n| --- | --- |\n", w->gpus, name, version / 1000,
           version % 1000 / 10);
    printf("| rules that hold | %u |\n| that differ | %u |\n| skipped | %u |\n", counts[RULE_OK],
           counts[RULE_DIFFERS], counts[RULE_SKIPPED]);
    fputs(differing, stdout);
}

int main(int argc, char **argv)
{
    static struct world world;

    if (argc == 3 && strcmp(argv[1], "--alone") == 0) {
        return be_alone(argv[2]);
    }
    if (!rules_load() || !rules_open(&world)) {
        return 3;
    }
    for (int p = 0; p < PARTS; p++) {
        for (const struct rule *rule = parts[p]; rule->name != NULL; rule++) {
            bool is_wanted = argc == 1;

            for (int i = 1; i < argc; i++) {
                is_wanted |= strcmp(argv[i], rule->name) == 0;
            }
            if (is_wanted) {
                run_rule("/proc/self/exe", &world, rule);
            }
        }
    }
    print_table(&world);
    rules_close(&world);
    return counts[RULE_DIFFERS] > 0;
}
