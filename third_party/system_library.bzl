"""A library that the system's package manager installed, as an external repository with one cc_library a part."""

def _system_library_impl(ctx):
    roots = ["/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"]
    if ctx.attr.header and not [r for r in roots if ctx.path(r + "/" + ctx.attr.header).exists]:
        fail("\n\nKindling needs the Debian package %s: the header %s is not installed.\n  apt-get install %s\n(./bazelw installs everything that is missing.)\n" %
             (ctx.attr.package, ctx.attr.header, ctx.attr.package))
    lines = ['package(default_visibility = ["//visibility:public"])']
    for part, flags in ctx.attr.parts.items():
        # A part that starts with ":" in its flags depends on another part.
        deps = [f for f in flags if f.startswith(":")]
        linkopts = [f for f in flags if not f.startswith(":")]
        lines.append("cc_library(name = %r, linkopts = %r, deps = %r)" % (part, linkopts, deps))
    for name in ctx.attr.files:
        ctx.symlink([r + "/" + name for r in roots if ctx.path(r + "/" + name).exists][0], name)
        lines.append("exports_files([%r])" % name)
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
    ctx.file("BUILD.bazel", "\n\n".join(lines) + "\n")

system_library = repository_rule(
    implementation = _system_library_impl,
    local = True,
    doc = "Fails with the package's name where `header` is not installed; evaluated only when something depends on it.",
    attrs = {
        "files": attr.string_list(doc = "Installed beside the headers; targets of the repository."),
        "header": attr.string(doc = "A header that the package installs."),
        "package": attr.string(mandatory = True, doc = "The Debian package to install."),
        "parts": attr.string_list_dict(mandatory = True, doc = "Name of a cc_library -> its linker flags and ':part' dependencies."),
    },
)
