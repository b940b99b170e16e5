"""Families of operators: what is generated from a table, and what links what."""

load("//build_defs:link_group.bzl", "kd_link_group")
load("//build_defs:rules.bzl", "kd_cc_library", "kd_cc_test")

# The families whose operators a family's kernels call, through at:: functions. Kernels depend on the `headers` target of
# such a family; the public target links its implementation, and that of what it calls in turn. Circles are fine here: every
# operator lives in sections of its own, and a static link keeps what is called.
FAMILY_CALLS = {
    "activation": ["binary", "copy", "view"],
    "attention": ["binary", "copy", "creation", "index", "matmul", "pointwise", "random", "reduce", "softmax", "unary", "view"],
    "binary": ["copy", "reduce", "unary"],
    "conv": ["binary", "copy", "padding", "reduce", "view"],
    "copy": ["index", "view"],
    "creation": ["binary", "copy", "index", "join", "reduce", "unary", "view"],
    "fft": [],
    "foreach": ["binary", "copy", "matmul", "pointwise", "reduce", "unary", "view"],
    "index": ["binary", "creation", "pointwise", "view"],
    "join": ["view"],
    "linalg": ["matmul"],
    "loss": ["activation", "binary", "creation", "index", "join", "pointwise", "reduce", "scan", "softmax", "unary", "view"],
    "matmul": ["binary", "copy", "reduce", "unary", "view"],
    "nested": [],
    "norm": ["binary", "creation", "pointwise", "reduce", "unary", "view"],
    "padding": ["copy", "creation", "join", "view"],
    "pointwise": ["copy", "index", "view"],
    "pool": ["copy", "view"],
    "quantized": [],
    "random": ["binary", "copy", "creation", "reduce", "view"],
    "reduce": ["binary", "creation", "index", "join", "pointwise", "sort", "unary", "view"],
    "rnn": [],
    "scan": ["binary", "join", "reduce", "unary", "view"],
    "softmax": [],
    "sort": ["index", "view"],
    "sparse": [],
    "special": ["binary", "reduce", "softmax", "unary"],
    "unary": ["copy"],
    "upsample": ["view"],
    "view": ["copy", "reduce", "unary"],
}

OP_FAMILIES = sorted(FAMILY_CALLS.keys())

def _reached(family):
    reached = {"copy": True}
    reached[family] = True
    for _ in OP_FAMILIES:
        for member in list(reached.keys()):
            for called in FAMILY_CALLS[member]:
                reached[called] = True
    return sorted(reached.keys())

def kd_op_family(name, kernels = None, visibility = ["//visibility:public"]):
    """The operators of aten/ops/<name>/ops.textproto.

    Makes the public target <name> (header aten/ops/<name>/ops.h, with doc comments), <name>'s `headers` for kernels that call
    its operators (the same header without comments, so that a new one rebuilds the family and its users only), `registry`, which makes them callable by name, and `derivatives.cc` and `forward.cc` for //autograd/derivatives.

    Args:
      name: the family, which is the folder's name.
      kernels: the target with the functions that the table names in at::native.
      visibility: of the public target.
    """
    native.exports_files(["ops.textproto"], visibility = ["//visibility:public"])
    native.filegroup(
        name = "evidence",
        srcs = native.glob(["*_test.cc", "*_benchmark.cc"], allow_empty = True),
        visibility = ["//aten/codegen:__pkg__"],
    )
    native.genrule(
        name = "generate_ops",
        srcs = ["ops.textproto", "//docs:accuracy.md", "//docs:operator_dtypes.txt"],
        outs = ["documented/ops.h", "bare/ops.h", "operators.h", "ops.cc", "registry.cc", "derivatives.cc", "forward.cc", "examples.cc"],
        cmd = "$(location //aten/codegen:generate) --table=$(location ops.textproto) --documented_functions=$(location documented/ops.h)" +
              " --functions=$(location bare/ops.h)" +
              " --evidence=$(location //docs:accuracy.md) --evidence=$(location //docs:operator_dtypes.txt)" +
              " --examples=$(location examples.cc)" +
              " --operator_declarations=$(location operators.h) --operators=$(location ops.cc)" +
              " --registry=$(location registry.cc) --derivatives=$(location derivatives.cc) --forward=$(location forward.cc)",
        tools = ["//aten/codegen:generate"],
        visibility = ["//autograd/derivatives:__pkg__", "//tests/examples:__pkg__"],
    )
    kd_cc_library(
        name = "bare_ops",
        hdrs = ["bare/ops.h"],
        include_prefix = "aten/ops/" + name,
        strip_include_prefix = "bare",
        deps = ["//aten/core:tensor"],
    )
    kd_cc_library(
        name = "headers",
        hdrs = ["operators.h"],
        visibility = ["//visibility:public"],
        deps = [":bare_ops", "//c10/dispatch:operator"],
    )
    kd_cc_library(
        name = "implementation",
        srcs = ["ops.cc"],
        visibility = ["//aten/ops:__subpackages__"],
        deps = [":headers", "//aten/core:structured"] + ["//aten/ops/" + family + ":headers" for family in FAMILY_CALLS[name]] + ([kernels] if kernels else []),
    )
    kd_cc_library(
        name = "registry",
        srcs = ["registry.cc"],
        alwayslink = True,
        visibility = visibility,
        deps = [":" + name, "//aten/core:boxing", "//c10/dispatch:registry"],
    )
    kd_link_group(
        name = "linked",
        package_prefix = "aten/ops/",
        deps = ["//aten/ops/" + family + ":implementation" for family in _reached(name)],
    )
    kd_cc_library(
        name = name,
        hdrs = ["documented/ops.h"],
        include_prefix = "aten/ops/" + name,
        strip_include_prefix = "documented",
        visibility = visibility,
        deps = [":headers", ":linked"],
    )

def kd_op_test(name, srcs, deps, **kwargs):
    """A GoogleTest program of a family's operators on the CPU, and <name>_cases, what //tests/plugin_device:operators_test runs on a device.

    Args:
      name: the test.
      srcs: tests that make tensors and look at them by //aten/testing.
      deps: of the sources.
      **kwargs: of the test.
    """
    kd_cc_library(
        name = name + "_cases",
        testonly = True,
        srcs = srcs,
        alwayslink = True,
        visibility = ["//tests/plugin_device:__pkg__"],
        deps = deps + ["//third_party/googletest:gtest"],
    )
    kd_cc_test(name = name, deps = [":" + name + "_cases"], **kwargs)
