// Every sharding rule by brute force: each operator that a recorded call, or its backward pass, comes to is also
// computed from parts of its arguments, in every way that its rule offers, on meshes of 2 and 3 ranks; what the parts
// give, put together as the rule says, is what the whole gave.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/dispatch_mode.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/sharding.h"
#include "tests/conformance/checked_in.h"
#include "tests/conformance/compare.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;
using c10d::ReduceOp;

DeviceMesh row_of(int64_t parts, int64_t rank) {
  std::vector<int64_t> ranks;
  for (int64_t q = 0; q < parts; ++q) ranks.push_back(q);
  return DeviceMesh(c10::kCPU, {parts}, ranks, rank,
                    {c10::make_intrusive<c10d::ProcessGroup>(static_cast<int>(rank), static_cast<int>(parts))});
}

std::vector<Tensor> tensors_of(const Stack& values, std::vector<size_t>* arguments = nullptr) {
  std::vector<Tensor> tensors;
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

// The values with other tensors in place of theirs, in order.
Stack with_tensors(const Stack& values, const std::vector<Tensor>& tensors) {
  size_t next = 0;
  const auto replaced = [&](const IValue& value) {
    return value.isTensor() && value.toTensor().defined() ? IValue(tensors.at(next++)) : value;
  };
  Stack result;
  for (const IValue& value : values) {
    bool any = false;
    if (value.isList()) {
      for (const IValue& element : value.toListRef()) any = any || element.isTensor();
    }
    if (!any) {
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
  return t.layout() == at::kStrided && !t.is_quantized() && !t.is_nested() && t.is_cpu();
}

// Rank r's share of a value that is partial: shares of different sizes and signs.
Tensor share_of(const Tensor& t, ReduceOp::RedOpType op, int64_t parts, int64_t r) {
  const auto part = [&](int64_t q) { return q % 2 == 0 ? at::mul(t, 2) : at::neg(t); };
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::AVG: {
      Tensor share = t;
      if (r < parts - 1) {
        share = part(r);
      } else {
        for (int64_t q = 0; q < parts - 1; ++q) share = at::sub(share, part(q));
      }
      return op == ReduceOp::AVG ? at::mul(share, parts) : share;
    }
    case ReduceOp::MAX:
      return r == 0 ? t : at::sub(t, 1);
    case ReduceOp::MIN:
      return r == 0 ? t : at::add(t, 1);
    case ReduceOp::PRODUCT:
      return r == 0 ? t : at::ones_like(t);
    case ReduceOp::BXOR:
      return r == 0 ? t : at::zeros_like(t);
    default:
      return t;
  }
}

bool can_be_partial(const Tensor& t, ReduceOp::RedOpType op) {
  const bool floating = at::isFloatingType(t.scalar_type()) || at::isComplexType(t.scalar_type());
  if (t.scalar_type() == at::kBool) return false;
  if (op == ReduceOp::SUM || op == ReduceOp::AVG) {
    // Shares of infinities, or of what rounds, do not add up to the whole.
    return floating && t.scalar_type() != at::kHalf && t.scalar_type() != at::kBFloat16 &&
           at::isfinite(t).all().item<bool>();
  }
  if (op == ReduceOp::MAX || op == ReduceOp::MIN) return at::isFloatingType(t.scalar_type());
  return !at::isComplexType(t.scalar_type()) && (op == ReduceOp::PRODUCT || !floating);
}

Tensor combined(const std::vector<Tensor>& parts, const Placement& placement, int64_t size) {
  if (placement.is_shard()) return at::cat(parts, placement.dim());
  if (placement.is_strided_shard()) {
    const int64_t count = static_cast<int64_t>(parts.size());
    std::vector<Tensor> in_order;
    std::vector<int64_t> begins(parts.size(), 0);
    for (int64_t k = 0; k < placement.split_factor(); ++k) {
      for (size_t q = 0; q < parts.size(); ++q) {
        const int64_t outer = piece_of(size, placement.split_factor(), k).size;
        const int64_t each = piece_of(outer, count, static_cast<int64_t>(q)).size;
        in_order.push_back(at::narrow(parts[q], placement.dim(), begins[q], each));
        begins[q] += each;
      }
    }
    return at::cat(in_order, placement.dim());
  }
  Tensor result = parts[0];
  for (size_t q = 1; q < parts.size() && placement.is_partial(); ++q) {
    switch (placement.reduce_op()) {
      case ReduceOp::MAX:
        result = result.scalar_type() == at::kBool ? at::logical_or(result, parts[q]) : at::maximum(result, parts[q]);
        break;
      case ReduceOp::MIN:
        result = result.scalar_type() == at::kBool ? at::logical_and(result, parts[q]) : at::minimum(result, parts[q]);
        break;
      case ReduceOp::PRODUCT:
        result = at::mul(result, parts[q]);
        break;
      case ReduceOp::BAND:
        result = at::bitwise_and(result, parts[q]);
        break;
      case ReduceOp::BOR:
        result = at::bitwise_or(result, parts[q]);
        break;
      case ReduceOp::BXOR:
        result = at::bitwise_xor(result, parts[q]);
        break;
      default:
        result = at::add(result, parts[q]);
        break;
    }
  }
  if (placement.is_partial("avg")) result = at::div(result, static_cast<int64_t>(parts.size()));
  return result;
}

// Tries the rules of what is called while it is on.
class Verifier final : public at::DispatchMode {
 public:
  void handle(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) override {
    Stack before = *stack;
    const Sharding* sharding = sharding_of(op);
    std::vector<size_t> places;
    const std::vector<Tensor> inputs = tensors_of(before, &places);
    bool plain = sharding != nullptr && sharding->kind == Sharding::Kind::kRule && sharding->functional.empty() &&
                 !inputs.empty();
    std::vector<Tensor> kept;
    for (size_t i = 0; i < inputs.size(); ++i) {
      plain = plain && is_plain(inputs[i]) && inputs[i].numel() <= 4096;
      const bool written = op.schema().arguments()[places[i]].is_write();
      // What elements that share memory become depends on the order.
      plain = plain && (!written || inputs[i].is_non_overlapping_and_dense());
      kept.push_back(plain && written ? at::clone(inputs[i].detach()) : inputs[i]);
    }
    op.callBoxed(stack);
    if (!plain) return;
    const c10::NoGradGuard no_grad;
    before = with_tensors(before, kept);
    const std::vector<Tensor> whole = tensors_of(*stack);
    for (const Tensor& t : whole) {
      if (!is_plain(t)) return;
    }
    for (const int64_t parts : {2, 3}) try_parts(op, *sharding, before, kept, places, whole, parts);
  }

  std::map<std::string, std::string> problems;  // by operator, the first
  std::set<std::string> operators;              // for which a way was tried
  int64_t ways = 0;

 private:
  void try_parts(const OperatorHandle& op, const Sharding& sharding, const Stack& arguments,
                 const std::vector<Tensor>& inputs, const std::vector<size_t>& places, const std::vector<Tensor>& whole,
                 int64_t parts) {
    ShardedCall call(op.schema(), arguments);
    call.parts = parts;
    const DeviceMesh mesh = row_of(parts, 0);
    for (size_t i = 0; i < inputs.size(); ++i) {
      call.inputs.push_back(
          {places[i], c10::make_intrusive<Spec>(mesh, std::vector<Placement>{Replicate()}, inputs[i].sizes(),
                                                inputs[i].strides(), inputs[i].scalar_type())});
    }
    for (const Tensor& t : whole) call.outputs.push_back({t.sizes().vec(), t.strides().vec(), t.scalar_type()});
    const std::string name = toString(op.operator_name());
    sharding.rule(call);
    std::vector<Strategy> strategies = call.take();
    // What may be cut anywhere also in pieces.
    for (size_t s = 0, count = strategies.size(); s < count; ++s) {
      if (!strategies[s].any_parts) continue;
      Strategy strided = strategies[s];
      for (auto* list : {&strided.inputs, &strided.outputs}) {
        for (Placement& placement : *list) {
          if (placement.is_shard()) placement = StridedShard(placement.dim(), 2);
        }
      }
      strategies.push_back(std::move(strided));
    }
    for (const Strategy& strategy : strategies) {
      if (problems.count(name) > 0) return;
      std::string said =
          name + " on " + std::to_string(parts) + " ranks: " + str(strategy.inputs) + " -> " + str(strategy.outputs);
      for (const Tensor& input : inputs) said += " " + c10::str(input.sizes());
      try {
        const std::string problem = try_way(op, call, strategy, arguments, inputs, whole, parts);
        if (!problem.empty()) problems[name] = said + ": " + problem;
      } catch (const std::exception& error) {
        problems[name] = said + ": " + error.what();
      }
    }
  }

  std::string try_way(const OperatorHandle& op, const ShardedCall& call, const Strategy& strategy,
                      const Stack& arguments, const std::vector<Tensor>& inputs, const std::vector<Tensor>& whole,
                      int64_t parts) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Placement& placement = strategy.inputs[i];
      if (placement.is_partial() && !can_be_partial(inputs[i], placement.reduce_op())) return "";
      const bool is_cut = placement.is_shard() || placement.is_strided_shard();
      const auto of_last = sizes_at(row_of(parts, 0), {placement}, inputs[i].sizes(), {parts - 1});
      if (is_cut && !call.empty_parts && of_last[static_cast<size_t>(placement.dim())] == 0) return "";
    }
    std::vector<std::vector<Tensor>> results(whole.size());
    for (int64_t r = 0; r < parts; ++r) {
      std::vector<Tensor> mine;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Placement& placement = strategy.inputs[i];
        Tensor part = inputs[i];
        if (placement.is_shard() || placement.is_strided_shard()) {
          const Spec spec(row_of(parts, r), {Replicate()}, part.sizes(), part.strides(), part.scalar_type());
          part = redistribute_local(part, spec, {placement});
        } else if (placement.is_partial()) {
          part = share_of(part, placement.reduce_op(), parts, r);
        }
        part = at::clone(part);
        part.unsafeGetTensorImpl()->set_wrapped_number(inputs[i].unsafeGetTensorImpl()->is_wrapped_number());
        mine.push_back(part);
      }
      Stack stack = with_tensors(arguments, mine);
      std::vector<std::vector<int64_t>> sizes;
      for (size_t k = 0; k < whole.size(); ++k) {
        sizes.push_back(sizes_at(row_of(parts, r), {strategy.outputs[k]}, whole[k].sizes(), {r}));
      }
      if (!call.sizes_argument.empty()) stack[*op.schema().argument_index(call.sizes_argument)] = IValue(sizes.at(0));
      op.callBoxed(stack);
      const std::vector<Tensor> got = tensors_of(stack);
      if (got.size() != whole.size())
        return std::to_string(got.size()) + " results instead of " + std::to_string(whole.size());
      for (size_t k = 0; k < got.size(); ++k) {
        if (got[k].sizes() != at::IntArrayRef(sizes[k])) {
          return c10::str("result ", k, " of rank ", r, " has the sizes ", got[k].sizes(), " instead of ",
                          at::IntArrayRef(sizes[k]));
        }
        results[k].push_back(got[k]);
      }
    }
    // Shares of what is not finite do not add up to it.
    for (size_t k = 0; k < whole.size(); ++k) {
      const bool sums = strategy.outputs[k].is_partial("sum") || strategy.outputs[k].is_partial("avg");
      if (sums && !at::isfinite(whole[k]).all().item<bool>()) return "";
    }
    ++ways;
    operators.insert(toString(op.operator_name()));
    // Memory of its own has no values yet.
    if (toString(op.operator_name()).find("empty") != std::string::npos) return "";
    for (size_t k = 0; k < whole.size(); ++k) {
      const size_t copies = strategy.outputs[k].is_replicate() ? static_cast<size_t>(parts) : 1;
      for (size_t r = 0; r < copies; ++r) {
        const Placement& placement = strategy.outputs[k];
        const bool is_cut = placement.is_shard() || placement.is_strided_shard();
        const int64_t size = is_cut ? whole[k].size(placement.dim()) : 0;
        const Tensor got = copies > 1 ? results[k][r] : combined(results[k], placement, size);
        if (const auto mismatch = conformance::difference(got, whole[k], 100))
          return c10::str("result ", k, ": ", mismatch->text());
      }
    }
    return "";
  }
};

TEST(ShardingRules, PartsMakeTheWholeInEveryRecordedCall) {
  Verifier verifier;
  conformance::Options options;
  options.runner = [&](const std::function<void()>& call) {
    const at::DispatchModeGuard on(verifier);
    call();
  };
  size_t failed = 0, passed = 0;
  for (const conformance::CaseSet* set :
       {&conformance::first_families(), &conformance::gradients(), &conformance::shapes(), &conformance::newer()}) {
    for (const std::string& name : set->names()) {
      const conformance::OperatorReport report = conformance::replay_operator(*set, name, options);
      passed += report.passed;
      failed += report.failed;
      for (const conformance::CaseFailure& failure : report.failures) ADD_FAILURE() << name << ": " << failure.text();
    }
  }
  for (const auto& [name, problem] : verifier.problems) ADD_FAILURE() << problem;
  RecordProperty("operators", static_cast<int>(verifier.operators.size()));
  std::printf("%zu calls, %zu operators, %lld ways\n", passed, verifier.operators.size(),
              static_cast<long long>(verifier.ways));
  EXPECT_EQ(failed, 0u);
  EXPECT_GT(verifier.operators.size(), 200u);
  EXPECT_GT(verifier.ways, 5000);
}

}  // namespace
}  // namespace torch::distributed::tensor
