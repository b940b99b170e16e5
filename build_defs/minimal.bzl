"""Programs as they are shipped: the minimal configuration, stripped."""

# This workspace's, whichever calls the rule.
_MINIMAL_BUILD = str(Label("//build_defs:minimal_build"))

def _minimal_transition_impl(settings, attr):
    return {
        "//command_line_option:compilation_mode": "opt",
        _MINIMAL_BUILD: True,
        # Neither sanitizers nor their compiler options, whatever the test itself is built with.
        "//command_line_option:copt": [],
        "//command_line_option:linkopt": [
            option
            for option in settings["//command_line_option:linkopt"]
            if not option.startswith("-fsanitize") and option != "-lubsan"
        ] + ["-Wl,--icf=all"],
    }

_minimal_transition = transition(
    implementation = _minimal_transition_impl,
    inputs = ["//command_line_option:linkopt"],
    outputs = [
        _MINIMAL_BUILD,
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:linkopt",
    ],
)

def _kd_minimal_binary_impl(ctx):
    binary = ctx.attr.binary[0][DefaultInfo].files_to_run.executable
    stripped = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run_shell(
        inputs = [binary],
        outputs = [stripped],
        command = "strip -o '%s' '%s'" % (stripped.path, binary.path),
        mnemonic = "Strip",
    )
    runfiles = ctx.runfiles(files = [stripped]).merge(ctx.attr.binary[0][DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = stripped, runfiles = runfiles)]

kd_minimal_binary = rule(
    implementation = _kd_minimal_binary_impl,
    doc = "A stripped copy of `binary`, built as with --config=minimal.",
    executable = True,
    attrs = {
        "binary": attr.label(mandatory = True, cfg = _minimal_transition, executable = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def _kd_preprocessed_lines_impl(ctx):
    toolchain = ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    flags = ["-std=c++20"]
    for directory in context.quote_includes.to_list():
        flags.append("-iquote" + directory)
    for directory in context.includes.to_list():
        flags.append("-I" + directory)
    for directory in context.system_includes.to_list():
        flags.append("-isystem" + directory)
    for define in context.defines.to_list():
        flags.append("-D'" + define + "'")
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run_shell(
        inputs = depset(transitive = [context.headers, toolchain.all_files]),
        outputs = [out],
        command = ("echo '#include %s' > include.cc && '%s' %s -E -x c++ include.cc | grep -v '^#' | grep -c '[^[:space:]]' > '%s'" %
                   (ctx.attr.header, toolchain.compiler_executable, " ".join(flags), out.path)),
        mnemonic = "PreprocessedLines",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

kd_preprocessed_lines = rule(
    implementation = _kd_preprocessed_lines_impl,
    doc = "A file with the number of non-blank lines that including `header` brings.",
    attrs = {
        "header": attr.string(mandatory = True, doc = "with its quotes or angle brackets"),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
)
