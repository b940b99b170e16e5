// Checks of an operator's arguments, whose errors say which argument and which operator.
//
//   void scale(const at::Tensor& x, const at::Tensor& y) {
//     at::TensorArg x_arg{x, "x", 1}, y_arg{y, "y", 2};
//     at::checkAllSameType("scale", {x_arg, y_arg});
//     at::checkDim("scale", x_arg, 2);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/extension/tensor_geometry.h"
#include "c10/core/backend.h"
#include "c10/util/small_vector.h"
#include "c10/util/text_stream.h"

namespace at {

/// An argument: the tensor, its name, and its place, from 1 on (0: none).
struct TensorArg {
  const Tensor& tensor;
  const char* name;
  int pos;
  TensorArg(const Tensor& tensor_, const char* name_, int pos_) : tensor(tensor_), name(name_), pos(pos_) {}
  // The argument would outlive its tensor.
  TensorArg(Tensor&&, const char*, int) = delete;
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
};

/// The same of a geometry.
struct TensorGeometryArg {
  TensorGeometry tensor;
  const char* name;
  int pos;
  TensorGeometryArg(TensorArg arg) : tensor(arg.tensor), name(arg.name), pos(arg.pos) {}
  TensorGeometryArg(TensorGeometry tensor_, const char* name_, int pos_)
      : tensor(std::move(tensor_)), name(name_), pos(pos_) {}
  const TensorGeometry* operator->() const { return &tensor; }
  const TensorGeometry& operator*() const { return tensor; }
};

/// "argument #1 'x'"
void to_text(std::string& out, const TensorGeometryArg& arg);
void to_text(std::string& out, const TensorArg& arg);
template <TextStream Stream, class X>
  requires(SameType<X, TensorGeometryArg> || SameType<X, TensorArg>)
Stream& operator<<(Stream& out, const X& arg) {
  std::string text;
  to_text(text, arg);
  out << text;
  return out;
}

/// The operator whose arguments are checked.
using CheckedFrom = const char*;

/// Each throws c10::Error where what it says does not hold; ranges are [dim_start, dim_end).
void checkDim(CheckedFrom c, const Tensor& tensor, const char* name, int pos, int64_t dim);
void checkDim(CheckedFrom c, const TensorGeometryArg& t, int64_t dim);
void checkDimRange(CheckedFrom c, const TensorGeometryArg& t, int64_t dim_start, int64_t dim_end);
void checkSameDim(CheckedFrom c, const TensorGeometryArg& t1, const TensorGeometryArg& t2);
void checkContiguous(CheckedFrom c, const TensorGeometryArg& t);
void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> ts);
void checkSize(CheckedFrom c, const TensorGeometryArg& t, IntArrayRef sizes);
void checkSize(CheckedFrom c, const TensorGeometryArg& t, int64_t dim, int64_t size);
void checkNumel(CheckedFrom c, const TensorGeometryArg& t, int64_t numel);
void checkSameNumel(CheckedFrom c, const TensorArg& t1, const TensorArg& t2);
void checkAllSameNumel(CheckedFrom c, ArrayRef<TensorArg> tensors);
void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType type);
void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> types);
void checkSameGPU(CheckedFrom c, const TensorArg& t1, const TensorArg& t2);
void checkAllSameGPU(CheckedFrom c, ArrayRef<TensorArg> tensors);
void checkSameType(CheckedFrom c, const TensorArg& t1, const TensorArg& t2);
void checkAllSameType(CheckedFrom c, ArrayRef<TensorArg> tensors);
void checkSameSize(CheckedFrom c, const TensorArg& t1, const TensorArg& t2);
void checkAllSameSize(CheckedFrom c, ArrayRef<TensorArg> tensors);
void checkDefined(CheckedFrom c, const TensorArg& t);
void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> t);
void checkBackend(CheckedFrom c, const Tensor& t, Backend backend);
void checkBackend(CheckedFrom c, ArrayRef<Tensor> t, Backend backend);
void checkDeviceType(CheckedFrom c, const Tensor& t, DeviceType device_type);
void checkDeviceType(CheckedFrom c, ArrayRef<Tensor> tensors, DeviceType device_type);
void checkLayout(CheckedFrom c, const Tensor& t, Layout layout);
void checkLayout(CheckedFrom c, ArrayRef<Tensor> tensors, Layout layout);
void check_dim_size(const Tensor& tensor, int64_t dim, int64_t dim_size, int64_t size);

/// The address of the data; null for an undefined tensor.
void* maybe_data_ptr(const Tensor& tensor);
void* maybe_data_ptr(const TensorArg& tensor);

namespace detail {
/// Row-major.
std::vector<int64_t> defaultStrides(IntArrayRef sizes);
/// The strides that show `newshape` over the same memory; nothing where there are none.
std::optional<std::vector<int64_t>> computeStride(IntArrayRef oldshape, IntArrayRef oldstride, IntArrayRef newshape);
std::optional<DimVector> computeStride(IntArrayRef oldshape, IntArrayRef oldstride, const DimVector& newshape);
}  // namespace detail

}  // namespace at
