#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plant one fault after another in the product's sources; the tests must see each.

usage: mutants.py BUILD_FOLDER [--only PATTERN] | --stale

BUILD_FOLDER holds the simulated driver and the kernels' image. Each fault is
an edit of one file in a scratch copy, of which each core has one: what needs to
be is built anew, then run the folder's unit tests, or the check of all kernels,
and a short set of golden command lines. With --only, only faults whose file or
edit the pattern matches. --stale only names those whose line is not in the sources any longer.
"""

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = ("^(dry_run_4|text_2|json_2|verbose|waived_json|partial_peer|unequal_ways|operators|"
          "error_.*|fault_.*)$")

# The kernels have no unit tests: as the GPUs' they are run by this program, on the simulated one.
KERNELS = "kernels_check"

# File, what stands there, what stands there instead, unit tests.
FAULTS = [
    ("src/plan/plan.c", "to_col ? row : col, .dst = to_col ? col : row",
     "to_col ? col : row, .dst = to_col ? row : col", "plan"),  # a swapped direction
    ("src/plan/plan.c", "by_src ? step->src.id : step->dst.id",
     "by_src ? step->dst.id : step->src.id", "plan"),  # the wrong owner
    ("src/plan/plan.c", "== REDUCE_FIRST", "!= REDUCE_FIRST", "plan"),
    ("src/plan/plan.c", "(r + b->ends / 2) % b->ends", "(r + 1) % b->ends", "plan"),
    ("src/plan/plan.c", "return r != c && (b->peer", "return (b->peer", "plan"),
    ("src/plan/plan.c", "b->peer == NULL ||", "true ||", "plan"),
    ("src/plan/plan.c", "if (o != c) {", "if (o > c) {", "plan"),
    ("src/plan/plan.c", "b->plan->launch_count--;", "(void)b;", "plan"),
    ("src/plan/plan.c", "(size_t)issuer * (size_t)b->ends + (size_t)other",
     "(size_t)other * (size_t)b->ends + (size_t)issuer", "plan"),  # the wrong one's access
    ("src/measure/state.c", "gpu->is_owed |= gpu->is_used;", ";", "late"),  # errors not asked for
    ("src/measure/stats.c", "tail > 0.025", "tail > 0.05", "stats"),
    ("src/measure/stats.c", "low + 1 < n ? low + 1 : low", "low", "stats"),
    ("src/measure/stats.c", "(double)(n - 1));\n}", "(double)n);\n}", "stats"),
    ("src/measure/stats.c", "s.max = sorted[n - 1]", "s.max = sorted[0]", "stats"),
    ("src/measure/stats.c", "/ 2 / stats->median", "/ stats->median", "stats"),
    ("src/cli/size.c", "n << shift < least", "n << shift <= least", "size"),
    ("src/cli/size.c", "*fraction = percent / 100", "*fraction = percent", "size"),
    ("src/cli/size.c", "percent <= 50", "percent < 50", "size"),
    ("src/measure/cells.c", "counted / series->ns[i]", "counted / 2 / series->ns[i]", ""),
    ("src/measure/cells.c", "&crew->series[k], counted(crew, k)",
     "&crew->series[0], counted(crew, 0)", ""),
    ("src/measure/engine_ce.c", "TRY(queue_copies(lane, round->copies));", "", ""),
    ("src/measure/gpu_lane.c", "round->seed + 2 * lane->number + path",
     "round->seed + 0 * lane->number + path", ""),  # two copies with the same bytes
    ("src/measure/gpu_lane.c", "{&lane->paths[i].dst, &lane->bytes, &seed}",
     "{&lane->paths[i].src, &lane->bytes, &seed}", ""),  # checks what was sent
    ("src/report/summary.c", "summary.sum + cell->value", "cell->value", "result"),
    ("src/report/summary.c", "fmin(summary.min", "fmax(summary.min", "result"),
    ("src/report/summary.c", "summary.n++;", "summary.n += 2;", "result"),
    ("src/report/summary.c", "        return 3;", "        return 0;", "result"),
    ("src/gpu/cu.c", "tell(LOG_ERROR, res, what, file, line);",
     "if (line < 0) {\n        tell(LOG_ERROR, res, what, file, line);\n    }", "cu"),
    ("src/gpu/cu.c", "return BW_ERR_LOST;", "return BW_OK;", "cu"),  # an unchecked error
    ("src/measure/gate.c", "void bw_gate_release(struct bw_gate *gate)\n{",
     "void bw_gate_release(struct bw_gate *gate)\n{\n    if (gate != NULL) {\n"
     "        return;\n    }", ""),  # a gate that nobody opens
    ("src/measure/gate.c", "    gate->epoch++;\n", "", "gate"),  # open since the last time
    ("src/measure/gate.c", "state_of(gate, i) == BW_GATE_TIMED_OUT", "gate->holds > 9999", "gate"),
    ("src/measure/sampler.c", "sampler->done >= sampler->want) {\n        return false",
     "sampler->done > sampler->want) {\n        return false", "sampler"),
    ("src/measure/sampler.c", "sampler->seed += 0x9e3779b9u", "sampler->seed", "sampler"),
    ("src/measure/sampler.c", "precision <= sampler->sampling->precision",
     "precision < sampler->sampling->precision", "sampler"),
    ("src/measure/sampler.c", "BW_ROUND_ENTRIES_MAX / sampler->hint->load_factor",
     "BW_ROUND_ENTRIES_MAX", "sampler"),  # load that does not fit
    ("src/measure/sampler.c", "sampler->part_left = left - round->copies;",
     "sampler->part_left = left - left;", "sampler"),
    ("src/measure/sampler.c", "return sampler->is_load_short ? TAKE_DOUBT : TAKE_WHOLE",
     "return TAKE_WHOLE", "sampler"),
    ("src/measure/gpu_verify.c", "result != NULL && result->count != 0", "result == NULL", ""),
    ("src/measure/gpu_verify.c", "        const struct bw_path *path = &lane->paths[i];",
     "        const struct bw_path *path = &lane->paths[0];", ""),  # the way back unseen
    ("src/measure/gpu_verify.c", "TRY(compare(lane, path->dst_end, &path->check, KERNEL_check, args));",
     "(void)args;", ""),
    ("src/shmem/check.c", "    if (!shmem_is_checked(c, r)) {\n        return BW_OK;\n    }\n"
     "    if (shmem_is_routed(c->row->op)) {\n        return shmem_route_check(",
     "    if (check.ranks < 9999) {\n        return BW_OK;\n    }\n"
     "    if (shmem_is_routed(c->row->op)) {\n        return shmem_route_check(", ""),
    ("src/shmem/check.c", ".is_reduced = c->is_sum", ".is_reduced = false", ""),
    ("src/shmem/check.c", "        check.root = 1;", "        check.root = 0;", ""),
    ("src/world/pass_owner.c", "differ |= ", "differ &= ", "pass"),  # any token
    ("src/world/pass_owner.c", "        s->pass->served[from] = true;\n", "", "pass"),
    ("src/world/pass_owner.c", "hello.to == s->pass->me", "hello.to >= 0", "pass"),
    ("src/world/pass_owner.c", "!bw_pass_is_same_user(sock)", "sock < -1", "pass"),
    ("src/world/pass_caller.c", "!bw_pass_is_same_user(*sock)", "*sock < 0", "pass"),
    ("src/world/pass.c", "st == BW_OK && their_bytes != bytes", "st == BW_OK && their_bytes == 0",
     "pass"),
    ("src/world/pass.c", "return service.st > st ? service.st : st", "return st", "pass"),
    ("kernels/copy.cu", "        copy_tail(dst, src, bytes, thread, threads);\n        bw_forget();",
     "        bw_forget();", KERNELS),  # a dropped tail
    ("kernels/copy.cu", "vectors / run + 1;", "vectors / run;", KERNELS),  # a short last run
    ("kernels/copy.cu", "copy_until_done<Reverse>(rev_dst, rev_src",
     "copy_until_done<Reverse>(fwd_dst, fwd_src", KERNELS),  # the wrong way back
    ("kernels/pattern.cu", "offset + k < *first ? offset + k : *first", "offset + k", KERNELS),
    ("kernels/pattern.cu", "i < bytes; i += bw_threads()) {\n        compare(",
     "i + 1 < bytes; i += bw_threads()) {\n        compare(", KERNELS),  # the last byte unseen
    ("kernels/chase.cu", "got != expected", "got > expected", KERNELS),
    ("kernels/oneway.cu", "src + i) << (i % 4 * 8);", "src + i);", KERNELS),
    ("kernels/shmem_tiles.cu", "r = 1; r < a.ranks; r++) {\n            shmem_load_batch",
     "r = 2; r < a.ranks; r++) {\n            shmem_load_batch", KERNELS),  # a rank left out
]


def call(command, **kwargs):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False, **kwargs).returncode


class Scratch:
    def __init__(self, folder, build):
        self.source = os.path.join(folder, "source")
        self.build = os.path.join(folder, "build")
        self.sound = os.path.join(build, "sim")
        skip = shutil.ignore_patterns("build*", ".git")
        shutil.copytree(ROOT, self.source, ignore=skip)
        image = os.path.join(build, "kernels.fatbin")
        call(["cmake", "-S", self.source, "-B", self.build, "-DBWTOOL_TESTS=ON",
              "-DCMAKE_BUILD_TYPE=Debug", f"-DBWTOOL_FATBIN={image}"])
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libsimhost.so", "topology"):
            self.take_sound(name)

    def take_sound(self, name):
        shutil.copy(os.path.join(self.sound, name), os.path.join(self.build, "sim", name))

    def make(self, tests, more=()):
        names = [t if t == KERNELS else f"{t}_test" for t in tests]
        return call(["make", "-C", self.build, "bwtool", *names, *more]) == 0

    def does_pass(self, test):
        if test != KERNELS:
            return call(["timeout", "60", os.path.join(self.build, "tests", f"{test}_test")]) == 0
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(self.build, "sim"),
                   SIM_MACHINE=os.path.join(self.source, "tests/sim/machines/four.txt"))
        program = os.path.join(self.build, "tests/gpu", KERNELS)
        return call(["timeout", "120", program, "small"], env=env) == 0

    def why_caught(self, tests):
        """The first test that fails; None if all pass."""
        for test in tests:
            if not self.does_pass(test):
                return test if test == KERNELS else f"unit/{test}_test"
        script = os.path.join(self.source, "tests/cli/golden_test.sh")
        env = dict(os.environ, GOLDEN_ONLY=GOLDEN)
        bwtool = os.path.join(self.build, "bwtool")
        if call(["timeout", "240", "bash", script, bwtool, self.build], env=env) != 0:
            return "cli/golden_test"
        return None

    def is_sound(self, tests):
        return self.make(tests) and self.why_caught(tests) is None

    def plant(self, file, old, new, tests):
        """What came of one fault, and whether it was seen."""
        path = os.path.join(self.source, file)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        if old not in text:
            return "not to be planted", False
        with open(path, "w", encoding="utf-8") as source:
            source.write(text.replace(old, new, 1))
        is_kernel = KERNELS in tests
        is_built = self.make(tests, ["simcuda"] if is_kernel else [])
        why = self.why_caught(tests) if is_built else "it cannot be built"
        with open(path, "w", encoding="utf-8") as source:
            source.write(text)
        if is_kernel:
            self.take_sound("libcuda.so.1")
        return why or "not seen", why not in (None, "it cannot be built")


def plant_all(faults, scratches):
    """Prints a line a fault; how many were not seen."""
    free = queue.Queue()
    for scratch in scratches:
        free.put(scratch)

    def one(fault):
        file, old, new, tests = fault
        scratch = free.get()
        try:
            why, is_seen = scratch.plant(file, old, new, tests.split())
        finally:
            free.put(scratch)
        edit = f"{file}: {' '.join(old.split())} -> {' '.join(new.split())}"
        return f"{'ok' if is_seen else 'not ok'} {edit}: {why}", is_seen

    missed = 0
    with ThreadPoolExecutor(len(scratches)) as pool:
        for done in as_completed([pool.submit(one, fault) for fault in faults]):
            line, is_seen = done.result()
            missed += not is_seen
            print(line, flush=True)
    return missed


def show_stale():
    for file, old, *_ in FAULTS:
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            if old not in source.read():
                print(f"{file}: there is no such line: {old}")


def main(words):
    if words == ["--stale"]:
        show_stale()
        return 0
    only = words[words.index("--only") + 1] if "--only" in words else ""
    faults = [f for f in FAULTS if re.search(only, f[0] + " " + f[1])]
    every = sorted({t for *_, names in faults for t in names.split()})
    build = os.path.realpath(words[0])
    with tempfile.TemporaryDirectory() as folder:
        scratches = [Scratch(os.path.join(folder, str(i)), build)
                     for i in range(os.cpu_count() or 1)]
        with ThreadPoolExecutor(len(scratches)) as pool:
            if not all(pool.map(lambda scratch: scratch.is_sound(every), scratches)):
                print("not ok without a fault the tests fail, or nothing can be built")
                return 1
        missed = plant_all(faults, scratches)
    print(f"{len(faults) - missed} faults caught, {missed} missed")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
