"""Models as libraries: compiled ahead of time, with their own kernels and memory plan.

    load("@kindling//build_defs:program.bzl", "kindling_program")

    kindling_program(
        name = "ranker",
        model = "ranker.pt2",
    )

    cc_binary(name = "server", srcs = ["server.cc"], deps = [":ranker"])    # #include "<package>/ranker.h", programs::Ranker
"""

load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//build_defs:ops.bzl", "OP_FAMILIES")
load("//build_defs:rules.bzl", "kd_cc_binary", "kd_cc_library")

# This workspace's, whichever calls the rule.
_MINIMAL_BUILD = str(Label("//build_defs:minimal_build"))

# The compiler runs where the build does. Where that is what the build is for, it is the program that `bazel build` makes, not
# a second one.
def _for_this_machine_impl(settings, attr):
    platforms = settings["//command_line_option:platforms"]
    host = settings["//command_line_option:host_platform"] or "@local_config_platform//:host"
    crossing = [str(p) for p in platforms] not in ([], [str(host)])
    return {
        _MINIMAL_BUILD: False,
        "//command_line_option:compilation_mode": "opt",
        "//command_line_option:copt": [],
        "//command_line_option:cpu": settings["//command_line_option:host_cpu"],
        "//command_line_option:linkopt": [
            option
            for option in settings["//command_line_option:linkopt"]
            if not option.startswith("-fsanitize") and option not in ("-lubsan", "-Wl,--icf=all")
        ],
        "//command_line_option:platforms": [host] if crossing else platforms,
    }

_for_this_machine = transition(
    implementation = _for_this_machine_impl,
    inputs = [
        "//command_line_option:host_cpu",
        "//command_line_option:host_platform",
        "//command_line_option:linkopt",
        "//command_line_option:platforms",
    ],
    outputs = [
        _MINIMAL_BUILD,
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:cpu",
        "//command_line_option:linkopt",
        "//command_line_option:platforms",
    ],
)

# Of tests, relative to the largest number of an output, by the type of the weights.
_TOLERANCES = {
    "bfloat16": "2e-2",
    "float16": "3e-3",
    "float32": "1e-4",
    "int8": "5e-2",
}

# Processors by the compilers' names, and Highway's targets that serve them. The baseline comes with all; of AVX-512 the library
# has one form.
ISAS = {
    "x86-64": [],
    "nehalem": ["SSE4"],
    "x86-64-v2": ["SSE4"],
    "haswell": ["AVX2"],
    "skylake": ["AVX2"],
    "x86-64-v3": ["AVX2"],
    "znver1": ["AVX2"],
    "znver2": ["AVX2"],
    "znver3": ["AVX2"],
    "icelake-server": ["AVX3"],
    "sapphirerapids": ["AVX3"],
    "skylake-avx512": ["AVX3"],
    "x86-64-v4": ["AVX3"],
    "zen4": ["AVX3"],
    "znver4": ["AVX3"],
    "znver5": ["AVX3"],
}

# What kindling_compile writes beside its --output.
_OUTPUTS = [
    ".h",
    ".cc",
    ".txt",
    "_benchmark.cc",
    "_example.S",
    "_example.bin",
    "_kernels.cc",
    "_tensors.cc",
    "_tensors.h",
    "_test.cc",
    "_weights.S",
    "_weights.bin",
]

def _kindling_compile_impl(ctx):
    compiler = ctx.attr._compiler[0][DefaultInfo].files_to_run
    header = ctx.outputs.outs[0]
    arguments = ctx.actions.args()
    arguments.add("--model=" + ctx.file.model.path)
    arguments.add("--output=" + header.path[:-len(".h")])
    arguments.add("--include=" + header.short_path.split("../")[-1])
    arguments.add("--class=" + ctx.attr.class_name)
    arguments.add("--namespace=" + ctx.attr.name_space)
    arguments.add("--weights=" + ctx.attr.weights)
    arguments.add("--tolerance=" + ctx.attr.tolerance)
    arguments.add("--weight_type=" + ctx.attr.weight_type)
    for symbol, largest in ctx.attr.largest.items():
        arguments.add("--largest=%s:%s" % (symbol, largest))
    targets = {}
    for name in ctx.attr.isa:
        if name not in ISAS:
            fail("isa: unknown instruction set \"%s\"; known are %s" % (name, ", ".join(sorted(ISAS))))
        targets.update({target: None for target in ISAS[name]})
    if ctx.attr.isa:
        arguments.add("--targets=" + ",".join(["baseline"] + targets.keys()))
    if ctx.attr.narrow:
        arguments.add("--families=" + ",".join(ctx.attr.families))
    ctx.actions.run(
        executable = compiler,
        arguments = [arguments],
        inputs = [ctx.file.model] + ctx.files.model_data,
        outputs = ctx.outputs.outs,
        mnemonic = "KindlingCompile",
        progress_message = "Compiling the model %s" % ctx.file.model.short_path,
    )
    return [DefaultInfo(files = depset(ctx.outputs.outs))]

_kindling_compile = rule(
    implementation = _kindling_compile_impl,
    attrs = {
        "class_name": attr.string(),
        "families": attr.string_list(),
        "isa": attr.string_list(),
        "largest": attr.string_dict(),
        "model": attr.label(mandatory = True, allow_single_file = True),
        "model_data": attr.label_list(allow_files = True),
        "name_space": attr.string(),
        "narrow": attr.bool(),
        "outs": attr.output_list(),
        "tolerance": attr.string(),
        "weight_type": attr.string(values = _TOLERANCES.keys()),
        "weights": attr.string(),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
        "_compiler": attr.label(
            default = "//compile/aot:kindling_compile",
            cfg = _for_this_machine,
        ),
    },
)

def _made_model_impl(ctx):
    model = ctx.files.model
    ctx.actions.run(
        executable = ctx.attr.program[0][DefaultInfo].files_to_run,
        arguments = [file.path for file in model] + [ctx.outputs.out.path] + ctx.attr.inputs,
        inputs = model,
        outputs = [ctx.outputs.out],
        mnemonic = "KindlingModel",
        progress_message = "Making the model %s" % ctx.outputs.out.short_path,
    )
    return [DefaultInfo(files = depset([ctx.outputs.out]))]

# A model that a program writes: `program [MODEL] OUT [INPUTS...]`.
_made_model = rule(
    implementation = _made_model_impl,
    attrs = {
        "inputs": attr.string_list(),
        "model": attr.label(allow_single_file = True),
        "out": attr.output(),
        "program": attr.label(mandatory = True, cfg = _for_this_machine),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def kindling_capture(name, srcs, deps = [], copts = [], visibility = None, tags = [], testonly = False):
    """A model that C++ code makes while it is built: <name>.pt2, for kindling_program, or for Python's torch.export.load.

    Args:
      name: of the target.
      srcs: sources that define torch::ExportedProgram torch::make_model(), declared in compile/aot/capture.h.
      deps: as cc_binary's; operators that the program calls are there.
      copts: as cc_binary's.
      visibility: of the model.
      tags: as everywhere.
      testonly: as everywhere.
    """
    kd_cc_binary(
        name = name + "_program",
        srcs = srcs,
        copts = copts,
        tags = tags,
        testonly = testonly,
        visibility = ["//visibility:private"],
        deps = deps + [Label("//compile/aot:capture_main")],
    )
    _made_model(
        name = name,
        out = name + ".pt2",
        program = ":" + name + "_program",
        tags = tags,
        testonly = testonly,
        visibility = visibility,
    )

def kindling_script(name, model, inputs, visibility = None, tags = [], testonly = False):
    """A model of TorchScript as <name>.pt2, for kindling_program: forward of the module, in evaluation, for given inputs.

    Args:
      name: of the target.
      model: a file of torch.jit.save.
      inputs: the arguments of forward, tensors each: "float32[n:1:16, 3, 32, 32]" has a dtype by its Python name, and sizes that
        are numbers, or names with the least and the largest that they may be. The program goes the way that the module takes
        for such inputs; where that depends on their elements, the build fails.
      visibility: of the model.
      tags: as everywhere.
      testonly: as everywhere.
    """
    _made_model(
        name = name,
        inputs = inputs,
        model = model,
        out = name + ".pt2",
        program = Label("//compile/aot:kindling_script"),
        tags = tags,
        testonly = testonly,
        visibility = visibility,
    )

def _class_of(name):
    return "".join([part[:1].upper() + part[1:] for part in name.replace("-", "_").replace(".", "_").split("_")])

def kindling_program(
        name,
        model,
        model_data = [],
        weights = "embed",
        largest = {},
        families = None,
        isa = [],
        class_name = None,
        name_space = "programs",
        tolerance = None,
        weight_type = "float32",
        visibility = None,
        tags = [],
        testonly = False):
    """A model as a cc_library with a class that runs it: kernels, memory plan and weights, no registry, no autograd, no parser.

    Makes <name>, the library, header <name>.h; <name>_tensors, the same over at::Tensor, header <name>_tensors.h; <name>_test,
    which compares it with the model's example; <name>_benchmark, which times that; and <name>.txt, a report.

    Args:
      name: of the library.
      model: a .pt2 file of torch.export, a .onnx file, or what kindling_capture or kindling_script makes.
      model_data: files that the model reads, such as external weights.
      weights: "embed", the program contains them; or "file", it is given those of <name>_weights.bin when it starts.
      largest: how large sizes may be that the model has no bound for, {"s0": "128"}.
      families: the families of operators (aten/ops) whose kernels it may call; the build fails with the right list where others are
        needed. By default all: what is not called is not linked either, but it is compiled.
      isa: the processors that fused groups are compiled for, of ISAS, ["haswell", "zen4"]; which one it runs on is found out at run
        time. Every other processor of the platform runs the baseline, which is always there. By default what the library's own
        kernels are compiled for.
      class_name: of the class; by default the name, "mobile_net" as MobileNet.
      name_space: that it is in.
      tolerance: of the test, relative to the largest number of an output; by default for the type of the weights.
      weight_type: what the constant matrices of products and the filters of convolutions are stored as: "float32", "bfloat16",
        "float16", or "int8", rounded to 127 steps on either side of 0 for each output channel. Sums are float32 in any case.
      visibility: of the libraries.
      tags: of all targets.
      testonly: as everywhere.
    """
    _kindling_compile(
        name = name + "_compile",
        class_name = class_name or _class_of(name),
        families = families or [],
        isa = isa,
        largest = largest,
        model = model,
        model_data = model_data,
        name_space = name_space,
        narrow = families != None,
        outs = [name + end for end in _OUTPUTS],
        tags = tags,
        testonly = testonly,
        tolerance = tolerance or _TOLERANCES[weight_type],
        weight_type = weight_type,
        weights = weights,
    )
    embed = weights == "embed"
    called = OP_FAMILIES if families == None else families
    kd_cc_library(
        name = name,
        srcs = [name + ".cc", name + "_kernels.cc"] + ([name + "_weights.S"] if embed else []),
        hdrs = [name + ".h"],
        copts = ["-ffp-contract=off"],
        tags = tags,
        testonly = testonly,
        textual_hdrs = [name + "_weights.bin"] if embed else [],
        visibility = visibility,
        deps = [
            Label("//compile/aot/runtime:" + target)
            for target in ["convolution", "copies", "groups", "matrix", "product", "runtime"] + (["tensors"] if called else [])
        ] + [Label("//aten/ops/" + family + end) for family in called for end in ("", ":kernel_headers")],
    )
    kd_cc_library(
        name = name + "_tensors",
        srcs = [name + "_tensors.cc"],
        hdrs = [name + "_tensors.h"],
        tags = tags,
        testonly = testonly,
        visibility = visibility,
        deps = [":" + name, Label("//compile/aot/runtime:tensor_face")],
    )
    kd_cc_library(
        name = name + "_example",
        srcs = [name + "_example.S"],
        precompiled = False,
        tags = tags,
        testonly = True,
        textual_hdrs = [name + "_example.bin"],
        visibility = ["//visibility:private"],
    )
    arguments = dict(args = ["$(location :%s_weights.bin)" % name], data = [name + "_weights.bin"]) if not embed else {}
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + "_test.cc"],
        linkopts = ["-Wl,--gc-sections"],
        linkstatic = True,
        tags = tags,
        deps = [":" + name, ":" + name + "_example", Label("//compile/aot/runtime:testing")],
        **arguments
    )
    kd_cc_binary(
        name = name + "_benchmark",
        srcs = [name + "_benchmark.cc"],
        tags = tags,
        testonly = True,
        deps = [":" + name, ":" + name + "_example", Label("//compile/aot/runtime:testing")],
        **arguments
    )
