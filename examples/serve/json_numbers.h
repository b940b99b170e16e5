// Numbers of a JSON array before it is known what they are for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aten/core/tensor.h"

namespace serve {

/// Eight bytes a number.
class JsonNumbers {
 public:
  void push(bool value);
  void push(int64_t value);
  void push(uint64_t value);
  void push(double value);
  size_t size() const { return bits_.size(); }

  /// All of them as the elements of a contiguous tensor. Throws BadRequest where one is not of its dtype; `name` is the
  /// input's.
  void copy_to(const at::Tensor& tensor, const std::string& name) const;

 private:
  enum class Mode : uint8_t { kNothing, kBool, kInt, kUnsigned, kDouble };
  double number(size_t i) const;
  void become_double();
  template <class T>
  void copy_whole(T* out, const std::string& name) const;
  template <class T>
  void copy_floating(T* out, const std::string& name) const;

  Mode mode_ = Mode::kNothing;
  bool mixed_ = false;  // truth values and numbers
  bool negative_ = false;
  std::vector<uint64_t> bits_;
};

}  // namespace serve
