"""CUDA sources in the project's rules: one source, two compilations.

A library of .cu files is built by nvcc with --config=cuda, and always, as <name>_on_host, by the C++ compiler against the executor
of //tests/cuda_on_host, for tests. Tests of devices are made twice in the same way. Where the toolkit's headers are missing, all of it
is skipped.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@system_cuda//:toolkit.bzl", "HAS_HEADERS", "HAS_LIBRARIES", "HAS_NCCL_HEADERS")
load("//build_defs:rules.bzl", "kd_cc_library", "kd_cc_test")

# Real code for Hopper; in release builds also the portable form for what comes after it.
_FLAGS = ["-std=c++20", "-O2", "--expt-relaxed-constexpr", "-Xcompiler", "-fPIC,-ffunction-sections,-fdata-sections", "-gencode=arch=compute_90a,code=sm_90a"]
_PORTABLE = ["-gencode=arch=compute_90,code=compute_90"]

# For what includes the toolkit's headers, which is all that a test on the host needs.
CUDA_HEADERS = [] if HAS_HEADERS else ["@platforms//:incompatible"]

# For what includes NCCL's header.
NCCL_HEADERS = [] if HAS_NCCL_HEADERS else ["@platforms//:incompatible"]

# For tests of what the toolkit's own libraries do without a device, by their names in //third_party/cuda.
def cuda_library(name):
    return [] if HAS_LIBRARIES[name] else ["@platforms//:incompatible"]

CUDA_ONLY = select({
    "//build_defs:cuda": [],
    "//conditions:default": ["@platforms//:incompatible"],
})

def _cuda_archives_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    flags = _FLAGS + ctx.attr.options + (_PORTABLE if ctx.var["COMPILATION_MODE"] == "opt" else []) + ["-ccbin", toolchain.compiler_executable, "-I."]
    for context in contexts:
        flags += ["-D" + define for define in context.defines.to_list()]
        for folder in context.quote_includes.to_list() + context.includes.to_list():
            flags.append("-I" + folder)
        for folder in context.system_includes.to_list():
            flags += ["-isystem", folder]
    inputs = depset(
        ctx.files.hdrs + ctx.files._toolkit,
        transitive = [c.headers for c in contexts] + [toolchain.all_files],
    )
    archives = []
    resources = []
    for source in ctx.files.srcs:
        said = ctx.actions.declare_file("%s/%s.resources" % (ctx.label.name, source.basename))
        resources.append(said)
        archive = ctx.actions.declare_file("%s/%s.%s" % (ctx.label.name, source.basename, "lo" if ctx.attr.alwayslink else "a"))
        tools = [ctx.executable._nvcc.path, toolchain.objcopy_executable, toolchain.ar_executable, toolchain.nm_executable]
        ctx.actions.run(
            executable = ctx.executable._compile_program if ctx.attr.is_program else ctx.executable._compile,
            arguments = tools + [source.path, archive.path, said.path] + flags,
            tools = [ctx.executable._nvcc],
            inputs = depset([source], transitive = [inputs]),
            outputs = [archive, said],
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s" % source.short_path,
            use_default_shell_env = True,
        )
        archives.append(archive)
    return [DefaultInfo(files = depset(archives)), OutputGroupInfo(resources = depset(resources))]

_cuda_archives = rule(
    implementation = _cuda_archives_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "alwayslink": attr.bool(),
        "is_program": attr.bool(),
        "options": attr.string_list(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_compile": attr.label(default = "//build_defs:compile_cuda.sh", executable = True, allow_single_file = True, cfg = "host"),
        "_compile_program": attr.label(default = "//build_defs:compile_cuda_program.sh", executable = True, allow_single_file = True, cfg = "host"),
        "_nvcc": attr.label(default = "//third_party/cuda:nvcc", executable = True, allow_single_file = True, cfg = "host"),
        "_toolkit": attr.label(default = "//third_party/cuda:toolkit"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# Kernels on the host tell //tests/cuda_on_host/simt:watch.h of their accesses.
ON_HOST_COPTS = ["-include", "tests/cuda_on_host/simt/device.h", "-O1", "-g1"] + select({
    "//build_defs:clang": ["-fsanitize-coverage=func,trace-loads,trace-stores"],
    "//conditions:default": [],
})

_LAUNCH_SYNTAX = "//tests/cuda_on_host/programs:launch_syntax"

def _on_host(label):
    # "//a/b" is short for "//a/b:b".
    name = label if ":" in label else label + ":" + label.split("/")[-1]
    return name + "_on_host"

def kd_cuda_library(name, srcs, hdrs = [], deps = [], cuda_deps = [], on_host = None, launch_syntax = False, nvcc_options = [], testonly = False, alwayslink = False, visibility = None):
    """A library of .cu files and their headers, and <name>_on_host, the same for tests on the host.

    Kernels are launched with c10/cuda/launch.h; neither library brings a CUDA runtime. <name>.resources says what registers and
    memory they take (build_defs/compile_cuda.sh).

    Args:
      name: of the library for devices.
      srcs: .cu files.
      hdrs: as cc_library's.
      deps: C++ libraries.
      cuda_deps: further kd_cuda_library targets.
      launch_syntax: the sources are a program's, which launch by `kernel<<<...>>>` and may have constructors that run before main.
      on_host: where the sources cannot be compiled for the host, a library that defines the same functions: <name>_on_host is that.
      nvcc_options: further ones.
      testonly: as cc_library's.
      alwayslink: as cc_library's.
      visibility: as cc_library's.
    """
    deps = deps + ["//c10/cuda:launch", "//third_party/cuda:headers"]
    _cuda_archives(
        name = name + ".archives",
        testonly = testonly,
        srcs = srcs,
        hdrs = hdrs,
        alwayslink = alwayslink,
        is_program = launch_syntax,
        options = nvcc_options,
        deps = deps + cuda_deps,
        target_compatible_with = CUDA_ONLY,
        visibility = ["//visibility:private"],
    )
    native.filegroup(
        name = name + ".resources",
        testonly = testonly,
        srcs = [name + ".archives"],
        output_group = "resources",
        visibility = visibility,
    )
    kd_cc_library(
        name = name,
        testonly = testonly,
        srcs = [name + ".archives"],
        hdrs = hdrs,
        alwayslink = alwayslink,
        target_compatible_with = CUDA_ONLY,
        visibility = visibility,
        deps = deps + cuda_deps,
    )

    if on_host:
        native.alias(name = name + "_on_host", actual = on_host, testonly = True, visibility = visibility)
        return

    # Messages, debuggers and coverage name the .cu file.
    sources = []
    for source in srcs:
        sources.append("%s.on_host/%s.cc" % (name, source.split(":")[-1]))
        native.genrule(
            name = "%s.on_host/%s" % (name, source.split(":")[-1]),
            testonly = testonly,
            srcs = [source],
            outs = [sources[-1]],
            cmd = "{ echo '#line 1 \"$(location %s)\"'; %s < $(location %s); } > $@" % (source, "$(execpath %s)" % _LAUNCH_SYNTAX if launch_syntax else "cat", source),
            exec_tools = [_LAUNCH_SYNTAX] if launch_syntax else [],
            visibility = ["//visibility:private"],
        )
    kd_cc_library(
        name = name + "_on_host",
        testonly = True,
        srcs = sources,
        hdrs = hdrs,
        alwayslink = alwayslink,
        copts = ON_HOST_COPTS + (["-include", "tests/cuda_on_host/programs/launcher.h"] if launch_syntax else []),
        target_compatible_with = CUDA_HEADERS,
        visibility = visibility,
        deps = deps + ["//tests/cuda_on_host/simt:device"] + [_on_host(dep) for dep in cuda_deps] +
               (["//tests/cuda_on_host/programs:launcher"] if launch_syntax else []),
    )

def kd_cuda_test(name, srcs, deps = [], cuda_deps = [], tags = [], **kwargs):
    """A GoogleTest program for a device: <name>_cuda_on_host runs everywhere, <name>_cuda on a device, with --config=cuda.

    Args:
      name: without the suffix.
      srcs: the program; with KD_CUDA_ON_HOST defined it may include tests/cuda_on_host/runtime/standin.h.
      deps: C++ libraries.
      cuda_deps: kd_cuda_library targets.
      tags: as cc_test's.
      **kwargs: as cc_test's.
    """
    deps = deps + ["//third_party/cuda:headers"]
    kd_cc_test(
        name = name + "_cuda_on_host",
        srcs = srcs,
        local_defines = ["KD_CUDA_ON_HOST"],
        tags = tags,
        target_compatible_with = CUDA_HEADERS,
        deps = deps + ["//tests/cuda_on_host/runtime"] + [_on_host(dep) for dep in cuda_deps],
        **kwargs
    )
    kd_cc_test(
        name = name + "_cuda",
        srcs = srcs,
        tags = tags + ["gpu"],
        target_compatible_with = CUDA_ONLY,
        deps = deps + cuda_deps + ["//third_party/cuda:cudart"],
        **kwargs
    )
