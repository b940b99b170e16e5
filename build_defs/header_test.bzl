"""A test that every public header of some targets, and of all they depend on in this workspace, compiles alone."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_HeaderObjects = provider(fields = ["objects", "paths"])

# The tag of a target whose headers consist of #include lines alone.
FORWARDING_HEADERS = "forwarding_headers"
_FORWARDERS_TOGETHER = 80

def _header_aspect_impl(target, ctx):
    objects = []
    paths = []
    below = [dep[_HeaderObjects] for dep in getattr(ctx.rule.attr, "deps", []) if _HeaderObjects in dep]
    if CcInfo in target and not target.label.workspace_name and ctx.rule.kind == "cc_library":
        cc_toolchain = find_cpp_toolchain(ctx)
        features = cc_common.configure_features(ctx = ctx, cc_toolchain = cc_toolchain, requested_features = ctx.features, unsupported_features = ctx.disabled_features)
        context = target[CcInfo].compilation_context
        own = []
        for header in context.direct_public_headers:
            if not header.basename.endswith(".h"):
                continue
            path = header.short_path
            if "/include/" in path and path.startswith("torch/"):
                path = path.split("/include/", 1)[1]
            if "/_virtual_includes/" in path:
                path = path.split("/_virtual_includes/", 1)[1].split("/", 1)[1]
            own.append(path)

        # The operators' headers come with comments and without, both behind aten/ops/FAMILY/ops.h, which is compiled.
        own = [path for path in own if "/bare/" not in path and "/documented/" not in path]

        # A source that includes its own header first, as the style test wants it, has compiled that header alone.
        stems = {src.basename[:-len(".cc")]: None for src in getattr(ctx.rule.files, "srcs", []) if src.basename.endswith(".cc")}
        sources_do = [path for path in own if path.rsplit("/", 1)[-1][:-len(".h")] in stems]
        paths += sources_do
        own = [path for path in own if path not in sources_do]

        # Headers that do nothing but include others stand alone if those do: many are compiled at once.
        together = _FORWARDERS_TOGETHER if FORWARDING_HEADERS in ctx.rule.attr.tags else 1
        for first in range(0, len(own), together):
            group = own[first:first + together]
            flat = group[0].replace("/", "_")
            source = ctx.actions.declare_file("%s.headers/%s.cc" % (target.label.name, flat))
            ctx.actions.write(source, "".join(['#include "%s"\n' % path for path in group]))
            _, compiled = cc_common.compile(
                name = target.label.name + "." + flat,
                actions = ctx.actions,
                cc_toolchain = cc_toolchain,
                feature_configuration = features,
                srcs = [source],
                compilation_contexts = [context],
                # Nothing is generated from a header alone; the front end is what is tested.
                user_compile_flags = ["-O0", "-g0", "-Wno-unused-function"],
            )
            objects += compiled.pic_objects + compiled.objects
            paths += group
    return [_HeaderObjects(
        objects = depset(objects, transitive = [b.objects for b in below]),
        # What is linked only passes no headers on; they compile alone all the same.
        paths = depset(paths, transitive = [b.paths for b in below] if ctx.rule.kind != "kd_link_only" else []),
    )]

_header_aspect = aspect(
    implementation = _header_aspect_impl,
    attr_aspects = ["deps"],
    attrs = {"_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain")},
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    fragments = ["cpp"],
)

def _header_test_impl(ctx):
    objects = depset(transitive = [dep[_HeaderObjects].objects for dep in ctx.attr.deps])
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    count = len(depset(transitive = [dep[_HeaderObjects].paths for dep in ctx.attr.deps]).to_list())
    ctx.actions.write(
        script,
        "#!/bin/sh\necho %d headers compiled alone\ntest %d -ge %d\n" % (count, count, ctx.attr.at_least),
        is_executable = True,
    )
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(transitive_files = objects))]

header_test = rule(
    implementation = _header_test_impl,
    test = True,
    attrs = {
        "deps": attr.label_list(aspects = [_header_aspect], doc = "Whose public headers, and those of what they depend on, are compiled."),
        "at_least": attr.int(doc = "Fewer headers than this are an error: the test would have lost its subject."),
    },
)

def _gcc_headers_test_impl(ctx):
    paths = depset(transitive = [dep[_HeaderObjects].paths for dep in ctx.attr.deps]).to_list()

    everything = ctx.actions.declare_file(ctx.label.name + ".everything.cc")
    ctx.actions.write(everything, "".join(['#include "%s"\n' % path for path in paths]))
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    flags = ["-D" + define for define in context.defines.to_list()]
    for option, folders in [("-iquote", context.quote_includes), ("-I", context.includes), ("-isystem", context.system_includes)]:
        for folder in folders.to_list():
            flags += [option, folder]
    objects = []
    for source in [everything] + ctx.files.srcs:
        compiled = ctx.actions.declare_file("%s.%s.o" % (ctx.label.name, source.basename))
        ctx.actions.run(
            executable = "/usr/bin/g++",
            arguments = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-c", source.path, "-o", compiled.path] + flags,
            inputs = depset([source], transitive = [context.headers]),
            outputs = [compiled],
            use_default_shell_env = True,
            mnemonic = "GccHeaders",
            progress_message = "Compiling %s with gcc" % source.short_path,
        )
        objects.append(compiled)
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, "#!/bin/sh\necho %d headers give gcc nothing to warn of\n" % len(paths), is_executable = True)
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(files = objects))]

gcc_headers_test = rule(
    implementation = _gcc_headers_test_impl,
    test = True,
    doc = "A test that gcc has nothing to warn of in the public headers of some targets, together and as some programs use them.",
    attrs = {
        "deps": attr.label_list(aspects = [_header_aspect], providers = [CcInfo]),
        "srcs": attr.label_list(allow_files = [".cc"], doc = "Programs that include them."),
    },
)
