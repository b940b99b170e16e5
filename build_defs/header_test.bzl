"""A test that every public header of some targets, and of all they depend on in this workspace, compiles alone."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_HeaderObjects = provider(fields = ["objects"])

def _header_aspect_impl(target, ctx):
    objects = []
    transitive = [
        dep[_HeaderObjects].objects
        for dep in getattr(ctx.rule.attr, "deps", [])
        if _HeaderObjects in dep
    ]
    if CcInfo in target and not target.label.workspace_name and ctx.rule.kind == "cc_library":
        cc_toolchain = find_cpp_toolchain(ctx)
        features = cc_common.configure_features(ctx = ctx, cc_toolchain = cc_toolchain, requested_features = ctx.features, unsupported_features = ctx.disabled_features)
        context = target[CcInfo].compilation_context
        for header in context.direct_public_headers:
            if not header.basename.endswith(".h"):
                continue
            path = header.short_path
            if "/include/" in path and path.startswith("torch/"):
                path = path.split("/include/", 1)[1]
            if "/_virtual_includes/" in path:
                path = path.split("/_virtual_includes/", 1)[1].split("/", 1)[1]
            flat = path.replace("/", "_")
            source = ctx.actions.declare_file("%s.headers/%s.cc" % (target.label.name, flat))
            ctx.actions.write(source, '#include "%s"\n' % path)
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
    return [_HeaderObjects(objects = depset(objects, transitive = transitive))]

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
    count = len(objects.to_list())
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
