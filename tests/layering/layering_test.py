#!/usr/bin/env python3
"""The order of the libraries, by query over the BUILD files.

c10 < aten < autograd < nn < distributed < torch; autograd < optim < distributed; data and utils above aten (a
checkpoint knows modules and optimizers); autograd < graph < export, jit; export < edge; export and nn < quantization; export, jit < compile;
nn < func; autograd, utils < distributions. Nothing below torch/ depends on the umbrella, neither c10 nor aten reaches
Abseil, and CUDA's headers stay in the folders of CUDA and NCCL. A planted violation must be found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

# A folder, and what nothing in it may depend on.
FORBIDDEN = {
    "c10": ["aten", "autograd", "nn", "optim", "data", "distributed", "utils", "graph", "export", "edge", "jit", "quantization", "compile", "torch"],
    "aten": ["autograd", "nn", "optim", "data", "distributed", "utils", "graph", "export", "edge", "jit", "quantization", "compile", "torch"],
    "autograd": ["nn", "optim", "data", "distributed", "utils", "graph", "export", "edge", "jit", "quantization", "compile", "torch"],
    "nn": ["optim", "data", "distributed", "graph", "export", "edge", "jit", "quantization", "compile", "torch"],
    "optim": ["nn", "data", "distributed", "graph", "export", "edge", "jit", "quantization", "compile", "torch"],
    "data": ["nn", "optim", "distributed", "export", "edge", "quantization", "compile", "torch"],
    "utils": ["data", "distributed", "export", "edge", "quantization", "compile", "torch"],
    "graph": ["nn", "optim", "data", "distributed", "utils", "export", "edge", "jit", "quantization", "compile", "torch"],
    "export": ["optim", "data", "distributed", "edge", "quantization", "compile", "torch"],
    "jit": ["nn", "optim", "data", "distributed", "utils", "edge", "quantization", "compile", "torch"],
    "edge": ["nn", "optim", "data", "distributed", "jit", "quantization", "compile", "torch"],
    "compile": ["optim", "data", "distributed", "quantization", "torch"],
    "distributed": ["quantization", "compile", "torch"],
    "distributions": ["nn", "optim", "data", "distributed", "graph", "export", "edge", "jit", "quantization", "compile", "torch"],
    "func": ["optim", "data", "distributed", "export", "edge", "jit", "quantization", "compile", "torch"],
    "quantization": ["optim", "data", "distributed", "compile", "torch"],
}
# Transforms of functions stand above what is transformed, and so do distributions: nothing but torch depends on them.
for layer in FORBIDDEN:
    FORBIDDEN[layer] += [above for above in ("func", "distributions") if layer != above]
# Tests and host tools may use what their subject does not.
TEST_CLASSES = {"cc_test", "sh_test", "cc_binary", "test_suite"}


def build_files(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "bazel-"))]
        for name in files:
            if name in ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", ".bazelrc") or name.endswith((".bzl", ".BUILD")):
                yield os.path.relpath(os.path.join(folder, name), root)


def read_targets(workspace, state):
    """By label: what the target depends on, and whether it belongs to the libraries."""
    layers = " union ".join("//%s/..." % layer for layer in FORBIDDEN if os.path.isdir(os.path.join(workspace, layer)))
    command = ["bazel", "--output_user_root=" + state, "--batch", "query", "--keep_going", "--noimplicit_deps",
               "--nohost_deps", "--output=xml", "deps(%s)" % layers]
    result = subprocess.run(command, cwd=workspace, capture_output=True, text=True)
    # 3: something could not be loaded; the copy has no sources, so globs and files may be missing, not packages.
    if result.returncode not in (0, 3) or "no such package '" in result.stderr:
        sys.exit("query failed:\n" + result.stderr)
    targets = {}
    for rule in ElementTree.fromstring(result.stdout.replace('version="1.1"', 'version="1.0"', 1)).iter("rule"):
        tools = {label.get("value") for name in ("tools", "exec_tools") for found in rule.iterfind("list[@name='%s']" % name)
                 for label in found.iter("label")}
        testonly = rule.find("boolean[@name='testonly']")
        targets[rule.get("name")] = (
            [label.get("name") for label in rule.iterfind("rule-input") if label.get("name") not in tools],
            rule.get("class") not in TEST_CLASSES and (testonly is None or testonly.get("value") != "true"))
    return targets


def violations(targets):
    """(library's target, what it must not reach), for the edges that lead there."""
    def folder(label):
        return label[2:].split("/")[0].split(":")[0] if label.startswith("//") else label

    found = set()
    for layer in FORBIDDEN:
        above = set(FORBIDDEN[layer])
        seen = set()
        stack = [label for label, (_, of_library) in targets.items() if of_library and folder(label) == layer]
        while stack:
            label = stack.pop()
            if label in seen:
                continue
            seen.add(label)
            for to in targets.get(label, ((), True))[0]:
                if folder(to) in above or layer in ("c10", "aten") and to.startswith("//third_party/abseil"):
                    found.add((label, to))
                else:
                    stack.append(to)
    return found


CUDA_HEADER = re.compile(r'^\s*#\s*include\s*[<"](cuda|cu[a-z]+_v2|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc)[A-Za-z_0-9/]*\.h', re.M)


def cuda_headers(root):
    """Files outside */cuda/, */nccl/, tests/cuda_on_host and *_cuda.cu that include a header of the CUDA toolkit."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("cuda", "cuda_on_host", "nccl") and not f.startswith((".", "bazel-"))]
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
        sys.exit("headers of CUDA are included outside */cuda/ and */nccl/:\n  " + "\n  ".join(outside))
    scratch = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    workspace = os.path.join(scratch, "workspace")
    state = os.path.join(scratch, "state")
    for path in build_files(root):
        target = os.path.join(workspace, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(root, path), target)
    planted = ("//c10/planted:planted", "//aten/core:tensor")
    os.makedirs(os.path.join(workspace, "c10/planted"))
    with open(os.path.join(workspace, "c10/planted/BUILD.bazel"), "w") as f:
        f.write('cc_library(name = "planted", deps = ["%s"])\n' % planted[1])
    try:
        found = violations(read_targets(workspace, state))
        if planted not in found:
            sys.exit("a planted dependency of c10 on aten was not found")
        found.remove(planted)
        if found:
            sys.exit("layering is violated:\n  " + "\n  ".join("%s depends on %s" % edge for edge in sorted(found)))
    finally:
        subprocess.run(["chmod", "-R", "u+w", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
