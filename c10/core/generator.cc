#include "c10/core/generator.h"

#include <sys/random.h>

#include <cerrno>
#include <mutex>

namespace c10 {

GeneratorImpl::GeneratorImpl(Device device) : device_(device), mutex_(new std::mutex) {}
GeneratorImpl::~GeneratorImpl() {
  delete mutex_;
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
