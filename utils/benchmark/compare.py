#!/usr/bin/env python3
"""Builds the benchmarks of this folder against this library and against an installed libtorch, runs both in turn and prints
a table. The libtorch build uses the system's headers (Debian: libtorch-dev), or those of a newer one unpacked elsewhere
(--libtorch=FOLDER with include/ and lib/, such as the `torch` folder of an installed Python package), and the compiler in $CXX.

  utils/benchmark/compare.py overhead_benchmark kernels_benchmark [--repetitions=5] [--filter=REGEX] [--libtorch=FOLDER]
"""

import argparse
import json
import os
import subprocess
import tempfile

# What a benchmark is compiled with besides its own file.
SOURCES = {"gpt_benchmark": ["examples/gpt/model.cc"]}

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def libtorch_flags(folder):
    """What the compiler needs for the libtorch in `folder`, or for the system's."""
    if not folder:
        return ["-std=c++17", "-I/usr/include/torch/csrc/api/include", "-include", "utils/benchmark/libtorch_before_2.h",
                "-ltorch", "-ltorch_cpu", "-lc10"]
    return ["-std=c++20", "-I" + folder + "/include", "-I" + folder + "/include/torch/csrc/api/include",
            "-L" + folder + "/lib", "-Wl,-rpath," + folder + "/lib", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10"]


def measure(program, arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, "--benchmark_out=" + out.name, "--benchmark_out_format=json"] + arguments,
                       check=True, stdout=subprocess.DEVNULL)
        results = {}
        for run in json.load(open(out.name))["benchmarks"]:
            if run.get("run_type") != "aggregate":
                results.setdefault(run["name"], []).append(run)
    return results


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("benchmarks", nargs="+")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--libtorch", default="", help="folder with include/ and lib/")
    options = parser.parse_args()
    arguments = ["--benchmark_filter=" + options.filter]
    for name in options.benchmarks:
        subprocess.run(["./bazelw", "build", "-c", "opt", "//utils/benchmark:" + name], cwd=ROOT, check=True)
        ours = os.path.join(ROOT, "bazel-bin/utils/benchmark", name)
        with tempfile.TemporaryDirectory() as folder:
            theirs = os.path.join(folder, name)
            sources = [os.path.join(ROOT, f) for f in ["utils/benchmark/" + name + ".cc"] + SOURCES.get(name, [])]
            subprocess.run([os.environ.get("CXX", "g++"), "-O2", "-iquote", ROOT, *sources, "-o", theirs,
                            *libtorch_flags(options.libtorch), "-lbenchmark", "-lpthread"], cwd=ROOT, check=True)
            rows = {}
            for _ in range(options.repetitions):
                for label, program in (("ours", ours), ("theirs", theirs)):
                    for benchmark, runs in measure(program, arguments).items():
                        rows.setdefault(benchmark, {}).setdefault(label, []).extend(runs)
        print("%-36s %14s %14s %8s" % (name, "kindling", "libtorch", "ratio"))
        for benchmark, sides in rows.items():
            unit = sides["ours"][0]["time_unit"]
            a, b = (median([r["real_time"] for r in sides[k]]) for k in ("ours", "theirs"))
            extra = "".join("  %s %.1f" % (c, median([r[c] for r in sides["ours"]]))
                            for c in ("GB/s", "GFLOP/s") if c in sides["ours"][0])
            print("%-36s %11.2f %s %11.2f %s %7.2fx%s" % (benchmark, a, unit, b, unit, b / a, extra))


if __name__ == "__main__":
    main()
