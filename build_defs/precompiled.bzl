"""Headers that many sources include, parsed once for all of them. Clang's alone: other compilers get an empty file that nothing names."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _kd_precompiled_header_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = cc_toolchain, requested_features = ctx.features, unsupported_features = ctx.disabled_features)
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    source = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(source, "".join([('#include "%s"\n' if "/" in header else "#include <%s>\n") % header for header in ctx.attr.headers]))
    compiled = ctx.actions.declare_file(ctx.label.name + ".pch")
    if ctx.attr.enabled:
        command = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.create_compile_variables(
                feature_configuration = features,
                cc_toolchain = cc_toolchain,
                user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
                include_directories = context.includes,
                quote_include_directories = context.quote_includes,
                system_include_directories = context.system_includes,
                preprocessor_defines = context.defines,
                use_pic = True,
            ),
        )

        # Paths are stored relative to the folder that the compiler runs in, which it takes to have this name wherever it is, and no
        # times: the file is the same everywhere, and may lie in a cache.
        ctx.actions.run_shell(
            command = "PWD=/proc/self/cwd '%s' \"$@\" -Xclang -fno-pch-timestamp -fpch-instantiate-templates -relocatable-pch -Xclang -isysroot -Xclang /proc/self/cwd -x c++-header '%s' -o '%s'" % (
                cc_common.get_tool_for_action(feature_configuration = features, action_name = CPP_COMPILE_ACTION_NAME),
                source.path,
                compiled.path,
            ),
            arguments = command,
            inputs = depset([source], transitive = [context.headers, cc_toolchain.all_files]),
            outputs = [compiled],
            mnemonic = "CppPrecompile",
            progress_message = "Precompiling headers of %s" % ctx.label,
        )
    else:
        ctx.actions.write(compiled, "")
    return [
        DefaultInfo(files = depset([compiled])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([compiled, source], transitive = [context.headers]),
            # A header that comes in two forms is to be found in the one that was precompiled.
            includes = context.includes,
        )),
    ]

kd_precompiled_header = rule(
    implementation = _kd_precompiled_header_impl,
    doc = "Some headers as a file for Clang's -include-pch.",
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "Paths as a source includes them."),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(doc = "Those of the sources that use it: Clang refuses where they differ."),
        "enabled": attr.bool(default = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    fragments = ["cpp"],
)
