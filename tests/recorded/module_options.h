// What the classes of torch.nn that are built by name share.
#pragma once

#include <string>
#include <vector>

#include "nn/options/enum.h"
#include "nn/options/expanding_array.h"
#include "tests/recorded/modules.h"

namespace recorded {

using Tensors = std::vector<at::Tensor>;

// One number stands for all.
template <size_t D>
torch::ExpandingArray<D> array_of(const Json& v) {
  std::vector<int64_t> all = integers(v);
  if (all.size() == 1) all.assign(D, all[0]);
  return torch::ExpandingArray<D>(all);
}
template <size_t D>
torch::ExpandingArray<D> array_of(const Json& c, const char* key, torch::ExpandingArray<D> otherwise) {
  return has(c, key) ? array_of<D>(c.at(key)) : otherwise;
}

template <typename Options>
Options reduced(Options options, const Json& c) {
  const std::string reduction = text_of(c, "reduction", "mean");
  if (reduction == "none") return options.reduction(torch::kNone);
  if (reduction == "sum") return options.reduction(torch::kSum);
  if (reduction != "mean") refuse_value("reduction", reduction);
  return options.reduction(torch::kMean);
}

// A module that takes tensors and gives one. Its hooks run.
template <size_t N, typename Holder>
Built plain(Holder holder) {
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            const Tensors& x = call.inputs;
            if constexpr (N == 1) return {holder(x.at(0))};
            if constexpr (N == 2) return {holder(x.at(0), x.at(1))};
            if constexpr (N == 3) return {holder(x.at(0), x.at(1), x.at(2))};
            if constexpr (N == 4) return {holder(x.at(0), x.at(1), x.at(2), x.at(3))};
          }};
}

}  // namespace recorded
