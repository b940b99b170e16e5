// Rules of random operators, and of those whose results are not tensors of one size for every sample.
#include <algorithm>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

void check_random(const BatchedCall& call) {
  TORCH_CHECK(
      call.level().randomness != Randomness::kError,
      "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
      "randomness flags on vmap or perform the randomness operation out of vmap");
}
bool is_same(const BatchedCall& call) {
  return call.level().randomness == Randomness::kSame;
}

void run_for_all(BatchedCall& call) {
  call.run();
  call.same_for_all = true;
}

// rand(size), randn(size): numbers for every sample at once, so that they are those of one call of that size.
void random_factory(BatchedCall& call) {
  check_random(call);
  if (is_same(call)) return run_for_all(call);
  const int at = call.index("size");
  TORCH_INTERNAL_ASSERT(at >= 0, call.schema().name());
  std::vector<int64_t> size = call[static_cast<size_t>(at)].toIntVector();
  size.insert(size.begin(), call.batch_size());
  call.set(static_cast<size_t>(at), IValue(size));
  call.run();
}

// randperm(n): one after the other.
void random_permutation(BatchedCall& call) {
  check_random(call);
  if (is_same(call)) return run_for_all(call);
  std::vector<Tensor> all;
  for (int64_t b = 0; b < call.batch_size(); ++b) {
    Stack arguments = call.arguments();
    call.op().callBoxed(arguments);
    all.push_back(arguments.at(0).toTensor());
  }
  call.give(at::stack(all));
}

// rand_like(x): what x has is of no account, only its sizes.
void random_like(BatchedCall& call) {
  check_random(call);
  if (!is_same(call)) {
    call.set(0, IValue(call.every_sample(0)));
    return call.run();
  }
  if (call.batched(0)) call.set(0, IValue(at::select(call.tensor(0), 0, 0)));
  run_for_all(call);
}

// uniform_(x): x becomes random.
void random_in_place(BatchedCall& call) {
  check_random(call);
  const bool batched = call.batched(0);
  bool parameters = false;
  for (size_t i = 1; i < call.size(); ++i) parameters = parameters || call.batched(i);
  if (is_same(call)) {
    TORCH_CHECK(!parameters,
                "Vmap does not currently support same randomness with a batched tensor input: ", call.schema().name(),
                " has parameters for each sample");
    if (!batched) return run_for_all(call);
    Stack arguments = call.arguments();
    const Tensor one = at::empty_like(at::select(call.tensor(0), 0, 0), {}, at::MemoryFormat::Contiguous);
    arguments[0] = IValue(one);
    call.op().callBoxed(arguments);
    Tensor self = call.tensor(0);
    return call.give(at::copy_(self, one, false));
  }
  TORCH_CHECK(batched,
              "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
              "randomness: ",
              call.schema().name());
  for (size_t i = 1; i < call.size(); ++i) {
    if (call.is_tensor(i)) call.set(i, IValue(call.padded(call.tensor(i), call.batched(i), call.rank(0))));
  }
  call.run();
}

// bernoulli(p), normal(mean, std): samples of what the elements say.
void random_sample(BatchedCall& call) {
  check_random(call);
  if (is_same(call)) {
    TORCH_CHECK(!call.any_batched(),
                "Vmap does not currently support same randomness with a batched tensor input: ", call.schema().name());
    return run_for_all(call);
  }
  int64_t rank = 0;
  bool first = true;
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) rank = std::max(rank, call.rank(i));
  }
  for (size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    // One is enough for the sizes; the others broadcast.
    call.set(i, IValue(call.padded(first ? call.every_sample(i) : call.tensor(i), first || call.batched(i), rank)));
    first = false;
  }
  call.run();
}

// multinomial(p): rows of weights.
void multinomial(BatchedCall& call) {
  check_random(call);
  if (is_same(call)) return random_sample(call);
  const Tensor weights = call.every_sample(0);
  if (call.rank(0) != 2) {
    call.set(0, IValue(weights));
    return call.run();
  }
  call.set(0, IValue(at::flatten(weights, 0, 1)));
  call.run();
  call.give(at::unflatten(call.results[0].toTensor(), 0, {weights.size(0), weights.size(1)}));
}

// What a rule by the loop does with random operators.
void random_loop(BatchedCall& call) {
  check_random(call);
  if (!call.any_batched() && is_same(call)) return run_for_all(call);
  TORCH_CHECK(!is_same(call),
              "Vmap does not currently support same randomness with a batched tensor input: ", call.schema().name());
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) call.set(i, IValue(call.every_sample(i)));
  }
  loop_rule(call);
}

[[noreturn]] void item(BatchedCall&) {
  TORCH_CHECK(false,
              "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
              "Tensor, please try to rewrite what you're doing with other operations.");
}

[[noreturn]] void control_flow(BatchedCall& call) {
  TORCH_CHECK(false, "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow (",
              call.schema().name(), "). We don't support that: there is a value for each sample.");
}

[[noreturn]] void dynamic_shape(BatchedCall& call) {
  TORCH_CHECK(false,
              "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over ",
              toString(call.op().operator_name()), ".");
}

// With the size of the result said beforehand there is one for all samples.
void repeat_interleave(BatchedCall& call) {
  TORCH_CHECK(!call.named("output_size").isNone(),
              "repeat_interleave: vmapping over the `repeats` tensor requires the `output_size` argument to be "
              "specified: otherwise the sum of a sample's repeats is the size of its result");
  loop_rule(call);
}

[[noreturn]] void refused(BatchedCall& call) {
  TORCH_CHECK(false, "vmap: ", toString(call.op().operator_name()),
              " changes what a tensor's memory is, which tensors inside vmap do not have of their own");
}

constexpr Batching::Kind kRandom = Batching::Kind::kRandom, kRefused = Batching::Kind::kRefused;
constexpr NamedRule kRules[] = {
    {"random_factory", &random_factory, false, kRandom},
    {"random_permutation", &random_permutation, false, kRandom},
    {"random_like", &random_like, false, kRandom},
    {"random_in_place", &random_in_place, true, kRandom},
    {"random_sample", &random_sample, false, kRandom},
    {"random_loop", &random_loop, true, kRandom},
    {"multinomial", &multinomial, false, kRandom},
    {"item", &item, false, kRefused},
    {"control_flow", &control_flow, false, kRefused},
    {"dynamic_shape", &dynamic_shape, false, kRefused},
    {"repeat_interleave", &repeat_interleave, false, kRefused},
    {"refused", &refused, true, kRefused},
    {"loop", &loop_rule, true, Batching::Kind::kLoop},
    {"compose", nullptr, false, Batching::Kind::kComposed},
    {"decompose", nullptr, false, Batching::Kind::kDecomposed},
};

}  // namespace

c10::ArrayRef<NamedRule> value_rules() {
  return kRules;
}

}  // namespace torch::func::detail
