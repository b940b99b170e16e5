// einsum: each operand becomes a tensor with one dimension for every subscript; pairs of them are multiplied as batches of
// matrices, and a subscript is summed as soon as no later operand has it.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

constexpr int kLetters = 52;

int letter_index(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return -1;
}

char letter_of(int index) { return static_cast<char>(index < 26 ? 'A' + index : 'a' + index - 26); }

// The subscripts of one operand or of the result; kEllipsis stands for "...".
constexpr int kEllipsis = -1;
using Subscripts = std::vector<int>;

// `where`: whose subscripts these are; `offset`: where they begin in the equation.
Subscripts parse(std::string_view text, const std::string& where, size_t offset) {
  Subscripts s;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      TORCH_CHECK(!ellipsis, "einsum(): found '.' for ", where, " for which an ellipsis was already found");
      TORCH_CHECK(text.substr(i, 3) == "...", "einsum(): found '.' for ", where, " that is not part of any ellipsis");
      ellipsis = true;
      i += 2;
      s.push_back(kEllipsis);
      continue;
    }
    const int index = letter_index(text[i]);
    TORCH_CHECK(index >= 0, "einsum(): invalid subscript given at index ", offset + i,
                " in the equation string, subscripts must be in [a-zA-Z]");
    s.push_back(index);
  }
  return s;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// Every tensor here has `rank` dimensions, in the same order of subscripts; those it lacks have size 1.
Tensor multiply(Tensor left, Tensor right, const std::vector<bool>& summed) {
  const int64_t rank = left.dim();
  DimVector batch, left_only, right_only, contracted, left_sum, right_sum;
  for (int64_t d = 0; d < rank; ++d) {
    const bool in_left = left.size(d) != 1, in_right = right.size(d) != 1;
    if (summed[static_cast<size_t>(d)]) {
      if (in_left && in_right) contracted.push_back(d);
      else if (in_left) left_sum.push_back(d);
      else if (in_right) right_sum.push_back(d);
      else batch.push_back(d);
    } else {
      (in_left && in_right ? batch : in_left ? left_only : in_right ? right_only : batch).push_back(d);
    }
  }
  if (!left_sum.empty()) left = at::sum(left, IntArrayRef(left_sum), true, std::nullopt);
  if (!right_sum.empty()) right = at::sum(right, IntArrayRef(right_sum), true, std::nullopt);
  // A dimension that was summed away stands among the batch ones with size 1.
  batch.insert(batch.end(), left_sum.begin(), left_sum.end());
  batch.insert(batch.end(), right_sum.begin(), right_sum.end());
  auto count = [](const Tensor& t, const DimVector& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= t.size(d);
    return n;
  };
  auto order = [](std::initializer_list<const DimVector*> lists) {
    DimVector r;
    for (const DimVector* l : lists) r.insert(r.end(), l->begin(), l->end());
    return r;
  };
  const int64_t b = count(left, batch), m = count(left, left_only), k = count(left, contracted), n = count(right, right_only);
  const Tensor a = at::reshape(at::permute(left, order({&batch, &left_only, &contracted, &right_only})), {b, m, k});
  const Tensor c = at::reshape(at::permute(right, order({&batch, &contracted, &right_only, &left_only})), {b, k, n});
  // The result has the dimensions in the order batch, left, right, contracted (now of size 1).
  const DimVector made = order({&batch, &left_only, &right_only, &contracted});
  DimVector sizes, back(static_cast<size_t>(rank));
  for (size_t i = 0; i < made.size(); ++i) {
    const int64_t d = made[i];
    const bool gone = std::find(contracted.begin(), contracted.end(), d) != contracted.end();
    sizes.push_back(gone ? 1 : std::max(left.size(d), right.size(d)) == 1 ? 1 : left.size(d) != 1 ? left.size(d) : right.size(d));
    back[static_cast<size_t>(d)] = static_cast<int64_t>(i);
  }
  return at::permute(at::reshape(at::bmm(a, c), sizes), back);
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef path) {
  TORCH_CHECK(!tensors.empty(), "einsum(): must provide at least one operand");
  const size_t arrow = equation.find("->");
  const std::vector<std::string_view> texts = split(equation.substr(0, arrow), ',');
  TORCH_CHECK(texts.size() == tensors.size(), texts.size() > tensors.size()
                                                  ? "einsum(): fewer operands were provided than specified in the equation"
                                                  : "einsum(): more operands were provided than specified in the equation");
  // How many dimensions the longest ellipsis covers.
  std::vector<Subscripts> operands;
  std::array<int, kLetters> seen{};
  int64_t covered = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back(parse(texts[i], c10::str("operand ", i), static_cast<size_t>(texts[i].data() - equation.data())));
    const Subscripts& s = operands.back();
    const bool ellipsis = std::find(s.begin(), s.end(), kEllipsis) != s.end();
    const int64_t named = static_cast<int64_t>(s.size()) - (ellipsis ? 1 : 0);
    TORCH_CHECK(ellipsis ? named <= tensors[i].dim() : named == tensors[i].dim(),
                "einsum(): the number of subscripts in the equation (", named, ")",
                ellipsis ? " is more than the number of dimensions (" : " does not match the number of dimensions (", tensors[i].dim(),
                ") for operand ", i, ellipsis ? "" : " and no ellipsis was given");
    if (ellipsis) covered = std::max(covered, tensors[i].dim() - named);
    for (int x : s)
      if (x != kEllipsis) ++seen[static_cast<size_t>(x)];
  }
  // The result's subscripts: given, or the ellipsis and then those that occur once, in order.
  Subscripts result;
  if (arrow == std::string_view::npos) {
    if (covered > 0) result.push_back(kEllipsis);
    for (int x = 0; x < kLetters; ++x)
      if (seen[static_cast<size_t>(x)] == 1) result.push_back(x);
  } else {
    result = parse(equation.substr(arrow + 2), "the output", arrow + 2);
    std::array<bool, kLetters> used{};
    for (int x : result) {
      if (x == kEllipsis) continue;
      TORCH_CHECK(!used[static_cast<size_t>(x)], "einsum(): output subscript ", letter_of(x), " appears more than once in the output");
      TORCH_CHECK(seen[static_cast<size_t>(x)] > 0, "einsum(): output subscript ", letter_of(x),
                  " does not appear in the equation for any input operand");
      used[static_cast<size_t>(x)] = true;
    }
  }
  // The place of every subscript: first the result's, then those to sum. Ellipsis dimensions count from its right.
  std::array<int64_t, kLetters> place;
  place.fill(-1);
  int64_t rank = 0, ellipsis_place = -1;
  for (int x : result) {
    if (x == kEllipsis) ellipsis_place = rank, rank += covered;
    else place[static_cast<size_t>(x)] = rank++;
  }
  const int64_t kept = rank;
  if (ellipsis_place < 0) ellipsis_place = rank, rank += covered;
  for (int x = 0; x < kLetters; ++x)
    if (seen[static_cast<size_t>(x)] > 0 && place[static_cast<size_t>(x)] < 0) place[static_cast<size_t>(x)] = rank++;

  const auto named_at = [&](int64_t p) {
    const auto found = std::find(place.begin(), place.end(), p);
    return found == place.end() ? std::string("a dimension of the ellipsis")
                                : std::string("subscript ") + letter_of(static_cast<int>(found - place.begin()));
  };
  DimVector sizes(static_cast<size_t>(rank), 1);
  std::vector<Tensor> spread;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor t = tensors[i];
    const int64_t named = static_cast<int64_t>(operands[i].size()) - static_cast<int64_t>(std::count(operands[i].begin(), operands[i].end(), kEllipsis));
    const int64_t own = t.dim() - named;
    std::vector<int64_t> at;  // the place of each dimension of t
    std::vector<int> letters;  // its subscript
    for (int x : operands[i]) {
      if (x == kEllipsis)
        for (int64_t e = 0; e < own; ++e) at.push_back(ellipsis_place + covered - own + e);
      else at.push_back(place[static_cast<size_t>(x)]);
      letters.resize(at.size(), x);
    }
    // A repeated subscript takes the diagonal.
    for (size_t first = 0; first < at.size(); ++first) {
      for (size_t second = at.size() - 1; second > first; --second) {
        if (at[first] != at[second]) continue;
        TORCH_CHECK(t.size(static_cast<int64_t>(first)) == t.size(static_cast<int64_t>(second)), "einsum(): subscript ", letter_of(letters[first]), " is repeated for operand ", i,
                    " but the sizes don't match, ",
                    t.size(static_cast<int64_t>(second)), " != ", t.size(static_cast<int64_t>(first)));
        t = at::movedim(at::diagonal(t, 0, static_cast<int64_t>(first), static_cast<int64_t>(second)), -1, static_cast<int64_t>(first));
        at.erase(at.begin() + static_cast<int64_t>(second));
        letters.erase(letters.begin() + static_cast<int64_t>(second));
      }
    }
    DimVector order(at.size());
    for (size_t d = 0; d < at.size(); ++d) order[d] = static_cast<int64_t>(d);
    std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return at[static_cast<size_t>(x)] < at[static_cast<size_t>(y)]; });
    t = at::permute(t, order);
    std::vector<bool> has(static_cast<size_t>(rank), false);
    for (int64_t p : at) has[static_cast<size_t>(p)] = true;
    for (int64_t p = 0; p < rank; ++p) {
      if (!has[static_cast<size_t>(p)]) t = at::unsqueeze(t, p);
      int64_t& size = sizes[static_cast<size_t>(p)];
      if (t.size(p) == 1 || t.size(p) == size) continue;
      TORCH_CHECK(size == 1, "einsum(): ", named_at(p), " has size ", t.size(p), " for operand ", i,
                  " which does not broadcast with previously seen size ", size);
      size = t.size(p);
    }
    spread.push_back(t);
  }

  // What none of the tensors but those of a pair has, and the result has not, is summed with the pair.
  auto summed_without = [&](const std::vector<Tensor>& rest) {
    std::vector<bool> sum(static_cast<size_t>(rank), false);
    for (int64_t p = kept; p < rank; ++p) {
      bool elsewhere = false;
      for (const Tensor& t : rest) elsewhere = elsewhere || t.size(p) != 1;
      sum[static_cast<size_t>(p)] = !elsewhere;
    }
    return sum;
  };
  const bool ordered = path.has_value() && !path->empty();
  TORCH_CHECK(!ordered || path->size() == 2 * (tensors.size() - 1), "einsum(): expected contraction path given in path parameter to have size ",
              2 * (tensors.size() - 1), ", but got ", path.has_value() ? path->size() : 0);
  for (size_t step = 0; spread.size() > 1; ++step) {
    int64_t i = ordered ? (*path)[2 * step] : 0, j = ordered ? (*path)[2 * step + 1] : 1;
    const int64_t count = static_cast<int64_t>(spread.size());
    TORCH_CHECK(i != j && i >= 0 && j >= 0 && i < count && j < count, "einsum(): invalid contraction path (", i, ", ", j, ") for ", count, " operands");
    if (i > j) std::swap(i, j);
    const Tensor left = spread[static_cast<size_t>(i)], right = spread[static_cast<size_t>(j)];
    spread.erase(spread.begin() + j);
    spread.erase(spread.begin() + i);
    Tensor product = multiply(left, right, summed_without(spread));
    if (ordered) spread.push_back(std::move(product));
    else spread.insert(spread.begin(), std::move(product));
  }
  Tensor t = spread[0];
  if (rank > kept) {
    DimVector rest;
    bool any = false;
    for (int64_t p = kept; p < rank; ++p) rest.push_back(p), any = any || t.size(p) != 1;
    t = any ? at::sum(t, IntArrayRef(rest), false, std::nullopt)
            : at::reshape(t, t.sizes().slice(0, static_cast<size_t>(kept)));
  }
  return t;
}

}  // namespace at::native
