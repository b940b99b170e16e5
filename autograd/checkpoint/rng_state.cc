#include "autograd/checkpoint/rng_state.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "c10/core/accelerator.h"
#include "c10/core/cpu_generator.h"

namespace torch::utils::checkpoint {

void RngState::add(at::Generator generator) {
  for (const One& one : states_) {
    if (one.generator == generator) return;
  }
  const std::lock_guard<std::mutex> lock(generator.mutex());
  auto state = generator.getIntrusivePtr()->get_state();
  states_.push_back({std::move(generator), std::move(state)});
}

RngState RngState::of(const autograd::variable_list& inputs) {
  RngState state;
  state.add(at::detail::getDefaultCPUGenerator());
  for (const at::Tensor& input : inputs) {
    if (!input.defined() || input.is_cpu() || at::detail::acceleratorHooks(input.device().type()) == nullptr) continue;
    state.add(at::detail::getDefaultGenerator(input.device()));
  }
  return state;
}

RngState RngState::again() const {
  RngState now;
  for (const One& one : states_) now.add(one.generator);
  return now;
}

bool RngState::operator==(const RngState& other) const {
  const auto same = [](const One& a, const One& b) {
    const at::Tensor x(a.state), y(b.state);
    return a.generator == b.generator && x.nbytes() == y.nbytes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
  };
  return std::equal(states_.begin(), states_.end(), other.states_.begin(), other.states_.end(), same);
}

void RngState::restore() const {
  for (const One& one : states_) {
    const std::lock_guard<std::mutex> lock(one.generator.mutex());
    one.generator.getIntrusivePtr()->set_state(*one.state);
  }
}

}  // namespace torch::utils::checkpoint
