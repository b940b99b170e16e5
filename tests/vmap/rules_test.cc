// Every batching rule by brute force: each operator that a recorded call comes to is also mapped over copies of its
// arguments with different values, over every dimension, for all tensors and for each alone, and in two levels; what
// comes out is the stack of single calls, and so are the gradients. An operator with a rule for which there is no call
// is a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "aten/codegen/batching_table.h"
#include "aten/core/dispatch_mode.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "func/batching.h"
#include "func/vmap.h"
#include "tests/conformance/checked_in.h"
#include "tests/conformance/compare.h"
#include "tests/fuzz/call_generator.h"

namespace torch::func {
namespace {

using at::Tensor;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;
using Tensors = std::vector<Tensor>;

// The defined tensors among the values, in lists too.
Tensors tensors_of(const Stack& values, std::vector<size_t>* arguments = nullptr) {
  Tensors tensors;
  for (size_t a = 0; a < values.size(); ++a) {
    const auto add = [&](const IValue& value) {
      if (!value.isTensor() || !value.toTensor().defined()) return;
      tensors.push_back(value.toTensor());
      if (arguments != nullptr) arguments->push_back(a);
    };
    if (values[a].isList()) {
      for (const IValue& element : values[a].toListRef()) add(element);
    } else {
      add(values[a]);
    }
  }
  return tensors;
}

Stack with_tensors(const Stack& values, const Tensors& tensors) {
  size_t next = 0;
  const auto replaced = [&](const IValue& value) {
    return value.isTensor() && value.toTensor().defined() ? IValue(tensors.at(next++)) : value;
  };
  Stack result;
  for (const IValue& value : values) {
    if (!value.isList()) {
      result.push_back(replaced(value));
      continue;
    }
    c10::impl::GenericList list(value.toList().elementType());
    for (const IValue& element : value.toListRef()) list.push_back(replaced(element));
    result.push_back(IValue(list));
  }
  return result;
}

bool is_plain(const Tensor& t) {
  return t.layout() == at::kStrided && !t.is_quantized() && !t.is_nested() && t.is_cpu() && t.dim() < 8;
}
bool is_floating(const Tensor& t) {
  return c10::isFloatingType(t.scalar_type()) || c10::isComplexType(t.scalar_type());
}

// The same numbers in the opposite order: still symmetric, positive definite, in range where they were.
Tensor reversed(const Tensor& t) {
  if (!is_floating(t) || t.numel() < 2) return at::clone(t);
  return at::reshape(at::flip(at::reshape(t, {-1}), {0}), t.sizes());
}

OperatorHandle operator_named(const std::string& name) {
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow("aten::" + name.substr(0, dot),
                                                        dot == name.npos ? "" : name.substr(dot + 1));
}

// What a call gives for tensors in the place of its own.
struct Call {
  const OperatorHandle& op;
  const Stack& arguments;

  Tensors operator()(const Tensors& tensors) const {
    Stack stack = with_tensors(arguments, tensors);
    op.callBoxed(stack);
    return tensors_of(stack);
  }
};

class Verifier final : public at::DispatchMode {
 public:
  void handle(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) override {
    const Stack before = *stack;
    Tensors inputs;
    std::vector<size_t> places;
    const std::string name = toString(op.operator_name());
    const Batching& batching = batching_of(op);
    bool wanted = is_tried(batching, name) && tried_[name] < kCallsOfOne && problems.count(name) == 0;
    if (wanted) {
      inputs = tensors_of(before, &places);
      wanted = !inputs.empty();
      for (size_t i = 0; i < inputs.size(); ++i) {
        wanted = wanted && is_plain(inputs[i]) && inputs[i].numel() <= 512;
        const bool written = op.schema().arguments()[places[i]].is_write();
        // What elements that share memory become depends on the order.
        wanted = wanted && (!written || inputs[i].is_non_overlapping_and_dense());
        if (wanted) {
          const Tensor kept = at::clone(at::detach(inputs[i]));
          kept.unsafeGetTensorImpl()->set_wrapped_number(inputs[i].unsafeGetTensorImpl()->is_wrapped_number());
          inputs[i] = kept;
        }
      }
    }
    op.callBoxed(stack);
    if (!wanted) return;
    for (const Tensor& t : tensors_of(*stack)) {
      if (!is_plain(t)) return;
    }
    // As a program would call it.
    const c10::ForceDispatchKeyGuard as_outside({}, {});
    ++tried_[name];
    verify(op, name, before, inputs, places);
  }

  // The call of that number that fits the schema, if the operator takes it.
  void call_generated(const OperatorHandle& op, uint64_t number) {
    Stack stack = fuzz::generate_call(op.schema(), 11, number, fuzz::Temper::kTame);
    try {
      handle(op, {}, &stack);
    } catch (const std::exception&) {
    }
  }
  int calls_of(const OperatorHandle& op) { return tried_[toString(op.operator_name())]; }

  std::map<std::string, std::string> problems;  // by operator, the first
  std::set<std::string> operators;              // for which something was compared
  int64_t maps = 0, gradients = 0;

  // In place what the functional form does.
  static bool is_tried(const Batching& batching, const std::string& name) {
    if (name.find("bernoulli") != std::string::npos) return false;
    if (batching.kind == Batching::Kind::kInPlace) return is_tried(batching_of(*batching.functional), name);
    return batching.kind == Batching::Kind::kRule || batching.kind == Batching::Kind::kDecomposed;
  }

 private:
  static constexpr int kCallsOfOne = 12;
  std::map<std::string, int> tried_;

  // One way to map: in_dims of the inner and the outer level, nullopt for a tensor that is the same for all samples.
  struct Way {
    std::vector<Dims> inner, outer;
    bool two_levels = false;
  };

  static std::vector<Way> ways_of(const Tensors& inputs) {
    std::vector<Way> ways;
    int64_t rank = 0;
    for (const Tensor& t : inputs) rank = std::max(rank, t.dim());
    for (int64_t d = 0; d <= rank; ++d) {
      Way way;
      for (const Tensor& t : inputs) way.inner.emplace_back(std::min(d, t.dim()));
      ways.push_back(way);
    }
    for (size_t alone = 0; alone < inputs.size() && inputs.size() > 1; ++alone) {
      Way way;
      for (size_t i = 0; i < inputs.size(); ++i) way.inner.push_back(i == alone ? Dims(-1) : Dims(std::nullopt));
      ways.push_back(way);
    }
    Way both, split;
    for (size_t i = 0; i < inputs.size(); ++i) {
      both.inner.emplace_back(-1);
      both.outer.emplace_back(0);
      split.inner.push_back(i == 0 && inputs.size() > 1 ? Dims(std::nullopt) : Dims(0));
      split.outer.push_back(i == 0 ? Dims(-1) : Dims(std::nullopt));
    }
    both.two_levels = split.two_levels = true;
    ways.push_back(both);
    ways.push_back(split);
    return ways;
  }

  void verify(const OperatorHandle& op, const std::string& name, const Stack& arguments, const Tensors& inputs,
              const std::vector<size_t>& places) {
    const Call call{op, arguments};
    std::vector<Tensors> samples{inputs, {}};
    for (const Tensor& t : inputs) samples[1].push_back(reversed(t));
    const auto single = [&](size_t s, size_t u, const Way& way, bool record) {
      Tensors given;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const size_t inner = way.inner[i].dim() ? s : 0, outer = way.two_levels && way.outer[i].dim() ? u : 0;
        Tensor t = at::clone(samples[(inner + outer) % 2][i]);
        t.unsafeGetTensorImpl()->set_wrapped_number(inputs[i].unsafeGetTensorImpl()->is_wrapped_number());
        if (record && is_floating(t)) t.requires_grad_();
        given.push_back(t);
      }
      return given;
    };
    for (const Way& way : ways_of(inputs)) {
      // Strides in memory are those of samples that lie one behind the other.
      if (name.rfind("aten::as_strided", 0) == 0 && (way.two_levels || *way.inner[0].dim() != 0)) continue;
      // What is written to has to have a value for each sample.
      bool writes_shared = false;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool written = op.schema().arguments()[places[i]].is_write();
        writes_shared = writes_shared || (written && (!way.inner[i].dim() || (way.two_levels && !way.outer[i].dim())));
      }
      // What a mask picks has a size of its own in each sample, even where these happen to agree.
      bool picks_by_sample = false;
      for (size_t i = 0; i < inputs.size() && (name == "aten::index.Tensor" || name == "aten::masked_select"); ++i) {
        picks_by_sample = picks_by_sample || (i > 0 && inputs[i].scalar_type() == at::kBool &&
                                              (way.inner[i].dim() || (way.two_levels && way.outer[i].dim())));
      }
      if (writes_shared || picks_by_sample) continue;
      const size_t inner = 2, outer = way.two_levels ? 3 : 1;
      std::vector<Tensors> expected;
      try {
        const c10::NoGradGuard no_grad;
        for (size_t u = 0; u < outer; ++u) {
          for (size_t s = 0; s < inner; ++s) expected.push_back(call(single(s, u, way, false)));
        }
      } catch (const std::exception&) {
        samples[1] = samples[0];  // the operator takes no others
        continue;
      }
      bool same_sizes = true;
      for (const Tensors& one : expected) {
        for (size_t k = 0; k < one.size(); ++k) same_sizes = same_sizes && one[k].sizes() == expected[0][k].sizes();
      }
      if (!same_sizes) continue;
      std::string said = name + ":";
      for (size_t i = 0; i < inputs.size(); ++i) {
        said += " " + c10::str(inputs[i].sizes()) + " by " + way.inner[i].str() +
                (way.two_levels ? " in " + way.outer[i].str() : "");
      }
      try {
        std::string problem = compare(call, inputs, samples, way, inner, outer, expected, name);
        if (problem.empty() && !op.schema().is_mutable() && name != "aten::_linalg_eigh")
          problem = compare_gradients(call, inputs, samples, way, single);
        if (!problem.empty()) problems.emplace(name, said + ": " + problem);
      } catch (const std::exception& error) {
        // Samples that do not lie one behind the other cannot be seen in any other way, as any such tensor.
        const std::string what = std::string(error.what()).substr(0, 400);
        const bool no_view = what.find("view size is not compatible") == 0 || what.find("must be 1 to view") < 100;
        if (!no_view) problems.emplace(name, said + ": " + what);
      }
      if (problems.count(name) > 0) return;
    }
  }

  // The samples of an argument together, as the dimensions of the way say.
  static Tensor together(const std::vector<Tensors>& samples, size_t i, const Way& way, size_t inner, size_t outer) {
    const auto of_outer = [&](size_t u) {
      if (!way.inner[i].dim()) return at::clone(samples[u % 2][i]);
      Tensors all;
      for (size_t s = 0; s < inner; ++s) all.push_back(samples[(s + u) % 2][i]);
      return at::stack(all, *way.inner[i].dim());
    };
    if (!way.two_levels || !way.outer[i].dim()) return of_outer(0);
    Tensors all;
    for (size_t u = 0; u < outer; ++u) all.push_back(of_outer(u));
    return at::stack(all, *way.outer[i].dim());
  }

  static Tensors mapped(const Call& call, const Way& way, const Tensors& all) {
    const auto once = vmap([&](const Tensors& t) { return call(t); }, std::vector<Dims>{Dims(way.inner)});
    if (!way.two_levels) return once(all);
    return vmap([&](const Tensors& t) { return once(t); }, std::vector<Dims>{Dims(way.outer)})(all);
  }

  std::string compare(const Call& call, const Tensors& inputs, const std::vector<Tensors>& samples, const Way& way,
                      size_t inner, size_t outer, const std::vector<Tensors>& expected, const std::string& name) {
    const c10::NoGradGuard no_grad;
    Tensors all;
    for (size_t i = 0; i < inputs.size(); ++i) {
      all.push_back(together(samples, i, way, inner, outer));
      all.back().unsafeGetTensorImpl()->set_wrapped_number(inputs[i].unsafeGetTensorImpl()->is_wrapped_number() &&
                                                           all.back().dim() == 0);
    }
    const Tensors got = mapped(call, way, all);
    ++maps;
    operators.insert(name);
    if (got.size() != expected[0].size()) return c10::str(got.size(), " results instead of ", expected[0].size());
    for (size_t k = 0; k < got.size(); ++k) {
      Tensors one, rows;
      for (size_t u = 0; u < outer; ++u) {
        one.clear();
        for (size_t s = 0; s < inner; ++s) one.push_back(expected[u * inner + s][k]);
        rows.push_back(at::stack(one));
      }
      Tensor want = way.two_levels ? at::stack(rows) : rows[0], have = got[k];
      // The sign of an eigenvector is what the order of its matrix in memory makes it.
      if (name == "aten::_linalg_eigh") want = at::abs(want), have = at::abs(have);
      // New memory has no values yet.
      if (name.find("empty") != std::string::npos) {
        if (got[k].sizes() != want.sizes()) return c10::str("sizes ", got[k].sizes(), " instead of ", want.sizes());
        continue;
      }
      if (const auto mismatch = conformance::difference(have, want, 100))
        return c10::str("result ", k, ": ", mismatch->text());
    }
    return "";
  }

  // Gradients for the tensors with all samples, against those of single calls.
  template <typename Single>
  std::string compare_gradients(const Call& call, const Tensors& inputs, const std::vector<Tensors>& samples,
                                const Way& way, const Single& single) {
    const c10::AutoGradMode grad(true);
    const auto gradients_of = [](const Tensors& results, const Tensors& leaves, Tensors& gradients) {
      Tensors roots, ones;
      for (const Tensor& r : results) {
        if (!r.requires_grad()) continue;
        roots.push_back(r);
        ones.push_back(at::ones_like(r));
      }
      if (roots.empty()) return false;
      gradients = torch::autograd::grad(roots, leaves, ones, std::nullopt, false, /*allow_unused=*/true);
      return true;
    };
    const auto leaves_of = [](const Tensors& tensors) {
      Tensors leaves;
      for (const Tensor& t : tensors) {
        if (t.requires_grad()) leaves.push_back(t);
      }
      return leaves;
    };
    const size_t inner = 2, outer = way.two_levels ? 3 : 1;
    std::vector<Tensors> expected;
    try {
      for (size_t u = 0; u < outer; ++u) {
        for (size_t s = 0; s < inner; ++s) {
          const Tensors given = single(s, u, way, true), leaves = leaves_of(given);
          Tensors gradients;
          if (leaves.empty() || !gradients_of(call(given), leaves, gradients)) return "";
          expected.push_back(gradients);
        }
      }
    } catch (const std::exception&) {
      return "";  // not differentiable
    }
    Tensors all;
    for (size_t i = 0; i < inputs.size(); ++i) {
      all.push_back(together(samples, i, way, inner, outer));
      if (is_floating(all.back())) all.back().requires_grad_();
    }
    const Tensors leaves = leaves_of(all);
    Tensors got;
    if (!gradients_of(mapped(call, way, all), leaves, got)) got.resize(leaves.size());
    // What samples share gets the sum of theirs.
    const auto joined = [](const Tensors& parts, const Dims& dims) {
      if (dims.dim()) return at::stack(parts, *dims.dim());
      Tensor sum = parts[0];
      for (size_t k = 1; k < parts.size(); ++k) sum = at::add(sum, parts[k]);
      return sum;
    };
    size_t k = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!all[i].requires_grad()) continue;
      const Tensor gradient = got[k];
      Tensors rows;
      for (size_t u = 0; u < outer; ++u) {
        Tensors row;
        for (size_t s = 0; s < inner; ++s) {
          const Tensor one = expected[u * inner + s][k];
          row.push_back(one.defined() ? one : at::zeros_like(inputs[i]));
        }
        rows.push_back(joined(row, way.inner[i]));
      }
      ++k;
      const Tensor want = way.two_levels ? joined(rows, way.outer[i]) : rows[0];
      const Tensor present = gradient.defined() ? gradient : at::zeros_like(want);
      if (const auto mismatch = conformance::difference(present, want, 1000)) {
        return c10::str("gradient ", i, ": ", mismatch->text());
      }
    }
    ++gradients;
    return "";
  }
};

// Calls, and their backward passes, of what no recording has and no generated call fits.
void call_others(Verifier& verifier) {
  const at::DispatchModeGuard on(verifier);
  const auto x = [](std::vector<int64_t> sizes) {
    return at::sin(at::arange(c10::checked_numel(sizes), at::kDouble)).view(sizes).requires_grad_();
  };
  const auto backward = [](const Tensor& result) { at::sum(result).backward(); };
  backward(at::col2im(x({2, 8, 4}), {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}));
  backward(at::fill(x({2, 3}), x({})));
  backward(at::fft_irfft(at::complex(x({2, 3}), x({2, 3}))));
  const Tensor square = at::add(x({2, 3, 3}).detach(), at::mul(at::eye(3, at::kDouble), 4));
  const auto [factors, pivots] = at::linalg_lu_factor(square);
  at::linalg_lu_solve(factors, pivots, x({2, 3, 2}).detach());
  const auto [ldl, ldl_pivots] = at::linalg_ldl_factor(at::add(square, at::mT(square)));
  at::linalg_ldl_solve(ldl, ldl_pivots, x({2, 3, 2}).detach());
  backward(at::reflection_pad2d(x({2, 2, 3, 4}), {1, 1, 1, 0}));
  backward(at::reflection_pad3d(x({2, 2, 3, 3, 3}), {1, 1, 1, 0, 1, 1}));
  backward(at::replication_pad2d(x({2, 2, 3, 4}), {1, 1, 1, 0}));
  backward(at::replication_pad3d(x({2, 2, 3, 3, 3}), {1, 1, 1, 0, 1, 1}));
  backward(
      std::get<0>(at::fractional_max_pool2d(x({2, 2, 5, 5}), {2, 2}, {3, 3}, at::full({2, 2, 2}, 0.5, at::kDouble))));
  backward(std::get<0>(
      at::fractional_max_pool3d(x({2, 2, 4, 4, 4}), {2, 2, 2}, {2, 2, 2}, at::full({2, 2, 3}, 0.5, at::kDouble))));
  backward(at::max_pool3d(x({2, 2, 4, 4, 4}), {2, 2, 2}));
  backward(at::avg_pool3d(x({2, 2, 4, 4, 4}), {2, 2, 2}));
  const Tensor places = at::mul(at::sin(at::arange(48, at::kDouble)), 0.9);
  backward(at::grid_sampler_2d(x({2, 2, 3, 3}), places.slice(0, 0, 24).view({2, 3, 2, 2}), 0, 0, false));
  backward(at::grid_sampler_3d(x({2, 2, 3, 3, 3}), places.view({2, 2, 2, 2, 3}), 0, 0, false));
  backward(at::upsample_linear1d(x({2, 2, 3}), {5}, false));
  backward(at::upsample_nearest1d(x({2, 2, 3}), {5}));
  backward(at::_upsample_nearest_exact1d(x({2, 2, 3}), {5}));
  using Upsample = Tensor (*)(const Tensor&, at::IntArrayRef, bool, std::optional<double>, std::optional<double>);
  for (const Upsample upsample :
       {static_cast<Upsample>(at::upsample_bilinear2d), static_cast<Upsample>(at::upsample_bicubic2d),
        static_cast<Upsample>(at::_upsample_bilinear2d_aa), static_cast<Upsample>(at::_upsample_bicubic2d_aa),
        static_cast<Upsample>(at::_upsample_lanczos2d_aa)}) {
    backward(upsample(x({2, 2, 3, 4}), {5, 3}, false, std::nullopt, std::nullopt));
  }
  backward(at::upsample_nearest2d(x({2, 2, 3, 4}), {5, 3}));
  backward(at::_upsample_nearest_exact2d(x({2, 2, 3, 4}), {5, 3}));
  backward(at::upsample_trilinear3d(x({2, 2, 3, 4, 2}), {5, 3, 3}, false));
  backward(at::upsample_nearest3d(x({2, 2, 3, 4, 2}), {5, 3, 3}));
  backward(at::_upsample_nearest_exact3d(x({2, 2, 3, 4, 2}), {5, 3, 3}));
}

TEST(BatchingRules, MapsAreStacksOfSingleCalls) {
  Verifier verifier;
  conformance::Options options;
  options.runner = [&](const std::function<void()>& call) {
    const at::DispatchModeGuard on(verifier);
    call();
  };
  std::vector<const conformance::CaseSet*> sets{&conformance::first_families(), &conformance::gradients(),
                                                &conformance::shapes(), &conformance::newer()};
  // A folder with more of them.
  std::optional<conformance::CaseSet> more;
  if (const char* folder = std::getenv("KINDLING_CASES")) sets = {&more.emplace(folder)};
  for (const conformance::CaseSet* set : sets) {
    for (const std::string& name : set->names()) {
      const conformance::OperatorReport report = conformance::replay_operator(*set, name, options);
      for (const conformance::CaseFailure& failure : report.failures) ADD_FAILURE() << name << ": " << failure.text();
    }
  }
  // What is not recorded is generated.
  for (const at::BatchingEntry& entry : at::kBatchingTable) {
    const auto op = operator_named(entry.name);
    if (entry.words[0] == '\0' || entry.functional[0] != '\0' ||
        verifier.operators.count(toString(op.operator_name())) > 0)
      continue;
    for (uint64_t number = 0; number < 60 && verifier.calls_of(op) < 6; ++number) verifier.call_generated(op, number);
  }
  call_others(verifier);
  for (const auto& [name, problem] : verifier.problems) ADD_FAILURE() << problem;
  std::printf("%zu operators, %lld maps, %lld with gradients\n", verifier.operators.size(),
              static_cast<long long>(verifier.maps), static_cast<long long>(verifier.gradients));

  // Operators without a call, by the reason.
  std::set<std::string> without;
  std::ifstream lines("tests/vmap/without_calls.txt");
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') without.insert("aten::" + line.substr(0, line.find(':')));
  }
  for (const at::BatchingEntry& entry : at::kBatchingTable) {
    if (entry.words[0] == '\0' || entry.functional[0] != '\0') continue;
    const auto op = operator_named(entry.name);
    const std::string name = toString(op.operator_name());
    const bool by_rule = batching_of(op).kind == Batching::Kind::kRule;
    const bool tried = verifier.operators.count(name) > 0;
    if (by_rule && !tried)
      EXPECT_EQ(without.count(name), 1u) << name << " has a rule (" << entry.words << ") and no call";
    if (tried) EXPECT_EQ(without.count(name), 0u) << name << " has a call";
  }
}

}  // namespace
}  // namespace torch::func
