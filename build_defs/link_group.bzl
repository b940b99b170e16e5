"""A library whose objects may refer to each other in any direction, whatever the linker."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _kd_link_group_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    infos = [dep[CcInfo] for dep in ctx.attr.deps]
    merged = cc_common.merge_cc_infos(cc_infos = infos)
    pic_objects, objects, seen = [], [], {}
    for linker_input in merged.linking_context.linker_inputs.to_list():
        if not (linker_input.owner.workspace_name == ctx.label.workspace_name and
                linker_input.owner.package.startswith(ctx.attr.package_prefix)):
            continue
        for library in linker_input.libraries:
            for found, into in [(library.pic_objects, pic_objects), (library.objects, objects)]:
                for object in found or []:
                    if object.path not in seen:
                        seen[object.path] = True
                        into.append(object)
    outputs = cc_common.create_compilation_outputs(objects = depset(objects), pic_objects = depset(pic_objects))
    group, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        disallow_dynamic_library = True,
        # The members follow as they are: what they define is found in the group before, what they need stands behind it.
        linking_contexts = [merged.linking_context],
    )
    return [
        DefaultInfo(),
        CcInfo(compilation_context = merged.compilation_context, linking_context = group),
    ]

kd_link_group = rule(
    implementation = _kd_link_group_impl,
    doc = "Makes one library of all objects that `deps` bring from packages under `package_prefix`.",
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "package_prefix": attr.string(mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
