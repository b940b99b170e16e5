"""Headers that only include another one, too many to write down: a folder of them made at build time."""

def _forwarding_headers_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add(folder.path)
    arguments.add(ctx.file.operator_families)
    arguments.add_all(ctx.files.headers)
    ctx.actions.run_shell(
        inputs = [ctx.file.operator_families],
        outputs = [folder],
        arguments = [arguments],
        command = """
set -e
out="$1"; families="$2"; shift 2
mkdir -p "$out/ATen/ops"
while read -r name from; do
  { printf '#pragma once\\n\\n'; printf '#include "aten/ops/%s/ops.h"\\n' $from; } >"$out/ATen/ops/$name.h"
done <"$families"
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

# <ATen/ops/NAME.h> for every operator, and <torch/csrc/api/include/torch/...> for every header under torch/.
forwarding_headers = rule(
    implementation = _forwarding_headers_impl,
    attrs = {
        "operator_families": attr.label(allow_single_file = True, doc = "Lines of an operator's name and the families that have it."),
        "headers": attr.label_list(allow_files = [".h"]),
    },
)
