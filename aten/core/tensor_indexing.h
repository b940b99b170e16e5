#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

#include "aten/core/tensor.h"

namespace at::indexing {

// What an open end of a slice stands for.
inline constexpr int64_t INDEX_MIN = -(int64_t{1} << 62);
inline constexpr int64_t INDEX_MAX = -(INDEX_MIN + 1);

enum class TensorIndexType { None, Ellipsis, Integer, Boolean, Slice, Tensor };

// Adds a dimension of size 1.
inline constexpr std::nullopt_t None = std::nullopt;

struct EllipsisIndexType final {};
// Stands for as many full slices as are missing.
inline constexpr EllipsisIndexType Ellipsis{};

// start:stop:step of a dimension; open ends are None. Throws ValueError for step 0.
struct Slice final {
  Slice(
      std::optional<int64_t> start = std::nullopt,
      std::optional<int64_t> stop = std::nullopt,
      std::optional<int64_t> step = std::nullopt);
  int64_t start() const { return start_; }
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  int64_t start_;
  int64_t stop_;
  int64_t step_;
};

// One position of a mixed index: None, Ellipsis or "...", an integer, a bool, a Slice or a tensor (integer indices or a mask).
class TensorIndex final {
 public:
  TensorIndex(std::nullopt_t) : value_(std::monostate{}) {}
  TensorIndex(EllipsisIndexType ellipsis) : value_(ellipsis) {}
  TensorIndex(const char* text);
  TensorIndex(int64_t integer) : value_(integer) {}
  TensorIndex(int integer) : value_(static_cast<int64_t>(integer)) {}
  template <class T>
    requires std::is_same_v<T, bool>
  TensorIndex(T boolean) : value_(boolean) {}
  TensorIndex(Slice slice) : value_(slice) {}
  TensorIndex(Tensor tensor) : value_(std::move(tensor)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_ellipsis() const { return std::holds_alternative<EllipsisIndexType>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_slice() const { return std::holds_alternative<Slice>(value_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  int64_t integer() const { return std::get<int64_t>(value_); }
  bool boolean() const { return std::get<bool>(value_); }
  const Slice& slice() const { return std::get<Slice>(value_); }
  const Tensor& tensor() const { return std::get<Tensor>(value_); }

 private:
  std::variant<std::monostate, EllipsisIndexType, int64_t, bool, Slice, Tensor> value_;
};

// What self[indices] is: a view where only slices, integers and None are used, a gathered copy where tensors are.
//
//   using namespace torch::indexing;
//   x.index({"...", Slice(None, None, 2), 0});
//
// A slice that takes all of a dimension is left out; with `disable_slice_optimization` it is applied all the same, for what
// records the calls.
Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices, bool disable_slice_optimization = false);
// self[indices] = values, broadcast.
void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& values, bool disable_slice_optimization = false);
void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value, bool disable_slice_optimization = false);

// Texts: "None", "...", "3", "true", "1:4611686018427387903:1"; several: "(0, ..., None)".
void to_text(std::string& out, const Slice& slice);
void to_text(std::string& out, const TensorIndex& index);
void to_text(std::string& out, const std::vector<TensorIndex>& indices);
std::ostream& operator<<(std::ostream& stream, const Slice& slice);
std::ostream& operator<<(std::ostream& stream, const TensorIndex& index);
std::ostream& operator<<(std::ostream& stream, const std::vector<TensorIndex>& indices);

}  // namespace at::indexing

// The same namespace, so that a program with `using namespace torch;` may say `indexing::Slice`.
namespace torch {
namespace indexing = at::indexing;
}
