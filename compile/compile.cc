#include "compile/compile.h"

namespace torch::compiler {

Cache::State state_of(const nn::Module& module) {
  Cache::State state;
  for (const auto& item : module.named_parameters()) state.tensors.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.tensors.emplace_back(item.key(), item.value());
  state.modes = [modules = module.modules()](std::vector<int64_t>& words) {
    int64_t bits = 1;
    for (const std::shared_ptr<nn::Module>& one : modules) {
      if (bits < 0) {
        words.push_back(bits);
        bits = 1;
      }
      bits = bits << 1 | static_cast<int64_t>(one->is_training());
    }
    words.push_back(bits);
  };
  return state;
}

}  // namespace torch::compiler
