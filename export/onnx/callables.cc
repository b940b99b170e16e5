#include "export/onnx/callables.h"

#include <map>
#include <string>
#include <utility>

#include "c10/dispatch/function_schema.h"
#include "c10/util/exception.h"
#include "export/onnx/onnx.h"

namespace torch::onnx {

std::optional<graph::Callable> callable(std::string_view name) {
  using Known = std::pair<c10::FunctionSchema, graph::Callable::Function>;
  static const std::map<std::string, Known, std::less<>>& all = *[] {
    auto* made = new std::map<std::string, Known, std::less<>>;
    for (const c10::ArrayRef<OwnCallable> table :
         {shape_callables(), math_callables(), window_callables(), network_callables(), quantized_callables()}) {
      for (const OwnCallable& one : table) {
        c10::FunctionSchema schema = c10::parse_schema(one.schema);
        std::string own_name = schema.name();
        TORCH_INTERNAL_ASSERT(made->emplace(own_name, Known(std::move(schema), one.function)).second, own_name);
      }
    }
    return made;
  }();
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return graph::Callable(found->second.first, found->second.second);
}

}  // namespace torch::onnx
