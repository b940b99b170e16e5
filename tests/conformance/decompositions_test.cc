// The decompositions that no checked-in recording has a call of, beside the kernels; and that none is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "aten/core/boxing.h"
#include "aten/core/tensor.h"
#include "aten/decompositions/decompose.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/dispatch/registry.h"
#include "graph/passes/core_operators.h"
#include "nlohmann/json.hpp"
#include "tests/conformance/case_set.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/core_operators.h"
#include "tests/conformance/replay.h"
#include "utils/serialize/safetensors.h"

namespace conformance {
namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;

const std::vector<ScalarType> kFloating = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16};
const std::vector<ScalarType> kReal = {at::kDouble, at::kHalf, at::kLong, at::kByte};
const std::vector<ScalarType> kAny = {at::kDouble, at::kHalf, at::kInt, at::kBool, at::kComplexDouble};

// Numbers of both signs, 0 among them.
Tensor sample(at::IntArrayRef sizes, ScalarType type, double factor = 2, int64_t shift = 0) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  const Tensor waves = at::sin(at::mul(at::add(at::arange(n, at::kDouble), shift), 1.7));
  return at::reshape(at::to(at::mul(waves, factor), type), sizes);
}
Tensor integers(std::vector<int64_t> values, at::IntArrayRef sizes) {
  const Tensor t = at::empty(sizes, at::kLong);
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return t;
}
// Within 0 and 1.
Tensor parts(at::IntArrayRef sizes, ScalarType type, int64_t shift = 0) {
  return at::to(at::add(at::mul(sample(sizes, at::kDouble, 1, shift), 0.4), 0.5), type);
}
IValue list(std::vector<int64_t> values) {
  return IValue(std::move(values));
}
IValue none() {
  return IValue();
}

struct Call {
  const char* name;  // "floor_divide.Scalar"
  std::function<Stack(ScalarType)> arguments;
  std::vector<ScalarType> types = kFloating;
  bool values = true;  // else they are drawn, or not written
};

// A tensor and what follows it.
std::function<Stack(ScalarType)> of_one(std::vector<IValue> rest = {}, std::vector<int64_t> sizes = {3, 5}) {
  return [=](ScalarType t) {
    Stack stack{sample(sizes, t)};
    stack.insert(stack.end(), rest.begin(), rest.end());
    return stack;
  };
}
std::function<Stack(ScalarType)> of_two(std::vector<IValue> rest = {}) {
  return [=](ScalarType t) {
    Stack stack{sample({3, 5}, t), sample({3, 5}, t, 1.5, 4)};
    stack.insert(stack.end(), rest.begin(), rest.end());
    return stack;
  };
}
std::function<Stack(ScalarType)> padding(std::vector<int64_t> sizes, std::vector<int64_t> pad) {
  return of_one({list(std::move(pad))}, std::move(sizes));
}
std::function<Stack(ScalarType)> padding_gradient(std::vector<int64_t> padded, std::vector<int64_t> sizes,
                                                  std::vector<int64_t> pad) {
  return [=](ScalarType t) { return Stack{sample(padded, t), sample(sizes, t), list(pad)}; };
}
std::function<Stack(ScalarType)> classified(bool backward, std::vector<int64_t> sizes, std::vector<int64_t> classes,
                                            bool weighted, int64_t reduction) {
  return [=](ScalarType t) {
    std::vector<int64_t> of_targets = sizes;
    of_targets.erase(of_targets.begin() + (sizes.size() == 1 ? 0 : 1));
    const Tensor self = sample(sizes, t), target = integers(classes, of_targets);
    const Tensor weight = weighted ? parts({3}, t) : Tensor();
    Stack stack{self, target, weighted ? IValue(weight) : none(), reduction, 1};
    if (backward) {
      stack.insert(stack.begin(), reduction == 0 ? sample(of_targets, t, 1, 7) : sample({}, t, 1, 7));
      stack.emplace_back(parts({}, t, 3));
    }
    return stack;
  };
}

const std::vector<Call>& calls() {
  const auto upsampled = [](int64_t dims, bool align, std::vector<int64_t> size) {
    return [=](ScalarType t) {
      std::vector<int64_t> sizes{2, 3};
      for (int64_t d = 0; d < dims; ++d) sizes.push_back(4 + d);
      return Stack{sample(sizes, t), list(size), align};
    };
  };
  const auto normalized = [](ScalarType t) {
    const ScalarType stats = t == at::kDouble ? at::kDouble : at::kFloat;
    return Stack{sample({2, 3, 4}, t),
                 sample({2, 3, 4}, t, 1, 3),
                 list({3, 4}),
                 sample({2, 1, 1}, stats, 0.1),
                 parts({2, 1, 1}, stats),
                 sample({3, 4}, t, 1, 5),
                 sample({3, 4}, t),
                 IValue(std::vector<bool>{true, true, true})};
  };
  const auto of_batch = [](bool training) {
    return [=](ScalarType t) {
      const ScalarType stats = t == at::kDouble ? at::kDouble : at::kFloat;
      return Stack{sample({4, 3, 5}, t, 1, 3),
                   sample({4, 3, 5}, t),
                   parts({3}, t),
                   sample({3}, stats, 0.1),
                   parts({3}, stats, 2),
                   training,
                   IValue(std::vector<bool>{true, true, true})};
    };
  };
  const auto attention = [](int64_t heads, bool causal, const IValue& mask, double dropout) {
    return [=](ScalarType t) {
      return Stack{sample({2, 4, 3, 6}, t),
                   sample({2, heads, 5, 6}, t, 1, 3),
                   sample({2, heads, 5, 2}, t, 1, 5),
                   mask,
                   dropout,
                   causal,
                   0.7,
                   11};
    };
  };
  const auto with_gradient = [](std::vector<IValue> rest) {
    return [=](ScalarType t) {
      Stack stack{sample({}, t, 1, 7), sample({3, 5}, t), sample({3, 5}, t, 1.5, 4)};
      stack.insert(stack.end(), rest.begin(), rest.end());
      return stack;
    };
  };
  static const std::vector<Call> all = {
      {"hardshrink", of_one({0.5})},
      {"celu", of_one({1.3})},
      {"mish", of_one()},
      {"threshold", of_one({0.5, 20}), kReal},
      {"glu", of_one({0}, {4, 5})},
      {"hardsigmoid", of_one()},
      {"hardswish", of_one()},
      {"log_sigmoid_forward", of_one()},
      {"softplus", of_one({1.5, 1})},
      {"softshrink", of_one({0.3})},
      {"threshold_backward", of_two({0.5})},
      {"gelu_backward", of_two()},
      {"gelu_backward", of_two({"tanh"})},
      {"silu_backward", of_two()},
      {"floor_divide.Scalar", of_one({0.7})},
      {"floor_divide.Scalar", of_one({3}), kReal},
      {"xlogy.Scalar_Self", [](ScalarType t) { return Stack{1.5, parts({3, 5}, t)}; }},
      {"xlogy.Scalar_Other", of_one({2}), kReal},
      {"col2im",
       [](ScalarType t) {
         return Stack{sample({2, 12, 6}, t), list({3, 4}), list({2, 2}), list({1, 1}), list({0, 0}), list({1, 1})};
       }},
      {"col2im",
       [](ScalarType t) {
         return Stack{sample({4, 4}, t), list({3, 5}), list({2, 2}), list({1, 2}), list({1, 0}), list({2, 2})};
       }},
      {"im2col", of_one({list({2, 2}), list({1, 2}), list({1, 0}), list({2, 1})}, {2, 3, 4, 5}), kAny},
      {"im2col", of_one({list({2, 3}), list({1, 1}), list({0, 1}), list({1, 1})}, {3, 4, 5})},
      {"fill.Tensor", [](ScalarType t) { return Stack{sample({3, 5}, t), sample({}, t, 2, 1)}; }, kAny},
      {"zero_", of_one(), kAny},
      {"new_empty", of_one({list({2, 3})}), kAny, false},
      {"empty_like", of_one(), kAny, false},
      {"hann_window", [](ScalarType t) { return Stack{7, t}; }},
      {"hann_window.periodic", [](ScalarType t) { return Stack{7, false, t}; }},
      {"index_fill.int_Tensor",
       [](ScalarType t) {
         return Stack{sample({3, 5}, t), 1, integers({0, -1}, {2}), sample({}, t, 2, 1)};
       }, kAny},
      {"embedding_dense_backward",
       [](ScalarType t) {
         return Stack{sample({2, 3, 4}, t), integers({0, 2, 1, 2, 2, 4}, {2, 3}), 6, 1, true};
       }},
      {"embedding_dense_backward",
       [](ScalarType t) {
         return Stack{sample({3, 4}, t), integers({1, 0, 1}, {3}), 2, -1, false};
       }},
      {"binary_cross_entropy",
       [](ScalarType t) {
         return Stack{parts({3, 5}, t), parts({3, 5}, t, 2), parts({5}, t, 1), 2};
       }},
      {"binary_cross_entropy_with_logits",
       [](ScalarType t) {
         return Stack{sample({3, 5}, t), parts({3, 5}, t, 2), parts({5}, t, 1), parts({5}, t, 9), 1};
       }},
      {"binary_cross_entropy_with_logits",
       [](ScalarType t) {
         return Stack{sample({3, 5}, t), parts({3, 5}, t, 2), none(), none(), 0};
       }},
      {"mse_loss", of_two({0})},
      {"smooth_l1_loss", of_two({1, 0.7})},
      {"smooth_l1_loss", of_two({0, 0.0})},
      {"huber_loss", of_two({2, 0.7})},
      {"nll_loss_forward", classified(false, {4, 3}, {0, 1, 2, 2}, true, 1)},
      {"nll_loss_forward", classified(false, {3}, {2}, false, 0)},
      {"nll_loss2d_forward", classified(false, {2, 3, 1, 2}, {0, 1, 2, 2}, true, 0)},
      {"nll_loss2d_forward", classified(false, {2, 3, 1, 2}, {0, 1, 2, 2}, false, 2)},
      {"nll_loss_backward", classified(true, {4, 3}, {0, 1, 2, 2}, true, 1)},
      {"nll_loss_backward", classified(true, {3}, {2}, true, 2)},
      {"nll_loss2d_backward", classified(true, {2, 3, 1, 2}, {0, 1, 2, 2}, true, 0)},
      {"native_layer_norm_backward", normalized},
      {"reflection_pad1d", padding({2, 3, 4}, {2, 3}), kAny},
      {"reflection_pad2d", padding({2, 3, 4}, {1, 2, 2, 0})},
      {"reflection_pad3d", padding({1, 2, 3, 4}, {1, 2, 2, 0, 1, 1})},
      {"replication_pad1d", padding({2, 3, 4}, {2, -1}), kAny},
      {"replication_pad2d", padding({2, 3, 4}, {5, 2, 2, 0})},
      {"replication_pad3d", padding({1, 2, 3, 4}, {1, 2, 2, 0, 3, 1})},
      {"reflection_pad1d_backward", padding_gradient({2, 3, 9}, {2, 3, 4}, {2, 3})},
      {"reflection_pad2d_backward", padding_gradient({2, 5, 7}, {2, 3, 4}, {1, 2, 2, 0})},
      {"reflection_pad3d_backward", padding_gradient({1, 4, 5, 7}, {1, 2, 3, 4}, {1, 2, 2, 0, 1, 1})},
      {"clamp_max", of_one({0.5})},
      {"clamp_max", of_one({1}), kReal},
      {"max_unpool2d",
       [](ScalarType t) {
         return Stack{sample({2, 1, 2, 2}, t), integers({0, 3, 9, 11, 1, 3, 8, 9}, {2, 1, 2, 2}), list({3, 4})};
       }},
      {"max_unpool3d",
       [](ScalarType t) {
         return Stack{sample({1, 1, 2, 2}, t), integers({0, 3, 9, 11}, {1, 1, 2, 2}),
                      list({2, 3, 4}), list({2, 2, 2}), list({0, 0, 0})};
       }},
      {"bernoulli", [](ScalarType t) { return Stack{parts({3, 5}, t)}; }, kFloating, false},
      {"bernoulli.p", of_one({0.3}), kReal, false},
      {"bernoulli.float_out",
       [](ScalarType t) {
         return Stack{sample({3, 5}, t), 0.3, none(), at::empty({0}, t)};
       }, kReal, false},
      {"all.dims", of_one({list({0, 1}), true}), kAny},
      {"all.dims", of_one({none()}), {at::kByte, at::kBool}},
      {"norm.ScalarOpt_dtype", of_one({3, at::kDouble})},
      {"norm.ScalarOpt_dim_dtype", of_one({none(), list({1}), true, at::kDouble})},
      {"_softmax_backward_data", [](ScalarType t) { return Stack{sample({3, 5}, t), parts({3, 5}, t), 1, t}; }},
      {"_log_softmax_backward_data",
       [](ScalarType t) {
         return Stack{sample({3, 5}, t), sample({3, 5}, t, 1, 2), 0, t};
       }},
      {"special_entr", of_one(), kReal},
      {"special_log_ndtr", of_one({}, {3, 5}), {at::kDouble, at::kFloat, at::kLong}},
      {"special_xlog1py", [](ScalarType t) { return Stack{sample({3, 5}, t), parts({3, 5}, t)}; }},
      {"special_xlog1py.self_scalar", [](ScalarType t) { return Stack{2, parts({3, 5}, t)}; }},
      {"special_xlog1py.other_scalar", of_one({2}), kReal},
      {"mvlgamma", [](ScalarType t) { return Stack{at::add(parts({3, 5}, t), 2), 3}; }},
      {"sigmoid_backward", of_two(), {at::kDouble, at::kHalf, at::kComplexDouble}},
      {"tanh_backward", of_two(), {at::kDouble, at::kHalf, at::kComplexDouble}},
      {"linear", [](ScalarType t) { return Stack{sample({2, 3, 4}, t), sample({5, 4}, t, 1, 3), sample({5}, t, 1, 7)}; },
       {at::kDouble, at::kFloat, at::kHalf, at::kLong, at::kComplexDouble}},
      {"linear", [](ScalarType t) { return Stack{sample({4}, t), sample({5, 4}, t, 1, 3), sample({5}, t, 1, 7)}; }},
      {"linear", [](ScalarType t) { return Stack{sample({3, 4}, t), sample({4}, t, 1, 3), none()}; }},
      {"_fused_layer_norm",
       [](ScalarType t) {
         return Stack{sample({2, 3, 4}, t), list({3, 4}), sample({3, 4}, t, 1, 3), none(), 1e-5};
       }, {at::kDouble, at::kFloat}},
      {"_fused_group_norm",
       [](ScalarType t) {
         return Stack{sample({2, 6, 4}, t), sample({6}, t, 1, 3), sample({6}, t), 3, 1e-5};
       }, {at::kDouble, at::kFloat}},
      {"_fused_batch_norm",
       [](ScalarType t) {
         return Stack{sample({2, 3, 4}, t), sample({3}, t, 1, 3), none(), none(), none(), true, 1e-5};
       }, {at::kDouble, at::kFloat}},
      {"_fused_batch_norm",
       [](ScalarType t) {
         return Stack{sample({2, 3, 4}, t), none(), sample({3}, t), sample({3}, t, 1, 2), parts({3}, t), false, 1e-5};
       }, {at::kDouble, at::kFloat}},
      {"affine_grid_generator", [](ScalarType t) { return Stack{sample({2, 2, 3}, t), list({2, 1, 3, 4}), false}; }},
      {"affine_grid_generator",
       [](ScalarType t) {
         return Stack{sample({1, 3, 4}, t), list({1, 1, 2, 3, 4}), true};
       }, {at::kDouble, at::kFloat}},
      {"upsample_linear1d", upsampled(1, false, {7})},
      {"upsample_bilinear2d", upsampled(2, true, {7, 3})},
      {"upsample_trilinear3d", upsampled(3, false, {2, 9, 6})},
      {"squeeze", of_one({}, {1, 3, 1})},
      {"softmax.int", of_one({1, none()})},
      {"log_softmax.int", of_one({0, at::kDouble})},
      {"cross", [](ScalarType t) { return Stack{sample({3, 2}, t), sample({3, 2}, t, 1, 5), 0}; }},
      {"_fused_attention", attention(4, false, none(), 0)},
      {"_fused_attention", attention(2, true, none(), 0)},
      {"_fused_attention", attention(2, false, sample({3, 5}, at::kBool, 1), 0.4)},
      {"square", of_one(), {at::kDouble, at::kHalf, at::kLong, at::kComplexDouble}},
      {"unfold", of_one({1, 3, 2}), kAny},
      {"cdist", [](ScalarType t) { return Stack{sample({2, 3, 4}, t), sample({5, 4}, t, 1, 3), 1.5}; }, {at::kDouble}},
      {"_fused_batch_norm_backward", of_batch(true)},
      {"_fused_batch_norm_backward", of_batch(false)},
      {"upsample_bilinear2d", of_one({list({3, 7}), false}, {1, 2, 4, 3}), {at::kByte}},
      {"elu_backward", [](ScalarType t) { return Stack{sample({3, 5}, t), 1.3, 1.1, 0.9, false, sample({3, 5}, t)}; }},
      {"hardswish_backward", of_two()},
      {"leaky_relu_backward", of_two({0.1, false})},
      {"softplus_backward", of_two({1.5, 1})},
      {"smooth_l1_loss_backward", with_gradient({1, 0.7})},
      {"huber_loss_backward", with_gradient({2, 0.7})},
      {"mse_loss_backward", with_gradient({1})},
      {"soft_margin_loss", of_two({1})},
      {"multilabel_margin_loss_forward",
       [](ScalarType t) {
         return Stack{sample({2, 4}, t), integers({1, 3, -1, 0, 0, -1, 2, 2}, {2, 4}), 1};
       }},
  };
  return all;
}

OperatorHandle operator_of(const std::string& name) {
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow("aten::" + name.substr(0, dot),
                                                        dot == std::string::npos ? "" : name.substr(dot + 1));
}

// The values of a stack, tensors in memory of their own.
Stack copied(const Stack& stack) {
  Stack copy = stack;
  for (IValue& v : copy) {
    if (v.isTensor() && v.toTensor().defined()) v = IValue(at::clone(v.toTensor()));
  }
  return copy;
}

TEST(DecompositionSet, GiveWhatKernelsGive) {
  for (const Call& call : calls()) {
    const OperatorHandle op = operator_of(call.name);
    for (const ScalarType type : call.types) {
      SCOPED_TRACE(std::string(call.name) + " of " + toString(type));
      const Stack arguments = call.arguments(type);
      Stack want = copied(arguments), got = copied(arguments);
      op.callBoxed(want);
      decompose_into_core(op, got);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const Tensor a = got[i].toTensor(), b = want[i].toTensor();
        ASSERT_EQ(a.defined(), b.defined()) << "result " << i;
        if (!b.defined()) continue;
        const auto mismatch = call.values ? difference(a, b) : kind_difference(a, b);
        EXPECT_FALSE(mismatch) << "result " << i << ": " << mismatch->text();
      }
    }
  }
}

// An operator that PyTorch decomposes is composed of others here, has a decomposition, or says why not.
TEST(DecompositionSet, NoneIsMissing) {
  std::set<std::string> without;
  for (const Exception& e : not_decomposed()) {
    EXPECT_NE(std::string(e.reason), "");
    without.insert(e.name);
  }
  const auto& core = torch::graph::core_operators();
  const std::set<std::string> of_core(core.begin(), core.end()),
      names(decomposed_names().begin(), decomposed_names().end());
  EXPECT_EQ(core.size(), of_core.size());
  EXPECT_EQ(names.size(), 216u);
  std::set<std::string> seen, missing;
  for (const std::string& full : c10::Dispatcher::singleton().getAllOpNames()) {
    if (full.rfind("aten::", 0) != 0) continue;
    const std::string overload = full.substr(6), name = overload.substr(0, overload.find('.'));
    if (names.count(name) == 0) continue;
    seen.insert(name);
    const OperatorHandle op = operator_of(overload);
    const bool writes = op.schema().is_mutable() && name != "zero_" && overload != "bernoulli.float_out";
    // Forms that write are those of the functional one.
    if (writes || op.op().kernels == c10::Kernels::kComposite || at::has_decomposition(op)) {
      EXPECT_EQ(without.count(overload), 0u) << overload;
    } else if (without.erase(overload) == 0) {
      missing.insert(overload);
    }
  }
  for (const std::string& name : names) {
    if (seen.count(name) == 0 && without.erase(name) == 0) missing.insert(name);
  }
  EXPECT_EQ(missing, std::set<std::string>());
  EXPECT_EQ(without, std::set<std::string>()) << "listed without need";
}

// Every decomposition is called, here or by a recording.
TEST(DecompositionSet, AllAreRun) {
  std::set<std::string> run;
  for (const Call& call : calls()) run.insert(call.name);
  for (const char* set : {"first_families", "gradients", "newer", "shapes"}) {
    for (std::string name : CaseSet("tests/conformance/" + std::string(set) + ".tar.gz").names()) {
      std::replace(name.begin(), name.end(), '@', '.');
      run.insert(name);
    }
  }
  size_t count = 0;
  for (const std::string& full : c10::Dispatcher::singleton().getAllOpNames()) {
    if (full.rfind("aten::", 0) != 0) continue;
    const OperatorHandle op = operator_of(full.substr(6));
    if (!at::has_decomposition(op) || &op.decomposition()->op != &op.op()) continue;
    ++count;
    EXPECT_EQ(run.count(full.substr(6)), 1u) << full;
  }
  EXPECT_EQ(count, 171u);
}

TEST(DecompositionSet, OfFormsThatWrite) {
  const Tensor x = sample({3, 5}, at::kFloat), a = sample({3, 5}, at::kFloat, 1, 2),
               b = sample({3, 5}, at::kFloat, 1, 9);
  const Tensor want = at::add(x, at::mul(a, b));
  const Tensor changed = at::clone(x), out = at::empty({0}, at::kDouble), line = at::empty({0}, at::kHalf);
  Stack in_place{changed, a, b};
  decompose_into_core(operator_of("addcmul_"), in_place);
  EXPECT_TRUE(in_place.at(0).toTensor().is_same(changed));
  EXPECT_FALSE(difference(changed, want));
  Stack into_given{x, a, b, 1, out};
  decompose_into_core(operator_of("addcmul.out"), into_given);
  EXPECT_TRUE(into_given.at(0).toTensor().is_same(out));
  EXPECT_FALSE(difference(at::to(out, at::kFloat), want));
  // The functional form has options, which the given tensor stands for.
  Stack numbers{4, line};
  decompose_into_core(operator_of("arange.out"), numbers);
  EXPECT_FALSE(difference(line, at::arange(4, at::kHalf)));
  Stack ends{x, none(), false, at::empty({0}, at::kFloat), at::empty({0}, at::kFloat)};
  decompose_into_core(operator_of("aminmax.out"), ends);
  EXPECT_FALSE(difference(ends.at(0).toTensor(), at::amin(x)));
  EXPECT_FALSE(difference(ends.at(1).toTensor(), at::amax(x)));
  // A result that does not go into self.
  Stack too_small{sample({5}, at::kFloat), a, b};
  EXPECT_THROW(at::decompose(operator_of("addcmul_"), too_small), c10::Error);
}

TEST(DecompositionSet, RefuseWhatOperatorsRefuse) {
  const Tensor x = sample({3, 5}, at::kFloat);
  const auto decompose = [](const char* name, Stack stack) { at::decompose(operator_of(name), stack); };
  EXPECT_THROW(decompose("mm", {x, x}), c10::NotImplementedError);
  EXPECT_THROW(decompose("t_", {x}), c10::NotImplementedError);
  EXPECT_THROW(decompose("celu", {x, 0}), c10::Error);
  EXPECT_THROW(decompose("celu", {x, 1, 2}), c10::TypeError);
  EXPECT_THROW(decompose("addcmul", {x, x}), c10::TypeError);
  EXPECT_THROW(decompose("addcmul", {x, x, "x"}), c10::TypeError);
  EXPECT_THROW(decompose("take", {x, integers({15}, {1})}), c10::IndexError);
  EXPECT_THROW(decompose("glu", {x}), c10::Error);
}

// Those of f(x) = 2 x: a right one, one of other values, and one that calls what is not core.
Tensor doubled(const Tensor& self) {
  return at::mul(self, 2);
}
Tensor tripled(const Tensor& self) {
  return at::mul(self, 3);
}
Tensor by_inverse(const Tensor& self) {
  return at::mul(at::erfinv(at::erf(self)), 2);
}
using TestOperator = c10::Operator<Tensor(const Tensor&)>;
constexpr TestOperator test_operator(const char* name) {
  return {name, "test", c10::Kernels::kPerBackend, c10::Differentiation::kNone, {.cpu = &doubled}};
}
constinit TestOperator right = test_operator("decomposes_right"), wrong = test_operator("decomposes_wrong"),
                       beyond = test_operator("decomposes_beyond");
const auto kRight = at::boxing::decomposition_of(right, &doubled);
const auto kWrong = at::boxing::decomposition_of(wrong, &tripled);
const auto kBeyond = at::boxing::decomposition_of(beyond, &by_inverse);
const c10::RegisteredOperator kDecomposed[] = {
    {"decomposes_right(Tensor self) -> Tensor", &right, at::boxing::boxing_of(right), &kRight},
    {"decomposes_wrong(Tensor self) -> Tensor", &wrong, at::boxing::boxing_of(wrong), &kWrong},
    {"decomposes_beyond(Tensor self) -> Tensor", &beyond, at::boxing::boxing_of(beyond), &kBeyond},
};

TEST(DecompositionSet, ReplayFindsPlantedErrors) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  dispatcher.register_operators("aten", kDecomposed, std::size(kDecomposed));
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "planted_decompositions";
  std::filesystem::create_directories(folder);
  const auto vector = [](const char* key) {
    return nlohmann::json{{"tensor", key}, {"dtype", "float32"}, {"size", {2}}};
  };
  const auto text_of = [&](const std::string& name, bool decompositions) -> std::string {
    const nlohmann::json one = {{"args", nlohmann::json::array({vector("x")})},
                                {"kwargs", nlohmann::json::object()},
                                {"outputs", nlohmann::json::array({vector("out")})}};
    std::ofstream(folder / (name + ".json")) << nlohmann::json{{"op", "aten::" + name}, {"cases", {one}}};
    const Tensor x = at::arange(1, 3, at::kFloat);
    torch::safetensors::save_file({{"x", x}, {"out", at::mul(x, 2)}}, folder / (name + ".safetensors"));
    Options options;
    options.decompositions = decompositions;
    const OperatorReport report = replay_operator(CaseSet(folder), name, options);
    return report.failures.empty() ? std::to_string(report.passed) + " passed" : report.failures[0].text();
  };
  for (const char* name : {"decomposes_right", "decomposes_wrong", "decomposes_beyond"}) {
    EXPECT_EQ(text_of(name, false), "1 passed");
  }
  EXPECT_EQ(text_of("decomposes_right", true), "1 passed");
  EXPECT_EQ(text_of("decomposes_wrong", true), "case 0, result 0, index 0: got 3, expected 2");
  EXPECT_EQ(text_of("decomposes_beyond", true),
            "case 0, call: got an error: aten::decomposes_beyond > aten::erfinv: neither core nor decomposed, "
            "expected a result");
  // An operator without one has no cases.
  EXPECT_EQ(text_of("neg", true), "0 passed");
  dispatcher.deregister_operators("aten", kDecomposed, std::size(kDecomposed));
}

}  // namespace
}  // namespace conformance
