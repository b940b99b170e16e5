#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/checkpoint/checkpoint.h"
#include "c10/util/array_ref.h"

namespace c10 {
class IValue;
class OperatorHandle;
}  // namespace c10

/// Selective activation checkpointing: of the operators that a checkpointed function calls, the results of some are kept and
/// only the others run again in backward.
///
///   using namespace torch::utils::checkpoint;
///   auto options = CheckpointOptions().context_fn([] {
///     return create_selective_checkpoint_contexts({"aten::mm", "aten::addmm"});
///   });
///   auto y = checkpoint([&](const torch::Tensor& x) { return block(x); }, x, options);
///   y.sum().backward();     // block runs again, but for its matrix products
///
/// The operators are those that an at::DispatchMode sees, below autograd: mm, where the function calls matmul. They must be
/// callable by name: link //aten/ops:registry, or the registry of the families that are used.
namespace torch::utils::checkpoint {

/// What becomes of an operator's results: kept, and not computed again in backward (SAVE), or not kept, and computed again
/// (RECOMPUTE). MUST says that nobody else may decide otherwise; here MUST and PREFER do the same.
///
/// Operators that change an argument, those whose results are views of one, and those that only allocate (empty) run again
/// whatever the policy: what they do is no result that can be kept. The policy is not asked for them.
enum class CheckpointPolicy { MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE };

/// What a policy is told beside the call.
struct SelectiveCheckpointContext {
  bool is_recompute = false;
};

/// Decides for one call of `op` (<c10/dispatch/registry.h> says what that is). It is asked in forward and again in backward, and must say the same both times.
using PolicyFunction = std::function<CheckpointPolicy(
    const SelectiveCheckpointContext& context, const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments)>;

/// The two contexts of one call of checkpoint(), for CheckpointOptions::context_fn.
///
/// In backward throws Error: "Tensor cached during selective activation checkpoint has been mutated" where a kept result was
/// changed in place since, unless `allow_cache_entry_mutation`; "Trying to backward an extra time. .." where the region runs
/// again a second time, as kept results serve once; and where the policy keeps a call that it did not keep in forward. Random
/// numbers that a kept call drew, from the default generators of the CPU or of its arguments' devices, are not drawn again, and
/// those after it are the same as in forward.
Contexts create_selective_checkpoint_contexts(PolicyFunction policy, bool allow_cache_entry_mutation = false);
/// MUST_SAVE for these operators ("aten::mm", "aten::add.Tensor"), PREFER_RECOMPUTE for all others. Throws Error for a name
/// that no linked operator has.
Contexts create_selective_checkpoint_contexts(
    const std::vector<std::string>& operators_to_save, bool allow_cache_entry_mutation = false);

}  // namespace torch::utils::checkpoint
