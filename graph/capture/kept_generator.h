// Runs that leave the random numbers of the thread's program as they were.
#pragma once

#include "c10/core/cpu_generator.h"
#include "c10/core/tensor_impl.h"

namespace torch::graph {

/// At its end the CPU's default generator is as it was at its beginning.
class KeptGenerator {
 public:
  KeptGenerator() : state_(generator().get_state()) {}
  ~KeptGenerator() { generator().set_state(*state_); }
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  static c10::GeneratorImpl& generator() { return *at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl(); }
  c10::intrusive_ptr<c10::TensorImpl> state_;
};

}  // namespace torch::graph
