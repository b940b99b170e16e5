"""NVIDIA's CUDA toolkit (13 or later), as an external repository."""

_COMPLETE = """
package(default_visibility = ["//visibility:public"])
cc_library(name = "headers", hdrs = glob(["include/**"]), includes = ["include"])
cc_library(
    name = "cudart",
    srcs = ["lib/libcudart_static.a"],
    linkopts = ["-ldl", "-lrt", "-lpthread"],
    deps = [":headers"],
)
filegroup(name = "nvcc", srcs = ["bin/nvcc"])
filegroup(name = "toolkit", srcs = glob(["bin/**", "include/**", "nvvm/**"], allow_empty = True))
"""

_HEADERS_ONLY = """
package(default_visibility = ["//visibility:public"])
cc_library(name = "headers", hdrs = glob(["include/**"]), includes = ["include"])
"""

# Loading everything must work without the toolkit, so the error waits until something is built that needs it.
_MISSING = """
genrule(name = "missing", outs = ["missing.h"], cmd = "echo '%s' >&2; exit 1")
cc_library(name = "cudart", hdrs = ["missing.h"])
filegroup(name = "nvcc", srcs = ["missing.h"])
filegroup(name = "toolkit", srcs = ["missing.h"])
"""

# Headers that what is built for the host includes, too.
_HEADERS = ["cuda_runtime.h", "cublasLt.h", "cudnn.h", "cupti.h", "cufft.h", "cusolverDn.h", "cusparse.h", "nvrtc.h"]

# Libraries that programs load, each with what it needs of the others.
_LIBRARIES = {
    "cublas_lt": ("libcublasLt", []),
    "cublas": ("libcublas", [":cublas_lt"]),
    "cudnn": ("libcudnn", []),
    "cufft": ("libcufft", []),
    "cusolver": ("libcusolver", [":cublas", ":cusparse"]),
    "cusparse": ("libcusparse", []),
    "nccl": ("libnccl", []),
    "nvrtc": ("libnvrtc", []),
}

_LIBRARY = """
cc_library(name = "{name}", srcs = ["lib/{file}"], deps = {deps} + [":headers"])
"""

_MISSING_LIBRARY = """
genrule(name = "missing_{name}", outs = ["missing_{name}.h"], cmd = "echo 'the CUDA toolkit has no {file}' >&2; exit 1")
cc_library(name = "{name}", hdrs = ["missing_{name}.h"])
"""

# The file of a library whose name is that under which it is loaded, as libcublasLt.so.13; None without one.
def _shared_library(ctx, folders, stem):
    for folder in folders:
        for path in ctx.path(folder).readdir():
            rest = path.basename[len(stem) + 4:]
            if path.basename.startswith(stem + ".so.") and rest.isdigit():
                return path.basename
    return None

def _system_cuda_impl(ctx):
    root = ctx.os.environ.get("CUDA_PATH", "/usr/local/cuda")
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
    missing = [header for header in _HEADERS if not ctx.path(root + "/include/" + header).exists]
    has_headers = not missing
    libraries = [root + "/" + lib for lib in ["lib64", "lib"] if ctx.path(root + "/" + lib + "/libcudart_static.a").exists]
    is_complete = has_headers and ctx.path(root + "/bin/nvcc").exists and libraries
    for folder in ["bin", "include", "nvvm"]:
        if ctx.path(root + "/" + folder).exists:
            ctx.symlink(root + "/" + folder, folder)
    if libraries:
        ctx.symlink(libraries[0], "lib")
    found = {}
    shared = ""
    for name, (stem, deps) in _LIBRARIES.items():
        file = _shared_library(ctx, libraries[:1], stem)
        found[name] = file != None
        shared += (_LIBRARY if file else _MISSING_LIBRARY).format(name = name, file = file or stem + ".so", deps = deps)
    # NCCL is a package of its own.
    has_nccl = has_headers and ctx.path(root + "/include/nccl.h").exists
    ctx.file("toolkit.bzl", "HAS_HEADERS = %s\nHAS_NCCL_HEADERS = %s\nHAS_LIBRARIES = %s\n" % (has_headers, has_nccl, found))
    if is_complete:
        ctx.file("BUILD.bazel", _COMPLETE + shared)
        return
    if not has_headers:
        # buildifier: disable=print
        print("CUDA: no include/%s under %s: what needs the toolkit's headers is skipped (CUDA_PATH names another folder)" % (missing[0], root))
    message = "--config=cuda needs the CUDA toolkit with cuDNN: under %s there must be bin/nvcc, libcudart_static.a and in include %s. Set CUDA_PATH." % (root, ", ".join(_HEADERS))
    ctx.file("BUILD.bazel", (_HEADERS_ONLY if has_headers else "package(default_visibility = [\"//visibility:public\"])\ncc_library(name = \"headers\")\n") + _MISSING % message + shared)

system_cuda = repository_rule(
    implementation = _system_cuda_impl,
    environ = ["CUDA_PATH"],
    local = True,
    doc = "The toolkit under CUDA_PATH, else under /usr/local/cuda. Without one its targets fail when they are built; toolkit.bzl says whether there are headers.",
)
