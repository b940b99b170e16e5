"""The switch that --config=minimal turns."""

def _kd_bool_flag_impl(ctx):
    return []

kd_bool_flag = rule(
    implementation = _kd_bool_flag_impl,
    build_setting = config.bool(flag = True),
)
