#!/usr/bin/env python3
"""Builds the benchmarks of this folder against this library and against an installed libtorch, runs both in turn and prints
a table. The libtorch build uses the system's headers (Debian: libtorch-dev), or those of a newer one unpacked elsewhere
(--libtorch=FOLDER with include/ and lib/, such as the `torch` folder of an installed Python package), and the compiler in $CXX.

  utils/benchmark/compare.py overhead_benchmark kernels_benchmark [--repetitions=5] [--filter=REGEX] [--libtorch=FOLDER]

Both programs run one row at a time, in turn, so that what else the machine does falls on both. Times are the median over the
repetitions of the least time of each, `of roof` is how near that comes to what the multiply-adds or the copies of the same
run take for the same work, `scaling` how much faster the largest number of threads is than one.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
HERE = os.path.join(ROOT, "utils/benchmark")

# What every benchmark is compiled with, and what some are besides.
FRAME = [os.path.join(HERE, f) for f in ("callgrind.cc", "compare.cc", "program.cc", "roofline.cc", "timer.cc")]
SOURCES = {"gpt_benchmark": ["examples/gpt/model.cc"]}


def libtorch_flags(folder):
    """What the compiler needs for the libtorch in `folder`, or for the system's."""
    if not folder:
        return ["-std=c++20", "-I/usr/include/torch/csrc/api/include", "-include", "utils/benchmark/libtorch_before_2.h",
                "-ltorch", "-ltorch_cpu", "-lc10"]
    return ["-std=c++20", "-I" + folder + "/include", "-I" + folder + "/include/torch/csrc/api/include",
            "-L" + folder + "/lib", "-Wl,-rpath," + folder + "/lib", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10"]


def build_theirs(name, program, folder):
    # The frame knows the number of threads from c10/parallel, which in libtorch is ATen's.
    with tempfile.TemporaryDirectory() as shim:
        os.makedirs(shim + "/c10/parallel")
        with open(shim + "/c10/parallel/parallel.h", "w") as f:
            f.write("#include <ATen/Parallel.h>\n")
        sources = [os.path.join(ROOT, f) for f in ["utils/benchmark/" + name + ".cc"] + SOURCES.get(name, [])] + FRAME
        subprocess.run([os.environ.get("CXX", "g++"), "-O2", "-iquote", shim, "-iquote", ROOT, *sources, "-o", program,
                        *libtorch_flags(folder), "-lpthread"], cwd=ROOT, check=True)


def measure(program, arguments):
    """The rows by (name, threads), and the rooflines by threads."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, "--json=" + out.name] + arguments, check=True, stdout=subprocess.DEVNULL)
        results = json.load(open(out.name))
    return {(r["name"], r["threads"]): r for r in results["rows"]}, results["rooflines"]


def row_names(program, pattern):
    out = subprocess.run([program, "--list", "--filter=" + pattern], check=True, capture_output=True, text=True).stdout
    return [line.strip() for line in out.splitlines() if line.strip() and "threads" not in line]


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def time_text(seconds):
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < scale * 1000:
            return "%.2f %s" % (seconds / scale, unit)
    return "%.2f s" % seconds


def compare(name, options):
    subprocess.run(["./bazelw", "build", "-c", "opt", "//utils/benchmark:" + name], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        programs = {"ours": os.path.join(ROOT, "bazel-bin/utils/benchmark", name), "theirs": os.path.join(folder, name)}
        build_theirs(name, programs["theirs"], options.libtorch)
        print("%-38s %7s %12s %12s %8s %8s %8s" % (name, "threads", "kindling", "libtorch", "ratio", "of roof", "scaling"), flush=True)
        for row in row_names(programs["ours"], options.filter):
            arguments = ["--filter=^" + re.escape(row) + "$", "--min_time=%g" % options.min_time, "--threads=" + options.threads]
            if options.processor_time:
                arguments.append("--processor_time")
            times, floors = {}, {}
            for _ in range(options.repetitions):
                for side, program in programs.items():
                    rows, rooflines = measure(program, arguments)
                    for (_, threads), r in rows.items():
                        times.setdefault(threads, {}).setdefault(side, []).append(r["min"])
                        roof = rooflines.get(str(threads), {"flops": 0, "bytes": 0})
                        floor = max(r["bytes"] / roof["bytes"] if roof["bytes"] else 0, r["flops"] / roof["flops"] if roof["flops"] else 0)
                        floors.setdefault(threads, []).append(floor)
            one = None
            for threads, sides in times.items():
                a, b = median(sides["ours"]), median(sides["theirs"])
                floor = min(floors[threads])
                print("%-38s %7d %12s %12s %7.2fx %8s %8s" % (
                    row, threads, time_text(a), time_text(b), b / a, "%.0f%%" % (100 * floor / a) if floor else "",
                    "%.2fx" % (one / a) if one else ""), flush=True)
                one = one or a


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", nargs="+")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--min_time", type=float, default=0.2)
    parser.add_argument("--processor_time", action="store_true", help="for one thread on a machine that does other things too")
    parser.add_argument("--libtorch", default="", help="folder with include/ and lib/")
    options = parser.parse_args()
    for name in options.benchmarks:
        compare(name, options)


if __name__ == "__main__":
    main()
