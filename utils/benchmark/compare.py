#!/usr/bin/env python3
"""Builds the benchmarks of this folder against this library and against an installed libtorch, runs both in turn and prints
a table. The libtorch build uses the system's headers (Debian: libtorch-dev), or those of a newer one unpacked elsewhere
(--libtorch=FOLDER with include/ and lib/, such as the `torch` folder of an installed Python package), and the compiler in $CXX.

  utils/benchmark/compare.py overhead_benchmark kernels_benchmark [--repetitions=5] [--filter=REGEX] [--libtorch=FOLDER]
  utils/benchmark/compare.py --write --libtorch=FOLDER     all benchmarks, into the tables of docs/performance.md

Both programs run a few rows at a time, in turn, so that what else the machine does falls on both. Times are the median over
the repetitions of the least time of each, `of roof` is how near that comes to what the multiply-adds or the copies of the
same run take for the same work, `scaling` how much faster the largest number of threads is than one. Rows that a library does
not have, or fail, are left out of its times.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
HERE = os.path.join(ROOT, "utils/benchmark")

# What every benchmark is compiled with, and what some are besides.
FRAME = [os.path.join(HERE, f) for f in ("callgrind.cc", "compare.cc", "program.cc", "roofline.cc", "timer.cc")]
SOURCES = {"distributed_benchmark": ["examples/gpt/model.cc"], "gpt_benchmark": ["examples/gpt/model.cc"],
           "operators_benchmark": ["utils/benchmark/operator_rows.cc"]}
BENCHMARKS = ["overhead_benchmark", "kernels_benchmark", "layers_benchmark", "gpt_benchmark", "operators_benchmark",
              "distributed_benchmark"]

# Where the tables begin in docs/performance.md; nothing written by hand stands below.
TABLES = "# Tables of `utils/benchmark/compare.py --write`"


def libtorch_flags(folder):
    """What the compiler needs for the libtorch in `folder`, or for the system's."""
    if not folder:
        return ["-std=c++20", "-I/usr/include/torch/csrc/api/include", "-include", "utils/benchmark/libtorch_before_2.h",
                "-ltorch", "-ltorch_cpu", "-lc10"]
    return ["-std=c++20", "-DUSE_C10D_GLOO", "-I" + folder + "/include", "-I" + folder + "/include/torch/csrc/api/include",
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
        subprocess.run([program, "--json=" + out.name] + arguments, stdout=subprocess.DEVNULL)
        try:
            results = json.load(open(out.name))
        except ValueError:
            print("%s did not end: %s" % (program, " ".join(arguments)), flush=True)
            return {}, {}
    return {(r["name"], r["threads"]): r for r in results["rows"]}, results["rooflines"]


def row_names(program, pattern):
    """The rows by section, in their order."""
    out = subprocess.run([program, "--list", "--filter=" + pattern], check=True, capture_output=True, text=True).stdout
    sections = [("", [])]
    for line in out.splitlines():
        if line.startswith("# "):
            sections.append((line[2:], []))
        elif line:
            sections[-1][1].append(line)
    return [(title, rows) for title, rows in sections if rows]


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def time_text(seconds):
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < scale * 1000:
            return "%.2f %s" % (seconds / scale, unit)
    return "%.2f s" % seconds


def floor_of(row, rooflines):
    """The least seconds that the work of a row takes at the rooflines of its run; 0 where it says nothing of its work."""
    roof = rooflines.get(str(row["threads"]))
    if not roof:
        return 0
    return max(row["bytes"] / roof["bytes"], row["flops"] / roof["flops"])


class Line:
    """A row at one number of threads: median times in seconds of both sides (None for one without it), the floor, and how
    much faster it is than the first number of threads."""

    def __init__(self, row, threads, sides, floor, one):
        self.row, self.threads, self.floor = row, threads, floor
        self.ours, self.theirs = (median(sides[s]) if s in sides else None for s in ("ours", "theirs"))
        self.scaling = one.ours / self.ours if one and one.ours and self.ours else None

    def cells(self):
        both = self.ours and self.theirs
        return [time_text(self.ours) if self.ours else "", time_text(self.theirs) if self.theirs else "",
                "%.2f" % (self.theirs / self.ours) if both else "",
                "%.0f%%" % (100 * self.floor / self.ours) if self.floor and self.ours else "",
                "%.2f" % self.scaling if self.scaling else ""]


def compare_rows(rows, programs, options):
    """Yields the lines of `rows`, measured together."""
    arguments = ["--filter=^(" + "|".join(re.escape(row) for row in rows) + ")$", "--min_time=%g" % options.min_time,
                 "--threads=" + options.threads]
    if options.processor_time:
        arguments.append("--processor_time")
    times, floors = {}, {}
    for _ in range(options.repetitions):
        for side, program in programs.items():
            measured, rooflines = measure(program, arguments)
            for key, r in measured.items():
                times.setdefault(key, {}).setdefault(side, []).append(r["min"])
                floors.setdefault(key, []).append(floor_of(r, rooflines))
    # A row that ends a program takes the others of its group with it.
    if len(rows) > 1 and len({side for sides in times.values() for side in sides}) < len(programs):
        for row in rows:
            yield from compare_rows([row], programs, options)
        return
    for row in rows:
        one = None
        for threads in sorted(t for name, t in times if name == row):
            line = Line(row, threads, times[row, threads], min(floors[row, threads]), one)
            one = one or line
            yield line


def compare(name, options):
    """Prints a table of the rows of a benchmark, and returns its lines by section."""
    subprocess.run(["./bazelw", "build", "-c", "opt", "//utils/benchmark:" + name], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        programs = {"ours": os.path.join(ROOT, "bazel-bin/utils/benchmark", name), "theirs": os.path.join(folder, name)}
        build_theirs(name, programs["theirs"], options.libtorch)
        head = "%7s %12s %12s %8s %8s %8s  %s"
        print(head % ("threads", "kindling", "libtorch", "ratio", "of roof", "scaling", name), flush=True)
        sections = []
        for title, rows in row_names(programs["ours"], options.filter):
            sections.append((title, []))
            for i in range(0, len(rows), options.rows_at_a_time):
                for line in compare_rows(rows[i:i + options.rows_at_a_time], programs, options):
                    print(head % (line.threads, *line.cells(), line.row), flush=True)
                    sections[-1][1].append(line)
        return sections


def machine_text():
    info = open("/proc/cpuinfo").read()
    flags = re.search(r"^flags.*", info, re.M).group(0).split()
    units = [f for f in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if f in flags]
    return "%s, %d processors, %s" % (re.search(r"model name\s*: (.*)", info).group(1), os.cpu_count(), " ".join(units))


def libtorch_version(folder):
    for path in ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"):
        try:
            text = open(os.path.join(folder or "/usr", "include", path)).read()
        except OSError:
            continue
        numbers = [re.search(r"TORCH_VERSION_%s (\d+)" % part, text) for part in ("MAJOR", "MINOR", "PATCH")]
        if all(numbers):
            return ".".join(n.group(1) for n in numbers)
    return "?"


def markdown(sections, threads):
    """Tables of one benchmark: a line for each row, its columns for each number of threads."""
    text = ""
    for title, lines in sections:
        by_row = {}
        for line in lines:
            by_row.setdefault(line.row, {})[line.threads] = line
        text += ("### %s\n\n" % (title[:1].upper() + title[1:])) if title else ""
        columns = [h for t in threads for h in ("%d thread%s" % (t, "s" * (t > 1)), "libtorch", "ratio", "of roof")]
        columns += ["scaling"] * (len(threads) > 1)
        text += "| row | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1) + "\n"
        for row, at in by_row.items():
            cells = [c for t in threads for c in (at[t].cells()[:4] if t in at else [""] * 4)]
            if len(threads) > 1:
                cells.append(at[threads[-1]].cells()[4] if threads[-1] in at else "")
            text += "| `" + row.replace("|", "\\|") + "` | " + " | ".join(cells) + " |\n"
        text += "\n"
    return text


def write_tables(results, options):
    """Puts the tables at the end of docs/performance.md, in place of those that were there."""
    path = os.path.join(ROOT, "docs/performance.md")
    text = open(path).read()
    text = text[:text.index(TABLES)] if TABLES in text else text.rstrip("\n") + "\n\n"
    threads = [int(t) for t in options.threads.split(",")]
    text += TABLES + "\n\n" + "%s: %s; libtorch %s; medians of %d.\n\n" % (
        datetime.date.today(), machine_text(), libtorch_version(options.libtorch), options.repetitions)
    for name, sections in results:
        text += "## %s\n\n" % name + markdown(sections, threads)
    open(path, "w").write(text.rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", nargs="*", help="all, if none is given")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rows_at_a_time", type=int, default=12)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--min_time", type=float, default=0.2)
    parser.add_argument("--processor_time", action="store_true", help="for one thread on a machine that does other things too")
    parser.add_argument("--libtorch", default="", help="folder with include/ and lib/")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/performance.md")
    options = parser.parse_args()
    results = [(name, compare(name, options)) for name in options.benchmarks or BENCHMARKS]
    if options.write:
        write_tables(results, options)


if __name__ == "__main__":
    main()
