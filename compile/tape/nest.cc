#include "compile/tape/nest.h"

#include <algorithm>
#include <numeric>

#include "c10/util/exception.h"

namespace torch::compiler::tape {

std::vector<int64_t> evaluated(const std::vector<graph::IntExpr>& list, const std::map<std::string, int64_t>& symbols) {
  std::vector<int64_t> values;
  for (const graph::IntExpr& e : list) values.push_back(e.evaluate(symbols));
  return values;
}

// Bytes along each dimension of the group.
NestOperand operand_of(const graph::TensorInfo& info, const std::vector<int64_t>& sizes,
                       const std::map<std::string, int64_t>& symbols) {
  NestOperand operand{std::vector<int64_t>(sizes.size()), static_cast<int64_t>(c10::elementSize(info.dtype))};
  const std::vector<int64_t> own = evaluated(info.sizes, symbols), strides = evaluated(info.strides, symbols);
  TORCH_CHECK_VALUE(own.size() <= sizes.size() && own.size() == strides.size(), "a tensor of ", own.size(),
                    " dimensions is not one of a group of ", sizes.size());
  const size_t lead = sizes.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) {
    TORCH_CHECK_VALUE(own[d] == sizes[lead + d] || own[d] == 1, "a tensor of sizes ", c10::IntArrayRef(own),
                      " does not broadcast to a group of sizes ", c10::IntArrayRef(sizes));
    if (own[d] == sizes[lead + d]) operand.strides[lead + d] = strides[d] * operand.item;
  }
  return operand;
}

Nest::Nest(const std::vector<int64_t>& sizes, const std::vector<NestOperand>& operands, size_t leader, size_t fixed) {
  for (const int64_t size : sizes) numel_ *= size;
  for (const NestOperand& operand : operands) items_.push_back(operand.item);
  const size_t rank = sizes.size(), free = rank - fixed;
  std::vector<size_t> order(rank);  // outermost first
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t>& along = operands.at(leader).strides;
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(free),
                   [&](size_t a, size_t b) { return along[a] > along[b]; });
  for (size_t i = rank; i-- > 0;) {
    const size_t d = order[i];
    if (sizes[d] == 1) continue;
    std::vector<int64_t> strides;
    for (const NestOperand& operand : operands) strides.push_back(operand.strides[d]);
    // Goes on where the dimension below ends.
    bool joins = !sizes_.empty();
    for (size_t k = 0; k < operands.size() && joins; ++k) joins = strides[k] == strides_.back()[k] * sizes_.back();
    if (joins) {
      sizes_.back() *= sizes[d];
      continue;
    }
    sizes_.push_back(sizes[d]);
    strides_.push_back(std::move(strides));
  }
}

bool Nest::is_flat(size_t operand) const {
  int64_t expected = items_[operand];
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (strides_[d][operand] != expected) return false;
    expected *= sizes_[d];
  }
  return true;
}
bool Nest::is_same(size_t operand) const {
  return std::all_of(strides_.begin(), strides_.end(), [&](const auto& strides) { return strides[operand] == 0; });
}
int64_t Nest::period(size_t operand) const {
  size_t outer = sizes_.size();
  while (outer > 0 && strides_[outer - 1][operand] == 0) --outer;
  if (outer == sizes_.size()) return 0;
  int64_t elements = 1;
  for (size_t d = 0; d < outer; ++d) elements *= sizes_[d];
  return elements;
}

int64_t Nest::offset(size_t operand, int64_t index) const {
  int64_t at = 0;
  for (size_t d = 0; d < sizes_.size() && index > 0; ++d) {
    at += index % sizes_[d] * strides_[d][operand];
    index /= sizes_[d];
  }
  return at;
}

}  // namespace torch::compiler::tape
