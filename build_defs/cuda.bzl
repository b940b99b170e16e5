"""CUDA sources in the project's rules. They are built with --config=cuda only; elsewhere `//...` leaves them out."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//build_defs:rules.bzl", "kd_cc_library")

# Real code for Hopper; in release builds also the portable form for what comes after it.
_FLAGS = ["-std=c++20", "-O2", "-Xcompiler", "-fPIC,-ffunction-sections,-fdata-sections", "-gencode=arch=compute_90a,code=sm_90a"]
_PORTABLE = ["-gencode=arch=compute_90,code=compute_90"]

CUDA_ONLY = select({
    "//build_defs:cuda": [],
    "//conditions:default": ["@platforms//:incompatible"],
})

def _cuda_objects_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    flags = _FLAGS + (_PORTABLE if ctx.var["COMPILATION_MODE"] == "opt" else []) + ["-ccbin", toolchain.compiler_executable, "-I."]
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
    objects = []
    for source in ctx.files.srcs:
        compiled = ctx.actions.declare_file("%s.objects/%s.o" % (ctx.label.name, source.basename))
        ctx.actions.run(
            executable = ctx.executable._nvcc,
            arguments = ["-c", source.path, "-o", compiled.path] + flags,
            inputs = depset([source], transitive = [inputs]),
            outputs = [compiled],
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s" % source.short_path,
            use_default_shell_env = True,
        )
        objects.append(compiled)
    return [DefaultInfo(files = depset(objects))]

_cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_nvcc": attr.label(default = "//third_party/cuda:nvcc", executable = True, allow_single_file = True, cfg = "host"),
        "_toolkit": attr.label(default = "//third_party/cuda:toolkit"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def kd_cuda_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of .cu files and their headers. Takes what cc_library takes; linked with the static CUDA runtime."""
    deps = deps + ["//third_party/cuda:cudart"]
    _cuda_objects(
        name = name + ".objects",
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        target_compatible_with = CUDA_ONLY,
        visibility = ["//visibility:private"],
    )
    kd_cc_library(
        name = name,
        srcs = [name + ".objects"],
        hdrs = hdrs,
        deps = deps,
        target_compatible_with = CUDA_ONLY,
        **kwargs
    )
