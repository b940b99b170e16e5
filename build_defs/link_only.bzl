"""What others link and do not compile with."""

def _kd_link_only_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    return [DefaultInfo(), CcInfo(linking_context = merged.linking_context)]

kd_link_only = rule(
    implementation = _kd_link_only_impl,
    doc = "Passes on what `deps` link, without their headers: a change of those compiles nothing beyond.",
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)
