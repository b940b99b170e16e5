#include <algorithm>
#include <random>
#include <set>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "examples/serve/json_numbers.h"
#include "examples/serve/loading.h"

namespace serve {

using torch::graph::IntExpr;
using torch::graph::IntRange;

namespace {

constexpr int64_t kOtherSize = 4;  // of symbols other than the batch's

// The symbol that is the first size of all inputs and nothing else; or why there is none.
std::string batch_symbol(const ModelInfo& info, std::string& why_not) {
  std::string symbol;
  for (const TensorSpec& input : info.signature.inputs) {
    if (input.kind != TensorSpec::Kind::kTensor) {
      why_not = "input '" + input.name + "' is a number";
      return "";
    }
    if (!input.sizes.has_value()) {
      why_not = "the sizes of input '" + input.name + "' are not declared";
      return "";
    }
    if (input.sizes->empty() || input.sizes->front().kind() != IntExpr::Kind::kSymbol) {
      why_not = "dimension 0 of input '" + input.name + "' is not dynamic";
      return "";
    }
    const std::string& own = input.sizes->front().name();
    if (symbol.empty()) symbol = own;
    if (own != symbol) {
      why_not = "dimension 0 is not one size for all inputs";
      return "";
    }
  }
  for (const TensorSpec& input : info.signature.inputs) {
    for (size_t d = 1; d < input.sizes->size(); ++d) {
      std::set<std::string> names;
      (*input.sizes)[d].collect_symbols(names);
      if (names.count(symbol) > 0) {
        why_not = "dimension " + std::to_string(d) + " of input '" + input.name + "' depends on dimension 0";
        return "";
      }
    }
  }
  if (symbol.empty()) why_not = "there are no inputs";
  return symbol;
}

// Elements between -1 and 1; of whole numbers 0 and 1.
at::Tensor drawn(const TensorSpec& spec, const std::map<std::string, int64_t>& symbols, std::mt19937_64& random) {
  std::vector<int64_t> sizes;
  for (const IntExpr& size : *spec.sizes) sizes.push_back(size.evaluate(symbols));
  const c10::ScalarType dtype = spec.dtype.value_or(c10::ScalarType::Float);
  at::Tensor out = at::empty_contiguous(sizes, dtype);
  JsonNumbers numbers;
  for (int64_t i = 0; i < out.numel(); ++i) {
    if (c10::isFloatingType(dtype)) {
      numbers.push(std::uniform_real_distribution<double>(-1, 1)(random));
    } else {
      numbers.push(static_cast<int64_t>(random() % 2));
    }
  }
  numbers.copy_to(out, spec.name);
  return out;
}

bool close(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  if (!a.is_floating_point()) return at::equal(a, b);
  const bool coarse = a.itemsize() < 4;
  return at::allclose(a.to(at::kDouble), b.to(at::kDouble), coarse ? 3e-2 : 1e-3, coarse ? 3e-2 : 1e-4, true);
}

// Why the rows of `whole` are not those of its two halves, each run alone; empty where they are.
std::string difference(const std::vector<NamedTensor>& whole, const std::vector<NamedTensor>& low,
                       const std::vector<NamedTensor>& high, int64_t rows) {
  if (low.size() != whole.size() || high.size() != whole.size()) return "the number of outputs depends on the inputs";
  for (size_t i = 0; i < whole.size(); ++i) {
    const at::Tensor& t = whole[i].tensor;
    const std::string said = "output '" + whole[i].name + "'";
    if (t.dim() == 0 || t.sizes()[0] != rows) return said + " does not have a row for each of the inputs'";
    const int64_t half = rows / 2;
    if (!close(at::narrow(t, 0, 0, half), low[i].tensor) || !close(at::narrow(t, 0, half, half), high[i].tensor)) {
      return "rows of " + said + " depend on other rows";
    }
  }
  return "";
}

void learn_outputs(ModelInfo& info, const std::vector<NamedTensor>& seen, const std::string& batch) {
  std::set<std::string> names;
  for (const TensorSpec& input : info.signature.inputs) {
    for (const IntExpr& size : *input.sizes) size.collect_symbols(names);
  }
  const bool sizes_known = names.size() == 1;  // the batch's alone
  if (!info.outputs_known) {
    info.outputs.clear();
    for (const NamedTensor& one : seen) {
      info.outputs.emplace_back();
      info.outputs.back().name = one.name;
    }
    info.outputs_known = true;
  }
  for (TensorSpec& spec : info.outputs) {
    for (const NamedTensor& one : seen) {
      if (one.name != spec.name) continue;
      if (!spec.dtype.has_value()) spec.dtype = one.tensor.scalar_type();
      if (spec.sizes.has_value() || !sizes_known) continue;
      spec.sizes.emplace();
      for (int64_t d = 0; d < one.tensor.dim(); ++d) {
        spec.sizes->push_back(d == 0 ? IntExpr::symbol(batch) : IntExpr(one.tensor.sizes()[d]));
      }
    }
  }
}

}  // namespace

void try_batches(ModelInfo& info, const std::function<std::vector<NamedTensor>(std::vector<at::Tensor>)>& run) {
  const std::string batch = batch_symbol(info, info.not_batched);
  if (batch.empty()) return;
  const auto found = info.signature.symbols.find(batch);
  const IntRange range = found == info.signature.symbols.end() ? IntRange{} : found->second;
  const int64_t half = std::max<int64_t>(range.min, 1);
  if (half > 16 || range.max / 2 < half) {
    info.not_batched = "dimension 0 may only be " + std::to_string(range.min) + " to " + std::to_string(range.max);
    return;
  }
  std::map<std::string, int64_t> symbols{{batch, 2 * half}};
  for (const TensorSpec& input : info.signature.inputs) {
    std::set<std::string> names;
    for (const IntExpr& size : *input.sizes) size.collect_symbols(names);
    for (const std::string& name : names) {
      const auto of = info.signature.symbols.find(name);
      const IntRange allowed = of == info.signature.symbols.end() ? IntRange{} : of->second;
      symbols.emplace(name, std::clamp(kOtherSize, std::max<int64_t>(allowed.min, 0), allowed.max));
    }
  }
  std::mt19937_64 random(1);
  try {
    const c10::InferenceMode inference;
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<at::Tensor> whole, low, high;
      for (const TensorSpec& input : info.signature.inputs) {
        whole.push_back(drawn(input, symbols, random));
        low.push_back(at::narrow(whole.back(), 0, 0, half));
        high.push_back(at::narrow(whole.back(), 0, half, half));
      }
      // A run may write to its inputs.
      const auto copies = [](const std::vector<at::Tensor>& tensors) {
        std::vector<at::Tensor> out;
        for (const at::Tensor& one : tensors) out.push_back(at::clone(one));
        return out;
      };
      const std::vector<NamedTensor> seen = run(copies(whole));
      if (turn == 0) learn_outputs(info, seen, batch);
      info.not_batched = difference(seen, run(copies(low)), run(copies(high)), 2 * half);
      if (!info.not_batched.empty()) return;
    }
  } catch (const std::exception& error) {
    const std::string why = error.what();
    info.not_batched = "a trial run failed: " + why.substr(0, std::min<size_t>(why.find('\n'), 200));
    return;
  }
  info.most_rows = range.max;
}

}  // namespace serve
