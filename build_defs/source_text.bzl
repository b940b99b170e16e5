"""One text file of the repository's own sources, for programs that learn from text."""

_SourcesInfo = provider(doc = "Source files below a target.", fields = ["files"])

def _collect_impl(target, ctx):
    direct = []
    for attribute in ["srcs", "hdrs", "textual_hdrs"]:
        for file in getattr(ctx.rule.files, attribute, []):
            if file.is_source and file.owner.workspace_name == "" and file.extension in ["h", "cc"]:
                direct.append(file)
    below = [dep[_SourcesInfo].files for dep in getattr(ctx.rule.attr, "deps", []) if _SourcesInfo in dep]
    return [_SourcesInfo(files = depset(direct, transitive = below))]

_collect = aspect(implementation = _collect_impl, attr_aspects = ["deps"])

def _path(file):
    return file.short_path

def _source_text_impl(ctx):
    files = depset(transitive = [dep[_SourcesInfo].files for dep in ctx.attr.deps]).to_list()
    inputs = ctx.files.documents + sorted(files, key = _path)
    output = ctx.actions.declare_file(ctx.label.name + ".txt")
    arguments = ctx.actions.args()
    arguments.add_all(inputs)
    arguments.use_param_file("%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run_shell(
        inputs = inputs,
        outputs = [output],
        arguments = [arguments],
        command = "while read -r file || [ -n \"$file\" ]; do cat \"$file\"; done < \"$1\" > " + output.path,
        mnemonic = "SourceText",
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles([output]))]

source_text = rule(
    implementation = _source_text_impl,
    doc = "NAME.txt: the documents, then all C++ sources of the repository that `deps` are made of, sorted by path.",
    attrs = {
        "documents": attr.label_list(allow_files = True),
        "deps": attr.label_list(aspects = [_collect]),
    },
)
