#include "graph/passes/relayout.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "c10/core/memory_format.h"
#include "c10/dispatch/registry.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

Value* insert(Node* place, const char* op, std::vector<Operand> operands) {
  const Callable callable(c10::Dispatcher::singleton().findSchemaOrThrow(op, ""));
  auto node = place->graph().call(callable, std::move(operands));
  Value* const result = node->result();
  node.release()->move_before(place);
  return result;
}

}  // namespace

Value* with_strides(Value* value, const TensorInfo& wanted, Node* place) {
  const size_t dims = wanted.sizes.size();
  if (value->info() != nullptr && value->info()->strides == wanted.strides) return value;
  if (wanted.strides.size() != dims) return value;
  if (is_row_major(wanted)) {
    Value* const made = insert(place, "aten::clone", {Operand(value), c10::IValue(c10::MemoryFormat::Contiguous)});
    made->set_info(wanted);
    return made;
  }
  std::vector<int64_t> sizes, strides;
  for (size_t d = 0; d < dims; ++d) {
    if (!wanted.sizes[d].is_constant() || !wanted.strides[d].is_constant()) return value;
    sizes.push_back(wanted.sizes[d].value());
    strides.push_back(wanted.strides[d].value());
  }
  // The dimensions as they lie, outermost first.
  std::vector<int64_t> order(dims);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    return strides[i] != strides[j] ? strides[i] > strides[j] : a < b;
  });
  int64_t expected = 1;
  for (size_t k = dims; k-- > 0;) {
    const auto d = static_cast<size_t>(order[k]);
    if (sizes[d] != 1 && strides[d] != expected) return value;
    expected *= std::max<int64_t>(sizes[d], 1);
  }
  std::vector<int64_t> back(dims);
  for (size_t k = 0; k < dims; ++k) back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  Value* made = insert(place, "aten::permute", {Operand(value), c10::IValue(order)});
  made = insert(place, "aten::clone", {Operand(made), c10::IValue(c10::MemoryFormat::Contiguous)});
  made = insert(place, "aten::permute", {Operand(made), c10::IValue(back)});
  made->set_info(wanted);
  return made;
}

}  // namespace torch::graph
