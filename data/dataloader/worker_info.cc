#include "data/dataloader/worker_info.h"

#include <mutex>

#include "c10/core/cpu_generator.h"

namespace torch::data {

namespace {

struct ThreadState {
  std::optional<WorkerInfo> worker;
  std::optional<uint64_t> batch_seed;
  bool seeded = false;
  at::Generator generator;
};

ThreadState& state() {
  thread_local ThreadState of_thread;
  return of_thread;
}

// Neighbouring numbers give unrelated seeds (the finalizer of SplitMix64, Steele, Lea and Flood 2014).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<WorkerInfo> worker_info() { return state().worker; }

const at::Generator& random_generator() {
  ThreadState& s = state();
  if (!s.batch_seed) return at::detail::getDefaultCPUGenerator();
  if (!s.generator.defined()) s.generator = at::make_generator<at::CPUGeneratorImpl>();
  if (!s.seeded) s.generator.set_current_seed(*s.batch_seed);
  s.seeded = true;
  return s.generator;
}

namespace detail {

WorkerScope::WorkerScope(const WorkerInfo& info) { state().worker = info; }
WorkerScope::~WorkerScope() { state().worker.reset(); }

BatchScope::BatchScope(uint64_t base_seed, uint64_t number) {
  state().batch_seed = mixed(base_seed ^ mixed(number));
  state().seeded = false;
}
BatchScope::~BatchScope() { state().batch_seed.reset(); }

uint64_t base_seed(const std::optional<at::Generator>& generator, uint64_t pass) {
  if (!generator) return mixed(at::detail::getDefaultCPUGenerator().current_seed() + pass) >> 1;
  auto* const impl = at::check_generator<at::CPUGeneratorImpl>(generator);
  std::lock_guard<std::mutex> lock(generator->mutex());
  return impl->random64() & (~uint64_t{0} >> 1);
}

}  // namespace detail

}  // namespace torch::data
