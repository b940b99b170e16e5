"""What a workspace that uses Kindling calls.

    local_repository(name = "kindling", path = "...")   # or http_archive
    load("@kindling//:deps.bzl", "kindling_deps")
    kindling_deps()

Every repository is declared only where the workspace has none of that name yet, so that its own ones win. Where
nothing can be downloaded (Bazel 4 on Debian), also call kindling_offline_rules().
"""

load("//third_party:system_libraries.bzl", "declare_system_libraries")

def _missing(name):
    return native.existing_rule(name) == None

def kindling_deps():
    """The third-party libraries, as the system's packages."""
    declare_system_libraries(_missing)

def kindling_offline_rules():
    """Stands in for the rule repositories that Bazel 4 would download: Debian's copies, and a shim for rules_cc."""
    if _missing("rules_cc"):
        _local_rules(name = "rules_cc", anchor = "//third_party/rules_cc:WORKSPACE")
    if _missing("remote_coverage_tools"):
        _local_rules(name = "remote_coverage_tools", anchor = "//third_party/remote_coverage_tools:WORKSPACE")
    for name, path in {
        "rules_java": "/usr/share/bazel/rules/java",
        "rules_proto": "/usr/share/bazel/rules/proto",
        "bazel_skylib": "/usr/share/bazel/tools/skylib",
        "platforms": "/usr/share/bazel/tools/platforms",
    }.items():
        if _missing(name):
            native.local_repository(name = name, path = path)

def _local_rules_impl(ctx):
    # A copy of the folder `anchor` lies in, wherever this repository is checked out.
    source = ctx.path(Label(ctx.attr.anchor)).dirname
    for entry in source.readdir():
        ctx.symlink(entry, entry.basename)

_local_rules = repository_rule(
    implementation = _local_rules_impl,
    local = True,
    attrs = {"anchor": attr.string(mandatory = True)},
)
