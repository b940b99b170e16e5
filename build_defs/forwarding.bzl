"""Headers that only include another one, too many to write down: a folder of them made at build time."""

def _forwarding_headers_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add(folder.path)
    arguments.add(ctx.executable.generate)
    arguments.add_all(ctx.files.tables, format_each = "--table=%s")
    arguments.add_all(ctx.files.headers, format_each = "%s")
    ctx.actions.run_shell(
        inputs = ctx.files.tables,
        tools = [ctx.executable.generate],
        outputs = [folder],
        arguments = [arguments],
        command = """
set -e
out="$1"; generate="$2"; shift 2
tables=()
while [[ "${1:-}" == --table=* ]]; do tables+=("$1"); shift; done
mkdir -p "$out/ATen/ops"
"$generate" --operator_headers="$out/ATen/ops" "${tables[@]}"
for header in "$@"; do
  path="${header#*include/}"
  long="$out/torch/csrc/api/include/$path"
  mkdir -p "${long%/*}"
  printf '#pragma once\\n\\n#include <%s>\\n' "$path" >"$long"
done
""",
    )
    context = cc_common.create_compilation_context(headers = depset([folder]), includes = depset([folder.path]))
    return [
        DefaultInfo(files = depset([folder])),
        CcInfo(compilation_context = context),
    ]

# <ATen/ops/NAME.h> for every operator of the tables, and <torch/csrc/api/include/torch/...> for every header under torch/.
forwarding_headers = rule(
    implementation = _forwarding_headers_impl,
    attrs = {
        "tables": attr.label_list(allow_files = True),
        "headers": attr.label_list(allow_files = [".h"]),
        "generate": attr.label(default = "//aten/codegen:generate", executable = True, cfg = "host"),
    },
)
