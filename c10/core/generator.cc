#include "c10/core/generator.h"

#include <sys/random.h>

#include <cerrno>
#include <mutex>

namespace c10 {

GeneratorImpl::GeneratorImpl(Device device, DispatchKeySet key_set)
    : device_(device), key_set_(key_set), mutex_(new std::mutex) {}
GeneratorImpl::~GeneratorImpl() {
  delete mutex_;
}

intrusive_ptr<GeneratorImpl> GeneratorImpl::clone() const {
  GeneratorImpl* copy = clone_impl();
  detail::RefCount::init(copy);
  return intrusive_ptr<GeneratorImpl>::reclaim(copy);
}

void GeneratorImpl::graphsafe_set_state(const intrusive_ptr<GeneratorImpl>&) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "graphsafe_set_state is not supported by the generator of ", device_);
}

intrusive_ptr<GeneratorImpl> GeneratorImpl::graphsafe_get_state() const {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "graphsafe_get_state is not supported by the generator of ", device_);
  __builtin_unreachable();
}

uint64_t detail::getNonDeterministicRandom() {
  uint64_t value = 0;
  ssize_t got;
  do {
    got = ::getrandom(&value, sizeof(value), 0);
  } while (got < 0 && errno == EINTR);
  TORCH_CHECK(got == sizeof(value), "the operating system gave no random seed");
  return value;
}

}  // namespace c10

namespace at {

void Generator::undefined() {
  TORCH_CHECK(false, "Generator with undefined implementation is not allowed");
  __builtin_unreachable();
}

}  // namespace at
