#!/usr/bin/env python3
"""The order of the libraries, by query over the BUILD files.

c10 < aten < autograd < nn < distributed < torch; autograd < optim < distributed; data and utils above aten (a
checkpoint knows modules and optimizers); autograd < jit. Nothing below torch/ depends on the umbrella, neither c10 nor aten reaches
Abseil, and CUDA's headers stay in the cuda folders. A second run with a planted violation must fail.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

# A folder, and what nothing in it may depend on.
FORBIDDEN = {
    "c10": ["aten", "autograd", "nn", "optim", "data", "distributed", "utils", "jit", "torch"],
    "aten": ["autograd", "nn", "optim", "data", "distributed", "utils", "jit", "torch"],
    "autograd": ["nn", "optim", "data", "distributed", "utils", "jit", "torch"],
    "nn": ["optim", "data", "distributed", "jit", "torch"],
    "optim": ["nn", "data", "distributed", "jit", "torch"],
    "data": ["nn", "optim", "distributed", "torch"],
    "utils": ["data", "distributed", "torch"],
    "jit": ["nn", "optim", "data", "distributed", "utils", "torch"],
    "distributed": ["torch"],
}
# Tests and host tools may use what their subject does not.
TESTS = 'kind("cc_test|sh_test|cc_binary|test_suite", //{0}/...) union attr(testonly, 1, //{0}/...)'


def build_files(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "bazel-"))]
        for name in files:
            if name in ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", ".bazelrc") or name.endswith((".bzl", ".BUILD")):
                yield os.path.relpath(os.path.join(folder, name), root)


def query(workspace, state, expression):
    command = ["bazel", "--output_user_root=" + state, "--batch", "query", "--keep_going", "--order_output=no",
               "--nohost_deps", "--noimplicit_deps", expression]
    result = subprocess.run(command, cwd=workspace, capture_output=True, text=True)
    # 3: something could not be loaded; the copy has no sources, so globs and files may be missing, not packages.
    if result.returncode not in (0, 3) or "no such package '" in result.stderr:
        sys.exit("query failed: %s\n%s" % (expression, result.stderr))
    return [line for line in result.stdout.splitlines() if line.startswith("//")]


def violations(workspace, state, layers=tuple(FORBIDDEN)):
    present = {f for f in os.listdir(workspace) if os.path.isdir(os.path.join(workspace, f))}
    found = []
    parts = []
    for layer, above in FORBIDDEN.items():
        above = [a for a in above if a in present]
        if layer not in layers or layer not in present or not above:
            continue
        subject = "(//%s/... except (%s))" % (layer, TESTS.format(layer))
        outside = " union ".join("//%s/..." % a for a in above)
        parts.append((layer, "deps(%s) intersect (%s)" % (subject, outside)))
    if "aten" in layers:
        parts.append(("c10 and aten (Abseil)",
                      "deps((//c10/... union //aten/...) except (%s) except (%s)) intersect //third_party/abseil/..." %
                      (TESTS.format("c10"), TESTS.format("aten"))))
    for layer, expression in parts:
        found += ["%s depends on %s" % (layer, label) for label in query(workspace, state, expression)]
    return found


CUDA_HEADER = re.compile(r'^\s*#\s*include\s*[<"](cuda|cu[a-z]+_v2|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc)[A-Za-z_0-9/]*\.h', re.M)


def cuda_headers(root):
    """Files outside */cuda/ and *_cuda.cu that include a header of the CUDA toolkit."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f != "cuda" and not f.startswith((".", "bazel-"))]
        for name in files:
            if name.endswith((".h", ".cc", ".cu")) and not name.endswith("_cuda.cu"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    if CUDA_HEADER.search(f.read()):
                        yield os.path.relpath(path, root)


def main():
    here = os.path.realpath(__file__)
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    outside = list(cuda_headers(root))
    if outside:
        sys.exit("headers of CUDA are included outside */cuda/:\n  " + "\n  ".join(outside))
    scratch = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    workspace = os.path.join(scratch, "workspace")
    state = os.path.join(scratch, "state")
    for path in build_files(root):
        target = os.path.join(workspace, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(root, path), target)
    try:
        found = violations(workspace, state)
        if found:
            sys.exit("layering is violated:\n  " + "\n  ".join(found))
        os.makedirs(os.path.join(workspace, "c10/planted"))
        with open(os.path.join(workspace, "c10/planted/BUILD.bazel"), "w") as f:
            f.write('cc_library(name = "planted", deps = ["//aten/core:tensor"])\n')
        if not any(v.startswith("c10 depends on //aten/core:tensor") for v in violations(workspace, state, ["c10"])):
            sys.exit("a planted dependency of c10 on aten was not found")
    finally:
        subprocess.run(["chmod", "-R", "u+w", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
