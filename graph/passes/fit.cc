#include "graph/passes/fit.h"

#include <algorithm>

namespace torch::graph {
namespace {

using Symbols = std::map<std::string, int64_t>;

constexpr int64_t kLargestDivisor = 64;
constexpr size_t kMostSymbols = 8;  // in a search of products
// Of all residues by small divisors, so that roundings differ.
constexpr int64_t kOffsets[] = {0, 1, 3, 4, 8, 13, 18, 23, 30, 35, 45, 54, 61, 66, 76, 97};
constexpr size_t kPoints = std::size(kOffsets);

bool times(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

// a*m + c through all values, if there is one.
std::optional<IntExpr> affine(const std::vector<int64_t>& values, const std::vector<int64_t>& m, const IntExpr& expr) {
  const auto other = std::find_if(m.begin(), m.end(), [&](int64_t v) { return v != m[0]; });
  if (other == m.end()) return std::nullopt;
  const auto i = static_cast<size_t>(other - m.begin());
  const int64_t rise = values[i] - values[0], run = m[i] - m[0];
  if (rise % run != 0) return std::nullopt;
  const int64_t a = rise / run;
  int64_t product = 0, c = 0;
  if (!times(a, m[0], &product) || __builtin_sub_overflow(values[0], product, &c)) return std::nullopt;
  for (size_t p = 0; p < values.size(); ++p) {
    if (!times(a, m[p], &product) || values[p] - product != c) return std::nullopt;
  }
  return a * expr + c;
}

std::optional<IntExpr> quotient(const std::vector<int64_t>& values, const std::vector<int64_t>& s,
                                const IntExpr& symbol) {
  std::optional<IntExpr> found;
  for (int64_t k = 2; k <= kLargestDivisor; ++k) {
    // k*y <= s + c < k*y + k
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (size_t p = 0; p < values.size(); ++p) {
      int64_t product = 0;
      if (!times(k, values[p], &product) || product > INT64_MAX / 2 || product < INT64_MIN / 2) return std::nullopt;
      low = std::max(low, product - s[p]);
      high = std::min(high, product - s[p] + k - 1);
    }
    if (low > high) continue;
    if (low < high || found.has_value()) return std::nullopt;
    found = floordiv(symbol + low, k);
  }
  return found;
}

}  // namespace

std::vector<Symbols> sample_points(const std::set<std::string>& symbols,
                                   const std::map<std::string, IntRange>& ranges) {
  if (symbols.empty()) return {{}};
  std::vector<Symbols> points(kPoints);
  size_t number = 0;
  for (const std::string& name : symbols) {
    const auto range = ranges.find(name);
    const int64_t low = range == ranges.end() ? 2 : std::max<int64_t>(range->second.min, 1);
    const int64_t high = range == ranges.end() ? INT64_MAX : range->second.max;
    for (size_t p = 0; p < kPoints; ++p) {
      // Each symbol goes through the offsets in an order of its own: steps that have no divisor with 16.
      const size_t step = 2 * number + 1;
      int64_t offset = kOffsets[p * step % kPoints];
      if (high > low && high - low < kOffsets[kPoints - 1]) offset %= high - low + 1;
      points[p][name] = high <= low ? low : low + offset;
    }
    ++number;
  }
  return points;
}

std::optional<IntExpr> fit(const std::vector<int64_t>& values, const std::vector<Symbols>& points) {
  if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; })) return IntExpr(values[0]);
  std::vector<std::string> names;
  for (const auto& [name, value] : points[0]) names.push_back(name);
  const size_t count = std::min(names.size(), kMostSymbols);
  const auto values_of = [&](const std::string& name) {
    std::vector<int64_t> all;
    for (const Symbols& point : points) all.push_back(point.at(name));
    return all;
  };
  // Products of one, two and three symbols, in this order.
  struct Product {
    std::vector<int64_t> values;
    IntExpr expr;
    size_t last;
  };
  std::vector<Product> products{{std::vector<int64_t>(values.size(), 1), IntExpr(1), 0}};
  for (int degree = 1; degree <= 3; ++degree) {
    std::vector<Product> next;
    for (const Product& product : products) {
      for (size_t i = product.last; i < count; ++i) {
        const std::vector<int64_t> factor = values_of(names[i]);
        Product longer{product.values, product.expr * IntExpr::symbol(names[i]), i};
        bool fits = true;
        for (size_t p = 0; p < factor.size(); ++p) fits = fits && times(longer.values[p], factor[p], &longer.values[p]);
        if (!fits) continue;
        if (const std::optional<IntExpr> found = affine(values, longer.values, longer.expr)) return found;
        next.push_back(std::move(longer));
      }
    }
    products = std::move(next);
    if (degree > 1) continue;
    for (size_t i = 0; i < count; ++i) {
      const std::optional<IntExpr> found = quotient(values, values_of(names[i]), IntExpr::symbol(names[i]));
      if (found.has_value()) return found;
    }
  }
  return std::nullopt;
}

namespace {

// The numbers that `list` picks from each info, as expressions.
template <class Pick>
std::optional<std::vector<IntExpr>> fit_list(const std::vector<TensorInfo>& infos, const std::vector<Symbols>& points,
                                             const Pick& pick) {
  std::vector<IntExpr> all;
  for (size_t i = 0; i < pick(infos[0]).size(); ++i) {
    std::vector<int64_t> values;
    for (const TensorInfo& info : infos) values.push_back(pick(info)[i].value());
    const std::optional<IntExpr> number = fit(values, points);
    if (!number.has_value()) return std::nullopt;
    all.push_back(*number);
  }
  return all;
}

}  // namespace

std::optional<TensorInfo> fit_info(const std::vector<TensorInfo>& infos, const std::vector<Symbols>& points) {
  TensorInfo info = infos.at(0);
  for (const TensorInfo& other : infos) {
    const bool alike = other.dtype == info.dtype && other.device == info.device && other.layout == info.layout &&
                       other.sizes.size() == info.sizes.size() && other.strides.size() == info.strides.size();
    if (!alike) return std::nullopt;
  }
  const auto sizes = fit_list(
      infos, points, [](const TensorInfo& i) -> const auto& { return i.sizes; });
  const auto offset = fit_list(infos, points, [](const TensorInfo& i) { return std::vector{i.storage_offset}; });
  if (!sizes.has_value() || !offset.has_value()) return std::nullopt;
  info.sizes = *sizes;
  info.storage_offset = offset->at(0);
  // Strides of a contiguous tensor are products of sizes, whatever these are.
  const size_t dims = info.strides.size();
  std::vector<IntExpr> strides(dims, IntExpr(1));
  for (size_t d = dims; d-- > 1;) strides[d - 1] = strides[d] * info.sizes[d];
  bool contiguous = true;
  for (size_t p = 0; p < points.size() && contiguous; ++p) {
    for (size_t d = 0; d < dims; ++d) {
      contiguous = contiguous && strides[d].evaluate(points[p]) == infos[p].strides[d].value();
    }
  }
  if (contiguous) {
    info.strides = std::move(strides);
    return info;
  }
  const auto other = fit_list(
      infos, points, [](const TensorInfo& i) -> const auto& { return i.strides; });
  if (!other.has_value()) return std::nullopt;
  info.strides = *other;
  return info;
}

}  // namespace torch::graph
