#include "aten/ops/fft/transform_dims.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "c10/util/exception.h"

namespace at::native::fft {
namespace {

// How a normalization argument divides.
enum class Norm : int64_t { kNone = 0, kByRoot = 1, kByNumber = 2 };

}  // namespace

DimVector checked_dims(const char* op, const Tensor& self, IntArrayRef dim, int64_t normalization) {
  TORCH_CHECK(normalization >= 0 && normalization <= 2, op, "(): normalization ", normalization,
              " is not one of 0 (none), 1 (by the root of the size), 2 (by the size)");
  DimVector dims;
  for (int64_t d : dim) {
    const int64_t wrapped = maybe_wrap_dim(d, self.dim(), false);
    TORCH_CHECK(std::find(dims.begin(), dims.end(), wrapped) == dims.end(), op,
                "(): FFT dims must be unique, but dimension ", wrapped, " appears more than once");
    TORCH_CHECK(self.size(wrapped) > 0, op, "(): Invalid number of data points (", self.size(wrapped), ") specified");
    dims.push_back(wrapped);
  }
  return dims;
}

DimVector real_dims(const char* op, const Tensor& self, IntArrayRef dim, int64_t normalization) {
  TORCH_CHECK(!dim.empty(), op, "() must transform at least one dimension, but dim is empty");
  DimVector dims = checked_dims(op, self, dim, normalization), others = all_but_last(dims);
  sort_by_stride(others, self.strides());
  others.push_back(dims.back());
  return others;
}

void sort_by_stride(DimVector& dims, IntArrayRef strides) {
  for (size_t i = 1; i < dims.size(); ++i) {
    for (size_t j = i; j > 0 && strides[static_cast<size_t>(dims[j - 1])] < strides[static_cast<size_t>(dims[j])];
         --j) {
      std::swap(dims[j - 1], dims[j]);
    }
  }
}

TensorSpec result_spec(const Tensor& self, IntArrayRef strides, const DimVector& dims, DimVector sizes,
                       ScalarType dtype) {
  DimVector order;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  sort_by_stride(order, strides);
  order.insert(order.end(), dims.begin(), dims.end());
  DimVector out_strides(sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = static_cast<size_t>(order[i]);
    out_strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return {std::move(sizes), std::move(out_strides), dtype, self.device()};
}

double factor(int64_t normalization, const Tensor& signal, const DimVector& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(signal.size(d));
  switch (static_cast<Norm>(normalization)) {
    case Norm::kNone:
      return 1;
    case Norm::kByRoot:
      return 1 / std::sqrt(n);
    default:
      return 1 / n;
  }
}

}  // namespace at::native::fft
