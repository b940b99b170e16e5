#include "autograd/engine/fork.h"

#include <pthread.h>

#include <new>

namespace torch::autograd {

constinit ForkSafeMutexes mutexes;

namespace {

void in_child() {
  fork_generation.fetch_add(1);
  ::new (&mutexes) ForkSafeMutexes;
}

[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, in_child);

}  // namespace
}  // namespace torch::autograd
