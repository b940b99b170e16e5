"""Headers that only include another one, too many to write down: a folder of them made at build time."""

def _forwarding_headers_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    every = ctx.actions.declare_file(ctx.label.name + "_all.cc")
    arguments = ctx.actions.args()
    arguments.add(folder.path)
    arguments.add(every.path)
    arguments.add(ctx.file.operator_families)
    arguments.add(ctx.file.paths)
    arguments.add_all(ctx.files.headers)
    ctx.actions.run_shell(
        inputs = [ctx.file.operator_families, ctx.file.paths],
        outputs = [folder, every],
        arguments = [arguments],
        command = """
set -e
out="$1"; every="$2"; families="$3"; paths="$4"; shift 4
mkdir -p "$out/ATen/ops"
while read -r name from; do
  { printf '#pragma once\\n\\n'; printf '#include "aten/ops/%s/ops.h"\\n' $from; } >"$out/ATen/ops/$name.h"
done <"$families"
long() {
  long="$out/torch/csrc/api/include/$1"
  mkdir -p "${long%/*}"
  printf '#pragma once\\n\\n#include <%s>\\n' "$1" >"$long"
}
for header in "$@"; do
  long "${header#*include/}"
done
echo '// Every path of the table.' >"$every"
while read -r path from; do
  case "$path" in '' | '#'*) continue ;; esac
  mkdir -p "$out/${path%/*}"
  { printf '#pragma once\\n\\n'; printf '#include "%s"\\n' $from; } >"$out/$path"
  printf '#include <%s>\\n' "$path" >>"$every"
  case "$path" in torch/csrc/*) ;; torch/*) long "$path" ;; esac
done <"$paths"
""",
    )
    context = cc_common.create_compilation_context(headers = depset([folder]), includes = depset([folder.path]))
    return [
        DefaultInfo(files = depset([folder])),
        CcInfo(compilation_context = context),
        OutputGroupInfo(all_paths = depset([every])),
    ]

# <ATen/ops/NAME.h> for every operator, the paths of a table, and <torch/csrc/api/include/torch/...> for every header under torch/.
# The output group all_paths is a source that includes every path of the table.
forwarding_headers = rule(
    implementation = _forwarding_headers_impl,
    attrs = {
        "operator_families": attr.label(allow_single_file = True, doc = "Lines of an operator's name and the families that have it."),
        "paths": attr.label(allow_single_file = True, doc = "Lines of a path and the headers that it stands for."),
        "headers": attr.label_list(allow_files = [".h"]),
    },
)
