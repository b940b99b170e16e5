#!/usr/bin/env python3
"""The rules of CONTRIBUTING.md that a look at the text of the source files can check.

Each file: at most 1,000 lines, no tabs, no spaces at a line's end, one line feed at its end, `#pragma once` in headers. All
together: lines of more than 120 columns become fewer. Headers of torch/include outside _OWN_HEADERS of torch/BUILD.bazel hold
nothing but #include lines, because those are compiled many at a time; and a source includes its own header first, because then
that header needs no test that it compiles alone. Kernels keep to docs/cuda.md. Each rule is tried on a file that breaks it first.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FOLDERS = ("aten", "autograd", "c10", "data", "distributed", "distributions", "edge", "examples", "func", "nn", "optim", "tests", "torch", "utils")
COLUMNS = 120
# As many lines as there are may be longer. Lower it when they are fewer.
LONG_LINES = 2369


def complaints(path, text):
    lines = text.split("\n")
    if len(lines) > 1001:
        yield "%s: %d lines; a file of more than 1,000 is split" % (path, len(lines) - 1)
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield "%s: does not end in one line feed" % path
    if path.endswith((".h", ".cuh")) and not path.endswith("-inl.h") and "#pragma once" not in lines:
        yield "%s: no #pragma once" % path
    for number, line in enumerate(lines, 1):
        if "\t" in line or line != line.rstrip():
            yield "%s:%d: a tab, or spaces at the end" % (path, number)


# What a kernel's source does not have, and why.
_IN_KERNELS = (
    (r"<<<", "kernels are launched by c10/cuda/launch.h"),
    (r"extern\s+__shared__", "dynamic shared memory is dynamic_shared<T>() of c10/cuda/launch.h"),
    (r"\b__activemask\b", "a mask is computed from data"),
    (r"\b(cooperative_groups|cudaLaunchCooperativeKernel|__cluster_dims__)\b", "no block waits for another"),
    (r"\basm\b", "PTX stands in c10/cuda/ptx.h"),
)


# Programs as others write them.
_PROGRAMS = "tests/cuda_on_host/programs/"


def kernel_complaints(path, text):
    for pattern, reason in _IN_KERNELS if path.endswith((".cu", ".cuh")) and not path.startswith(_PROGRAMS) else ():
        # libtorch's names for the warp's functions, which kernels of programs call
        if re.search(pattern, text) and path != "c10/cuda/warp.cuh":
            yield "%s: '%s': %s" % (path, pattern, reason)
    if "__CUDA_ARCH__" in text and path != "c10/cuda/ptx.h":
        yield "%s: what is the device's alone stands in c10/cuda/ptx.h" % path


def long_lines(text):
    return sum(len(line) > COLUMNS for line in text.split("\n"))


def own_header_complaints(path, text, has_header):
    first = re.search(r'^#include +["<](.*?)[">]', text, re.MULTILINE)
    own = path[:-len(".cc")] + ".h"
    if has_header and (not first or first[1] != own):
        yield "%s: its first #include is not %s" % (path, own)


def is_forwarding(text):
    return all(re.fullmatch(r"#pragma once|#include .*|//.*|", line) for line in text.split("\n"))


def forwarding_complaints(build_file, headers):
    """headers: a pair of path below torch/ and text each."""
    own = re.search(r'_OWN_HEADERS = \["(.*)%s(.*)" % path for path in \[(.*?)\]', build_file, re.DOTALL)
    own = {own[1] + path + own[2] for path in re.findall(r'"(.*?)"', own[3])}
    for path, text in headers:
        if is_forwarding(text) == (path in own):
            yield "torch/%s: belongs to _OWN_HEADERS exactly if it has more than #include lines" % path


def self_test():
    for text, has_header, wrong in (('#include "a/b.h"\n#include <c>\n', True, 0), ('#include <c>\n', False, 0),
                                    ('#include <c>\n#include "a/b.h"\n', True, 1)):
        assert len(list(own_header_complaints("a/b.cc", text, has_header))) == wrong, text
    build_file = '_OWN_HEADERS = ["include/%s.h" % path for path in [\n    "a/b",\n]]'
    forwarder, other = "#pragma once\n\n// c\n#include <a>\n", "#pragma once\n\nint f();\n"
    for headers, wrong in (([("include/a/b.h", other), ("include/a.h", forwarder)], 0), ([("include/a/b.h", forwarder)], 1),
                           ([("include/a.h", other)], 1)):
        assert len(list(forwarding_complaints(build_file, headers))) == wrong, headers
    good = "#pragma once\n\nint f();\n"
    assert not list(complaints("a.h", good)) and long_lines(good) == 0
    for path, bad in (("a.h", "int f();\n"), ("a.cc", "int f();"), ("a.cc", "int f();\n\n"), ("a.cc", "\tint f();\n"),
                      ("a.cc", "int f(); \n"), ("a.cc", "//\n" * 1001)):
        assert len(list(complaints(path, bad))) == 1, bad
    for bad in ("f<<<1, 2>>>();", "extern  __shared__ int x[];", "__activemask()", "asm volatile(\"\");", "#ifdef __CUDA_ARCH__"):
        assert len(list(kernel_complaints("a.cu", bad))) == 1, bad
    assert not list(kernel_complaints(_PROGRAMS + "a.cu", "f<<<1, 2>>>();"))
    assert not list(kernel_complaints("a.cc", "std::cout <<<1")) and not list(kernel_complaints("c10/cuda/ptx.h", "__CUDA_ARCH__"))
    assert long_lines("x" * 121 + "\n" + "x" * 120 + "\n") == 1


def main():
    self_test()
    found, too_long, files, forwarding = [], 0, 0, []
    for folder in FOLDERS:
        for parent, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if not name.endswith((".h", ".cc", ".cu", ".cuh")):
                    continue
                path = os.path.join(parent, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                files += 1
                found += complaints(os.path.relpath(path, ROOT), text)
                found += kernel_complaints(os.path.relpath(path, ROOT), text)
                too_long += long_lines(text)
                if name.endswith(".cc"):
                    found += own_header_complaints(os.path.relpath(path, ROOT), text, os.path.exists(path[:-len(".cc")] + ".h"))
                if path.startswith(os.path.join(ROOT, "torch", "include")):
                    forwarding.append((os.path.relpath(path, os.path.join(ROOT, "torch")), text))
    with open(os.path.join(ROOT, "torch", "BUILD.bazel"), encoding="utf-8") as file:
        found += forwarding_complaints(file.read(), forwarding)
    if files < 300:
        found.append("only %d source files found" % files)
    if too_long > LONG_LINES:
        found.append("%d lines have more than %d columns, %d are allowed" % (too_long, COLUMNS, LONG_LINES))
    print("\n".join(found) or "%d files, %d lines of more than %d columns" % (files, too_long, COLUMNS))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
