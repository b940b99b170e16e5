// What a pipeline asks of a module of fully_shard(). It is attached to the module (nn/module/replacement.h), so that
// pipelines need not link FSDP.
#pragma once

#include <functional>
#include <string>

namespace torch::distributed::fsdp::detail {

struct Pipelined {
  /// Whether backward passes leave gradients on this rank, where they add up, and the parameters gathered.
  std::function<void(bool)> defer;
  /// Gathers the parameters, where they are not: for a part of a backward pass that begins below the module's results.
  std::function<void()> gather;
  /// What the last of them would have done: reduces the gradients of all modules of the root, if this is one.
  std::function<void()> finish;
  /// Ends the groups that parameters are sharded over.
  std::function<void(const std::string& reason)> abort;
};

}  // namespace torch::distributed::fsdp::detail
