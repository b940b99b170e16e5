"""Families of operators: what is generated from a table, and what links what."""

load("//build_defs:link_only.bzl", "kd_link_only")
load("//build_defs:rules.bzl", "kd_cc_library", "kd_cc_test", "kd_cc_test_library", "only_warnings")

# Primitives below, compositions above: a family's kernels depend on `//aten/ops/<family>:calls` of those whose operators they
# call through at:: functions, and Bazel refuses circles. An operator that would close one stands in a family above (`composite`
# is the topmost). A static link keeps of a family what is called.
OP_FAMILIES = [
    "activation",
    "attention",
    "binary",
    "composite",
    "conv",
    "copy",
    "creation",
    "fft",
    "foreach",
    "index",
    "join",
    "linalg",
    "loss",
    "matmul",
    "nested",
    "norm",
    "padding",
    "pointwise",
    "pool",
    "quantized",
    "random",
    "rearrange",
    "reduce",
    "rnn",
    "scan",
    "softmax",
    "sort",
    "sparse",
    "special",
    "unary",
    "upsample",
    "view",
]

def kd_op_family(name, kernels = None, aliases = [], brings = [], decomposes_into = [], any_layout = False, visibility = ["//visibility:public"]):
    """The operators of aten/ops/<name>/ops.textproto.

    Makes the public target <name> (header aten/ops/<name>/ops.h, with doc comments), which links the kernels and passes on none of
    their headers; `calls` for kernels of families above, the same header without comments, so that a new one rebuilds the family
    and its users only; `headers`, those declarations without
    anything to link, for the family's own kernels; `registry`, which makes the operators callable by name; and `derivatives.cc` and
    `forward.cc` for //autograd/derivatives, `autocast.cc` for //aten/autocast, `layers.cc` for //aten/ops:layers, `nested.cc` for //aten/nested, `cuda.cc` for //aten/cuda,
    `boxed_decompositions.cc` and the target `decompositions` for //aten/decompositions.

    Args:
      name: the family, which is the folder's name.
      kernels: the target with the functions that the table names in at::native.
      aliases: the other families whose operators entries name in `alias_of`.
      brings: what programs that depend on the public target link beside the family.
      decomposes_into: the families whose operators decompositions.cc calls, the functions that the table names as `decomposition`.
        Nothing but //aten/decompositions and //aten/cuda links these: they may stand above the family.
      any_layout: whether an entry says calls_functional.
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
        outs = ["documented/ops.h", "bare/ops.h", "operators.h", "kernels.h", "ops.cc", "registry.cc", "derivatives.cc", "forward.cc", "autocast.cc", "layers.cc", "nested.cc", "cuda.cc", "decompositions.h", "boxed_decompositions.cc", "examples.cc"],
        cmd = "$(location //aten/codegen:generate) --table=$(location ops.textproto) --documented_functions=$(location documented/ops.h)" +
              " --functions=$(location bare/ops.h)" +
              " --evidence=$(location //docs:accuracy.md) --evidence=$(location //docs:operator_dtypes.txt)" +
              " --examples=$(location examples.cc)" +
              " --operator_declarations=$(location operators.h) --kernel_declarations=$(location kernels.h) --operators=$(location ops.cc)" +
              " --registry=$(location registry.cc) --derivatives=$(location derivatives.cc) --forward=$(location forward.cc)" +
              " --autocast=$(location autocast.cc) --layers=$(location layers.cc) --nested=$(location nested.cc) --cuda=$(location cuda.cc)" +
              " --decomposition_declarations=$(location decompositions.h) --decompositions=$(location boxed_decompositions.cc)",
        tools = ["//aten/codegen:generate"],
        visibility = ["//aten/autocast:__pkg__", "//aten/cuda:__pkg__", "//aten/decompositions:__pkg__", "//aten/nested:__pkg__", "//aten/ops:__pkg__", "//autograd/derivatives:__pkg__", "//tests/examples:__pkg__"],
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
        name = "kernel_headers",
        hdrs = ["kernels.h"],
        visibility = ["//visibility:public"],  # programs compiled ahead of time call kernels themselves
        deps = ["//aten/core:tensor"],
    )
    # Every family writes results with copy_.
    kd_cc_library(
        name = "implementation",
        srcs = ["ops.cc"],
        deps = [":headers", ":kernel_headers", "//aten/core:structured"] + ["//aten/ops/" + family + ":calls" for family in aliases] +
               (["//aten/core:structured_layouts"] if any_layout else []) + ([kernels] if kernels else []) + (["//aten/ops/copy:calls"] if name != "copy" else []),
    )
    kd_link_only(
        name = "linked",
        deps = [":implementation"],
    )
    kd_cc_library(
        name = "calls",
        visibility = ["//aten:__subpackages__", "//autograd:__subpackages__"],
        deps = [":headers", ":linked"],
    )
    # Linked by who refers to at::registry::link_<name>, and with `registry` by everybody who depends on that.
    kd_cc_library(
        name = "registration",
        srcs = ["registry.cc"],
        visibility = ["//aten/ops:__pkg__"],
        deps = [":" + name, "//aten/core:boxing", "//c10/dispatch:registry"],
    )
    native.genrule(
        name = "link_registration",
        outs = ["link_registration.cc"],
        cmd = "echo 'namespace at::registry { void link_" + name + "(); extern void (*const linked_" + name + ")(); void (*const linked_" + name + ")() = link_" + name + "; }' > $@",
    )
    kd_cc_library(
        name = "registry",
        srcs = ["link_registration.cc"],
        alwayslink = True,
        visibility = visibility,
        deps = [":registration"],
    )
    kd_cc_library(
        name = "decomposition_headers",
        hdrs = ["decompositions.h"],
        deps = ["//aten/core:tensor"],
    )
    kd_op_kernels(
        name = "decompositions",
        srcs = ["decompositions.cc"] if decomposes_into else [],
        visibility = ["//aten/cuda:__pkg__", "//aten/decompositions:__pkg__"],
        deps = [":decomposition_headers", "//aten/ops/shared:decomposing"] + ["//aten/ops/" + family + ":calls" for family in decomposes_into],
    )
    kd_link_only(
        name = "brought",
        deps = [":implementation"] + brings,
    )
    kd_cc_library(
        name = name,
        hdrs = ["documented/ops.h"],
        include_prefix = "aten/ops/" + name,
        strip_include_prefix = "documented",
        visibility = visibility,
        deps = [":headers", ":brought"],
    )

def kd_joined_sources(name, generated, count):
    """Makes the sources <name>_0.cc, ... of what all families generated under one name, each of several families: what such a file
    includes takes longer to compile than what it says.

    Args:
      name: of the sources.
      generated: the families' file, `derivatives.cc` for example.
      count: how many sources there shall be.

    Returns:
      The labels of the sources.
    """
    for i in range(count):
        native.genrule(
            name = name + "_source_" + str(i),
            srcs = ["//aten/ops/" + family + ":" + generated for family in OP_FAMILIES[i::count]],
            outs = [name + "_" + str(i) + ".cc"],
            cmd = "cat $(SRCS) > $@",
        )
    return [":" + name + "_" + str(i) + ".cc" for i in range(count)]

def kd_link_all_operators(name):
    """A library whose function at::registry::link_all_operators() makes all operators callable by name in programs that call it."""
    native.genrule(
        name = name + "_source",
        outs = [name + ".cc"],
        cmd = "{ echo 'namespace at::registry {'; for f in " + " ".join(OP_FAMILIES) + "; do echo \"void link_$$f();\"; done; " +
              "echo 'void link_all_operators();'; echo 'void link_all_operators() {'; " +
              "for f in " + " ".join(OP_FAMILIES) + "; do echo \"  link_$$f();\"; done; echo '}'; echo '}'; } > $@",
    )
    kd_cc_library(
        name = name,
        srcs = [name + ".cc"],
        visibility = ["//visibility:public"],
        deps = ["//aten/ops/" + family + ":registration" for family in OP_FAMILIES],
    )

def kd_op_kernels(name, deps, copts = [], **kwargs):
    """The functions in at::native that the family's table names, declared in aten/ops/<family>/kernels.h; one that the table does not know, or with other arguments, does not compile. Takes what cc_library takes."""
    kd_cc_library(
        name = name,
        copts = copts + select({
            "//build_defs:clang": ["-Werror=missing-prototypes"],
            "//conditions:default": ["-Werror=missing-declarations"],
        }),
        deps = deps + [":kernel_headers"],
        precompiled = only_warnings(copts),
        **kwargs
    )

def kd_op_test(name, srcs, deps, **kwargs):
    """A GoogleTest program of a family's operators on the CPU, and <name>_cases, what //tests/plugin_device:operators_test runs on a device.

    Args:
      name: the test.
      srcs: tests that make tensors and look at them by //aten/testing.
      deps: of the sources.
      **kwargs: of the test.
    """
    kd_cc_test_library(
        name = name + "_cases",
        srcs = srcs,
        alwayslink = True,
        visibility = ["//tests/cuda_on_host:__pkg__", "//tests/plugin_device:__pkg__"],
        deps = deps + ["//third_party/googletest:gtest"],
    )
    kd_cc_test(name = name, deps = [":" + name + "_cases"], **kwargs)
