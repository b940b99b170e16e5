"""NVIDIA's CUDA toolkit (13 or later), as an external repository."""

def _system_cuda_impl(ctx):
    root = ctx.os.environ.get("CUDA_PATH", "/usr/local/cuda")
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
    libraries = [root + "/" + lib for lib in ["lib64", "lib"] if ctx.path(root + "/" + lib + "/libcudart_static.a").exists]
    if not ctx.path(root + "/bin/nvcc").exists or not ctx.path(root + "/include/cuda_runtime.h").exists or not libraries:
        # Loading everything must work without the toolkit, so the error waits until something is built that needs it.
        message = "--config=cuda needs the CUDA toolkit: no bin/nvcc, include/cuda_runtime.h and libcudart_static.a under %s. Set CUDA_PATH." % root
        ctx.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])
genrule(name = "missing", outs = ["missing.h"], cmd = "echo '%s' >&2; exit 1")
cc_library(name = "cudart", hdrs = ["missing.h"])
filegroup(name = "nvcc", srcs = ["missing.h"])
filegroup(name = "toolkit", srcs = ["missing.h"])
""" % message)
        return
    for folder in ["bin", "include", "nvvm"]:
        if ctx.path(root + "/" + folder).exists:
            ctx.symlink(root + "/" + folder, folder)
    ctx.symlink(libraries[0], "lib")
    ctx.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])
cc_library(
    name = "cudart",
    srcs = ["lib/libcudart_static.a"],
    hdrs = glob(["include/**"]),
    includes = ["include"],
    linkopts = ["-ldl", "-lrt", "-lpthread"],
)
filegroup(name = "nvcc", srcs = ["bin/nvcc"])
filegroup(name = "toolkit", srcs = glob(["bin/**", "include/**", "nvvm/**"], allow_empty = True))
""")

system_cuda = repository_rule(
    implementation = _system_cuda_impl,
    environ = ["CUDA_PATH"],
    local = True,
    doc = "The toolkit under CUDA_PATH, else under /usr/local/cuda. Without one its targets fail when they are built.",
)
