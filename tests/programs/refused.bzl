"""Targets that are refused while they are analysed."""

def _refused_test_impl(ctx):
    target = ctx.attr.target[0]
    causes = [cause.message for cause in target[AnalysisFailureInfo].causes.to_list()] if AnalysisFailureInfo in target else []
    found = [message for message in causes if ctx.attr.message in message]
    return [AnalysisTestResultInfo(
        success = len(found) > 0,
        message = "expected to be refused with \"%s\", but got: %s" % (ctx.attr.message, "; ".join(causes) or "no refusal"),
    )]

_refused_test = rule(
    implementation = _refused_test_impl,
    analysis_test = True,
    attrs = {
        "message": attr.string(mandatory = True),
        "target": attr.label(
            cfg = analysis_test_transition(settings = {"//command_line_option:allow_analysis_failures": "True"}),
            mandatory = True,
        ),
    },
)

def refused_test(name, target, message):
    """Passes where the analysis of `target` fails with a message that has `message` in it."""
    _refused_test(name = name, target = target, message = message)
