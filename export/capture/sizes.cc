#include "export/capture/sizes.h"

#include <algorithm>
#include <cstring>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch::export_detail {

using c10::IValue;
using graph::IntExpr;
using graph::IntRange;

Sizes::Sizes(const std::vector<IValue>& leaves, const std::vector<std::map<int64_t, Dim>>& dims) : leaves_(leaves) {
  TORCH_CHECK_VALUE(dims.size() <= leaves.size(), "export_: dynamic_shapes are of ", dims.size(),
                    " inputs, but there are ", leaves.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    for (const auto& [dim, given] : dims[i]) add(i, dim, given);
  }
}

void Sizes::add(size_t leaf, int64_t dim, const Dim& given) {
  TORCH_CHECK_VALUE(leaves_[leaf].isTensor(), "export_: dynamic_shapes name a dimension of input ", leaf,
                    ", which is no tensor");
  const at::Tensor tensor = leaves_[leaf].toTensor();
  const int64_t dims = tensor.dim(), place = dim < 0 ? dim + dims : dim;
  TORCH_CHECK_VALUE(place >= 0 && place < dims, "export_: dynamic_shapes name dimension ", dim, " of input ", leaf,
                    ", which has sizes ", tensor.sizes());
  const int64_t size = tensor.size(place);
  const bool named = !given.name().empty();
  const std::string name = named ? given.name() : "dim_" + std::to_string(leaf) + "_" + std::to_string(place);
  const auto [known, fresh] = bounds_.emplace(name, given.bounds());
  TORCH_CHECK_VALUE(named || fresh, "export_: dimension ", dim, " of input ", leaf, " is named twice, or its name '",
                    name, "' is taken");
  TORCH_CHECK_VALUE(known->second == given.bounds(), "export_: there are two dims '", name, "' with other bounds");
  const int64_t rest = size - given.offset();
  TORCH_CHECK_VALUE(rest % given.factor() == 0, "export_: input ", leaf, " has size ", size, " in dimension ", dim,
                    ", which is no ", given.expr().str());
  const int64_t value = rest / given.factor();
  const int64_t min = given.bounds().min.value_or(1), max = given.bounds().max.value_or(INT64_MAX);
  TORCH_CHECK_VALUE(value >= min && value <= max, "export_: input ", leaf, " has size ", size, " in dimension ", dim,
                    ", so that ", name, " is ", value, ", out of its range of ", min, " to ", max);
  const auto [seen, first] = example_.emplace(name, value);
  TORCH_CHECK_VALUE(seen->second == value, "export_: input ", leaf, " has size ", size, " in dimension ", dim,
                    ", so that ", name, " is ", value, ", but another input says ", seen->second);
  const bool twice = !exprs_.emplace(std::pair(leaf, place), named ? given.expr() : IntExpr::symbol(name)).second;
  TORCH_CHECK_VALUE(!twice, "export_: dimension ", dim, " of input ", leaf, " is named twice");
}

std::map<std::string, IntRange> Sizes::ranges(int64_t min) const {
  std::map<std::string, IntRange> all;
  for (const auto& [name, bounds] : bounds_) {
    const int64_t high = bounds.max.value_or(INT64_MAX);
    all[name] = {bounds.min.value_or(std::min(min, high)), high};
  }
  return all;
}

std::vector<IValue> Sizes::at(const Symbols& symbols) const {
  const c10::NoGradGuard no_grad;
  std::vector<IValue> made;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].isTensor()) {
      made.push_back(leaves_[i]);
      continue;
    }
    const at::Tensor given = leaves_[i].toTensor();
    at::Tensor t = at::clone(given.detach());
    for (const auto& [place, expr] : exprs_) {
      if (place.first != i) continue;
      const int64_t old = t.size(place.second), size = expr.evaluate(symbols);
      if (old == size) continue;
      TORCH_CHECK_VALUE(size >= 0, "export_: ", expr.str(), " is ", size, " where ", text_of(symbols));
      if (old == 0) {
        std::vector<int64_t> sizes = t.sizes().vec();
        sizes[static_cast<size_t>(place.second)] = size;
        t = at::zeros(sizes, t.options());
        continue;
      }
      const at::Tensor from = at::empty({size}, at::kLong);
      for (int64_t k = 0; k < size; ++k) from.mutable_data_ptr<int64_t>()[k] = k % old;
      t = at::index_select(t, place.second, from.to(t.device()));
    }
    if (given.requires_grad()) t.set_requires_grad(true);
    made.emplace_back(t);
  }
  return made;
}

std::optional<int64_t> Sizes::bytes(const Symbols& symbols) const {
  int64_t all = 0;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].isTensor()) continue;
    const at::Tensor t = leaves_[i].toTensor();
    auto own = static_cast<int64_t>(c10::elementSize(t.scalar_type()));
    for (int64_t d = 0; d < t.dim(); ++d) {
      const auto expr = exprs_.find({i, d});
      int64_t size = t.size(d);
      try {
        if (expr != exprs_.end()) size = expr->second.evaluate(symbols);
      } catch (const c10::ValueError&) {
        return std::nullopt;
      }
      if (__builtin_mul_overflow(own, size, &own)) return std::nullopt;
    }
    if (__builtin_add_overflow(all, own, &all)) return std::nullopt;
  }
  return all;
}

std::string text_of(const Symbols& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

std::vector<Symbols> held_out_points(const std::map<std::string, IntRange>& ranges,
                                     const std::vector<Symbols>& points) {
  std::vector<Symbols> made(5);
  const auto least = [](const IntRange& r) { return std::max<int64_t>(r.min, 0); };
  size_t number = 0;
  for (const auto& [name, range] : ranges) {
    // The ends; then sizes that are no sample's, in another order for each symbol.
    made[0][name] = least(range);
    made[1][name] = range.max == INT64_MAX ? least(range) + 33 : range.max;
    const int64_t offsets[] = {2, 7, 20};
    for (size_t k = 0; k < 3; ++k) {
      const int64_t low = least(range), span = range.max - low;
      const int64_t offset = offsets[(k + number) % 3];
      made[2 + k][name] = low + (span < offset ? span / 2 : offset);
    }
    ++number;
  }
  made.erase(
      std::remove_if(made.begin(), made.end(),
                     [&](const Symbols& s) { return std::find(points.begin(), points.end(), s) != points.end(); }),
      made.end());
  return made;
}

std::string difference(const IValue& a, const IValue& b) {
  if (a.isTensor() != b.isTensor()) return "one is a tensor";
  if (a.isTensor()) {
    const at::Tensor x = a.toTensor(), y = b.toTensor();
    if (x.scalar_type() != y.scalar_type()) return c10::str("dtypes ", x.scalar_type(), " and ", y.scalar_type());
    if (x.is_nested() || y.is_nested() || x.layout() != c10::kStrided || y.layout() != c10::kStrided) return "";
    if (x.sizes() != y.sizes()) return c10::str("sizes ", x.sizes(), " and ", y.sizes());
    if (x.is_meta() || x.is_quantized()) return "";
    const c10::NoGradGuard no_grad;
    const at::Tensor p = at::clone(x.cpu(), c10::MemoryFormat::Contiguous),
                     q = at::clone(y.cpu(), c10::MemoryFormat::Contiguous);
    const bool same = p.nbytes() == 0 || std::memcmp(p.const_data_ptr(), q.const_data_ptr(), p.nbytes()) == 0;
    return same ? "" : "other elements";
  }
  if (a.tag() != b.tag()) return c10::str("values of type ", a.tagKind(), " and ", b.tagKind());
  if (a.isInt()) return a.toInt() == b.toInt() ? "" : "other integers";
  if (a.isBool()) return a.toBool() == b.toBool() ? "" : "other truth values";
  if (a.isString()) return a.toStringRef() == b.toStringRef() ? "" : "other texts";
  if (a.isDouble()) {
    const double x = a.toDouble(), y = b.toDouble();
    return std::memcmp(&x, &y, sizeof x) == 0 ? "" : "other numbers";
  }
  return "";
}

}  // namespace torch::export_detail
