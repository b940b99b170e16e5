// What torch::compile keeps: a program's executables by the kinds of inputs that it was called with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/stack.h"
#include "compile/executable.h"

namespace torch {

struct CompileOptions {
  /// Whether a call that cannot be compiled runs as it is; else it throws ValueError that says why and where.
  bool eager_fallback = false;
  /// The least recently used entries go where there are more, or they hold more bytes.
  size_t max_entries = 64;
  size_t max_bytes = size_t{256} << 20;
  /// Tensors that are neither arguments nor a module's state become constants, where they are not larger.
  int64_t max_constant_bytes = int64_t{16} << 20;
  /// Whether groups are looked for; without, operators run one by one.
  bool fuse = true;
  /// Whether calls that record no gradients take a module's parameters and buffers for constants, as long as they stay
  /// what they are: batch norms are folded into the layers before them, weights laid out once, images kept with their
  /// channels side by side, sums and limits computed with the layers that they follow. Results are as exact, but not
  /// the same bits; a first call gives the program's own. Writing to such a tensor, or giving it other memory, has its
  /// constants made anew by the next call; writes through pointers are not seen. The weights take their memory once
  /// more.
  bool freeze = false;
};

struct CompileStatistics {
  uint64_t hits = 0;         ///< calls that found their entry
  uint64_t misses = 0;       ///< calls that were captured
  uint64_t evictions = 0;    ///< entries that went since there was no room
  uint64_t eager_calls = 0;  ///< calls that ran as they are
  size_t entries = 0;
  size_t bytes = 0;
  /// Why calls ran as they are, each reason once, at most 100 of them.
  std::vector<std::string> reasons;
  /// Of the entries, the latest used first.
  std::vector<compiler::ExecutableReport> reports;
};

namespace compiler {

/// Programs that take and give values; a module's tensors are state.
class Cache {
 public:
  using Program = std::function<c10::Stack(const c10::Stack& inputs)>;
  struct State {
    std::vector<std::pair<std::string, at::Tensor>> tensors;
    /// What else a program depends on: whether modules train.
    std::function<void(std::vector<int64_t>& words)> modes;
  };

  explicit Cache(CompileOptions options, State state = {});
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// The program's results, on the stack instead of its inputs. A first call with inputs of a kind runs the program,
  /// and records it; calls after it run what was recorded.
  void call(c10::Stack& stack, const Program& program);

  CompileStatistics statistics() const;
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace compiler
}  // namespace torch
