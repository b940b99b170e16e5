// Fused groups on the CPU.
//
//   const Tape tape(group);
//   tape.run({x, w, b}, {y});      // where the inputs and outputs are
//
// A tape is made for one set of sizes and strides, in microseconds: no code is generated. It gives the bits that the
// group's operators give one by one, whatever the processor and the number of threads (of NaNs only that they are NaN).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "c10/util/array_ref.h"
#include "compile/group/group.h"

namespace torch::compiler {

struct TapeOptions {
  /// Where false, every operation is one call of its loop: what the code is compared with.
  bool registers = true;
};

class Tape {
 public:
  /// `symbols`: the sizes that the group's expressions name. Throws ValueError for a group that is not as group.h
  /// says, and for more than 64 tensors.
  explicit Tape(const Group& group, const std::map<std::string, int64_t>& symbols = {},
                const TapeOptions& options = {});
  ~Tape();
  Tape(Tape&&) noexcept;
  Tape& operator=(Tape&&) noexcept;

  /// Memory of the inputs that are no constants, and of the outputs, in the group's order, aligned to their elements.
  /// No output may share memory with an input or another output. Any number of threads may run one tape.
  void run(c10::ArrayRef<const void*> inputs, c10::ArrayRef<void*> outputs) const;

  /// What it holds in memory.
  size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace torch::compiler
