"""The switches that --config=minimal and --config=cuda turn."""

def _kd_bool_flag_impl(ctx):
    return []

kd_bool_flag = rule(
    implementation = _kd_bool_flag_impl,
    build_setting = config.bool(flag = True),
)
