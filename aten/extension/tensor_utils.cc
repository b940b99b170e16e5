#include "aten/extension/tensor_utils.h"

#include <string>

#include "aten/core/view.h"
#include "c10/util/exception.h"

namespace at {
namespace {

std::string in(CheckedFrom c) { return c10::str(" (while checking arguments for ", c, ")"); }

// Strides of a contiguous tensor; a size of 0 counts as 1.
std::vector<int64_t> row_major_strides(IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
  return strides;
}

// Compares each argument that is defined with the first that is.
template <class Check>
void check_all_same(CheckedFrom c, ArrayRef<TensorArg> tensors, Check check) {
  const TensorArg* first = nullptr;
  for (const TensorArg& t : tensors) {
    if (!t->defined()) continue;
    if (first != nullptr) {
      check(c, *first, t);
    } else {
      first = &t;
    }
  }
}

}  // namespace

// --- TensorGeometry ---

TensorGeometry::TensorGeometry(IntArrayRef sizes) : sizes_(sizes.vec()), strides_(row_major_strides(sizes)) {
  numel_ = checked_numel(sizes_);
}

TensorGeometry::TensorGeometry(const TensorBase& t) {
  if (!t.defined()) return;
  sizes_ = t.sizes().vec();
  strides_ = t.strides().vec();
  storage_offset_ = t.storage_offset();
  numel_ = t.numel();
}

TensorGeometry::TensorGeometry(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t storage_offset)
    : sizes_(std::move(sizes)), strides_(std::move(strides)), storage_offset_(storage_offset) {
  numel_ = checked_numel(sizes_);
}

bool TensorGeometry::is_contiguous() const { return geometry_is_contiguous(sizes_, strides_); }

TensorGeometry TensorGeometry::transpose(int64_t dim0, int64_t dim1) const {
  TensorGeometry result = *this;
  const size_t a = static_cast<size_t>(maybe_wrap_dim(dim0, dim(), false));
  const size_t b = static_cast<size_t>(maybe_wrap_dim(dim1, dim(), false));
  std::swap(result.sizes_[a], result.sizes_[b]);
  std::swap(result.strides_[a], result.strides_[b]);
  return result;
}

void TensorGeometry::recompute() { numel_ = checked_numel(sizes_); }

bool geometry_is_contiguous(IntArrayRef sizes, IntArrayRef strides) {
  int64_t step = 1;
  bool contiguous = true;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0) return true;
    if (sizes[d] != 1 && strides[d] != step) contiguous = false;
    step *= sizes[d];
  }
  return contiguous;
}

// --- checks ---

namespace {
std::string argument(const char* name, int pos) {
  return pos == 0 ? c10::str("'", name, "'") : c10::str("argument #", pos, " '", name, "'");
}
}  // namespace
void to_text(std::string& out, const TensorGeometryArg& arg) { out += argument(arg.name, arg.pos); }
void to_text(std::string& out, const TensorArg& arg) { out += argument(arg.name, arg.pos); }

void checkDim(CheckedFrom c, const Tensor& tensor, const char* name, int pos, int64_t dim) {
  checkDim(c, TensorGeometryArg(TensorGeometry(tensor), name, pos), dim);
}

void checkDim(CheckedFrom c, const TensorGeometryArg& t, int64_t dim) {
  TORCH_CHECK(t->dim() == dim, "Expected ", dim, "-dimensional tensor, but got ", t->dim(), "-dimensional tensor for ",
              t, in(c));
}

void checkDimRange(CheckedFrom c, const TensorGeometryArg& t, int64_t dim_start, int64_t dim_end) {
  TORCH_CHECK(t->dim() >= dim_start && t->dim() < dim_end, "Expected ", dim_start, " to ", dim_end - 1,
              " dimensions, but got ", t->dim(), "-dimensional tensor for ", t, in(c));
}

void checkSameDim(CheckedFrom c, const TensorGeometryArg& t1, const TensorGeometryArg& t2) {
  TORCH_CHECK(t1->dim() == t2->dim(), "Expected tensor for ", t1, " to have the same dimension as tensor for ", t2,
              "; but ", t1->dim(), " does not equal ", t2->dim(), in(c));
}

void checkContiguous(CheckedFrom c, const TensorGeometryArg& t) {
  TORCH_CHECK(t->is_contiguous(), "Expected contiguous tensor, but got non-contiguous tensor for ", t, in(c));
}

void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> ts) {
  for (const TensorArg& t : ts) {
    if (t->defined()) checkContiguous(c, t);
  }
}

void checkSize(CheckedFrom c, const TensorGeometryArg& t, IntArrayRef sizes) {
  checkDim(c, t, static_cast<int64_t>(sizes.size()));
  TORCH_CHECK(t->sizes() == sizes, "Expected tensor of size ", sizes, ", but got tensor of size ", t->sizes(), " for ",
              t, in(c));
}

void checkSize(CheckedFrom c, const TensorGeometryArg& t, int64_t dim, int64_t size) {
  TORCH_CHECK(t->size(dim) == size, "Expected tensor to have size ", size, " at dimension ", dim, ", but got size ",
              t->size(dim), " for ", t, in(c));
}

void checkNumel(CheckedFrom c, const TensorGeometryArg& t, int64_t numel) {
  TORCH_CHECK(t->numel() == numel, "Expected tensor for ", t, " to have ", numel, " elements; but it actually has ",
              t->numel(), " elements", in(c));
}

void checkSameNumel(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  TORCH_CHECK(t1->numel() == t2->numel(), "Expected tensor for ", t1, " to have same number of elements as tensor for ",
              t2, "; but ", t1->numel(), " does not equal ", t2->numel(), in(c));
}

void checkAllSameNumel(CheckedFrom c, ArrayRef<TensorArg> tensors) { check_all_same(c, tensors, checkSameNumel); }

void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType type) {
  TORCH_CHECK(t->scalar_type() == type, "Expected tensor for ", t, " to have scalar type ", toString(type),
              "; but got ", t->toString(), " instead", in(c));
}

void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> types) {
  for (const ScalarType type : types) {
    if (t->scalar_type() == type) return;
  }
  TORCH_CHECK(false, "Expected tensor for ", t, " to have one of the following scalar types: ", c10::Join(", ", types),
              "; but got ", t->toString(), " instead", in(c));
}

void checkSameGPU(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  if (t1->is_cpu() || t2->is_cpu()) {
    const bool both = t1->is_cpu() && t2->is_cpu();
    std::string message;
    if (t1->is_cpu()) message += c10::str("Tensor for ", t1, " is on CPU, ");
    if (t2->is_cpu()) message += c10::str("Tensor for ", t2, " is on CPU, ");
    TORCH_CHECK(false, message, "but expected ", both ? "them" : "it", " to be on GPU", in(c));
  }
  TORCH_CHECK(t1->get_device() == t2->get_device(), "Expected tensor for ", t1,
              " to have the same device as tensor for ", t2, "; but device ", int{t1->get_device()}, " does not equal ",
              int{t2->get_device()}, in(c));
}

void checkAllSameGPU(CheckedFrom c, ArrayRef<TensorArg> tensors) { check_all_same(c, tensors, checkSameGPU); }

void checkSameType(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  const bool same = t1->scalar_type() == t2->scalar_type() && t1->layout() == t2->layout() &&
                    t1->device().type() == t2->device().type();
  TORCH_CHECK(same, "Expected tensor for ", t1, " to have the same type as tensor for ", t2, "; but type ",
              t1->toString(), " does not equal ", t2->toString(), in(c));
}

void checkAllSameType(CheckedFrom c, ArrayRef<TensorArg> tensors) { check_all_same(c, tensors, checkSameType); }

void checkSameSize(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  TORCH_CHECK(t1->sizes() == t2->sizes(), "Expected tensor for ", t1, " to have same size as tensor for ", t2, "; but ",
              t1->sizes(), " does not equal ", t2->sizes(), in(c));
}

void checkAllSameSize(CheckedFrom c, ArrayRef<TensorArg> tensors) { check_all_same(c, tensors, checkSameSize); }

void checkDefined(CheckedFrom c, const TensorArg& t) {
  TORCH_CHECK(t->defined(), "Expected tensor for ", t, " to be non-null, but it was undefined", in(c));
}

void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> t) {
  for (const TensorArg& arg : t) checkDefined(c, arg);
}

void checkBackend(CheckedFrom c, const Tensor& t, Backend backend) {
  const bool same =
      !t.defined() || (t.device().type() == backendToDeviceType(backend) && t.layout() == layout_from_backend(backend));
  TORCH_CHECK(same, "Expected tensor to have ", toString(backend), " Backend, but got ", t.toString(), in(c));
}
void checkBackend(CheckedFrom c, ArrayRef<Tensor> tensors, Backend backend) {
  for (const Tensor& t : tensors) checkBackend(c, t, backend);
}

void checkDeviceType(CheckedFrom c, const Tensor& t, DeviceType device_type) {
  TORCH_CHECK(!t.defined() || t.device().type() == device_type, "Expected tensor to have ", device_type,
              " DeviceType, but got tensor with ", t.device().type(), " DeviceType", in(c));
}
void checkDeviceType(CheckedFrom c, ArrayRef<Tensor> tensors, DeviceType device_type) {
  for (const Tensor& t : tensors) checkDeviceType(c, t, device_type);
}

void checkLayout(CheckedFrom c, const Tensor& t, Layout layout) {
  TORCH_CHECK(!t.defined() || t.layout() == layout, "Expected tensor to have ", layout, " Layout, but got tensor with ",
              t.layout(), " Layout", in(c));
}
void checkLayout(CheckedFrom c, ArrayRef<Tensor> tensors, Layout layout) {
  for (const Tensor& t : tensors) checkLayout(c, t, layout);
}

void check_dim_size(const Tensor& tensor, int64_t dim, int64_t dim_size, int64_t size) {
  TORCH_CHECK(tensor.dim() == dim && tensor.size(dim_size) == size, "Expected a tensor of dimension ", dim,
              " and tensor.size[", dim_size, "] == ", size, " but got: dimension ", tensor.dim(),
              " and tensor of size ", tensor.sizes());
}

void* maybe_data_ptr(const Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }
void* maybe_data_ptr(const TensorArg& tensor) { return maybe_data_ptr(*tensor); }

namespace detail {

std::vector<int64_t> defaultStrides(IntArrayRef sizes) { return row_major_strides(sizes); }

std::optional<DimVector> computeStride(IntArrayRef oldshape, IntArrayRef oldstride, const DimVector& newshape) {
  return view_strides(oldshape, oldstride, newshape);
}

std::optional<std::vector<int64_t>> computeStride(IntArrayRef oldshape, IntArrayRef oldstride, IntArrayRef newshape) {
  const std::optional<DimVector> strides = view_strides(oldshape, oldstride, newshape);
  if (!strides.has_value()) return std::nullopt;
  return std::vector<int64_t>(strides->begin(), strides->end());
}

}  // namespace detail
}  // namespace at
