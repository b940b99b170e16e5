"""MPI, as an external repository: one that is found, or none, where everything else works all the same."""

_FOUND = """
package(default_visibility = ["//visibility:public"])
cc_library(name = "mpi", hdrs = glob(["include/**"]), includes = ["include"], linkopts = ["-lmpi"])
"""

_MISSING = """
package(default_visibility = ["//visibility:public"])
cc_library(name = "mpi", target_compatible_with = ["@platforms//:incompatible"])
"""

# Debian's packages of Open MPI.
_FOLDERS = [
    "/usr/lib/x86_64-linux-gnu/openmpi/include",
    "/usr/lib/aarch64-linux-gnu/openmpi/include",
]

def _system_mpi_impl(ctx):
    found = [folder for folder in _FOLDERS if ctx.path(folder + "/mpi.h").exists and ctx.which("mpirun")]
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
    if found:
        ctx.symlink(found[0], "include")
    ctx.file("BUILD.bazel", _FOUND if found else _MISSING)

system_mpi = repository_rule(
    implementation = _system_mpi_impl,
    local = True,
    doc = "libopenmpi-dev and openmpi-bin. Where they are missing, what depends on `mpi` is skipped under patterns like //....",
)
