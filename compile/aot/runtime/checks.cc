#include "compile/aot/runtime/checks.h"

#include <new>
#include <stdexcept>
#include <string>

namespace torch::aot {

void refuse(const char* program, const char* what) {
  throw std::invalid_argument(std::string(program) + ": " + what);
}

void check_pointer(const char* program, const char* argument, const void* data, size_t alignment) {
  if (data == nullptr) throw std::invalid_argument(std::string(program) + ": " + argument + " is null");
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    throw std::invalid_argument(std::string(program) + ": " + argument + " is not aligned to " +
                                std::to_string(alignment) + " bytes");
  }
}

void check_range(const char* program, const char* argument, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return;
  throw std::invalid_argument(std::string(program) + ": " + argument + " is " + std::to_string(value) +
                              ", but must be within [" + std::to_string(min) + ", " + std::to_string(max) + "]");
}

Arena::Arena(const char* program, void* data, size_t bytes) : data_(static_cast<char*>(data)), own_(data == nullptr) {
  if (own_) {
    data_ = static_cast<char*>(::operator new (bytes == 0 ? 64 : bytes, std::align_val_t{64}));
  } else {
    check_pointer(program, "the arena", data, 64);
  }
}
Arena::~Arena() {
  if (own_) ::operator delete (data_, std::align_val_t{64});
}

}  // namespace torch::aot
