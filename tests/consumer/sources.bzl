"""What a target and all that it depends on are compiled from, as the output group `sources`."""

def _all_sources_impl(target, ctx):
    files = [f for name in ("srcs", "hdrs", "textual_hdrs") for label in getattr(ctx.rule.attr, name, []) for f in label.files.to_list()]
    deps = [dep[OutputGroupInfo].sources for dep in getattr(ctx.rule.attr, "deps", []) if hasattr(dep[OutputGroupInfo], "sources")]
    return [OutputGroupInfo(sources = depset(files, transitive = deps))]

all_sources = aspect(implementation = _all_sources_impl, attr_aspects = ["deps"])
