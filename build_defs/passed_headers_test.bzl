"""What a target's users compile with."""

def _passed_headers_test_impl(ctx):
    headers = ctx.attr.target[CcInfo].compilation_context.headers.to_list()
    found = sorted([h.short_path for h in headers if any([h.short_path.startswith(folder) for folder in ctx.attr.without])])
    script = ctx.actions.declare_file(ctx.label.name)
    lines = ["#!/bin/sh"] + ["echo 'FAIL: " + str(ctx.attr.target.label) + " passes on " + path + "'" for path in found]
    ctx.actions.write(script, "\n".join(lines + ["exit " + ("1" if found or not headers else "0"), ""]), is_executable = True)
    return [DefaultInfo(executable = script)]

passed_headers_test = rule(
    implementation = _passed_headers_test_impl,
    doc = "Fails where `target` passes a header in one of the folders `without` on to who depends on it: a change there would " +
          "compile all of them anew.",
    attrs = {
        "target": attr.label(providers = [CcInfo], mandatory = True),
        "without": attr.string_list(mandatory = True),
    },
    test = True,
)
