// Maximum pooling over windows at places drawn at random.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pool/kernels.h"
#include "aten/ops/pool/pool_geometry.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// Where the windows of one dimension start: steps of `alpha` from a random offset, and the last at the end.
template <class T>
void window_starts(T sample, int64_t in, int64_t out, int64_t kernel, std::vector<int64_t>& starts) {
  starts.resize(static_cast<size_t>(out));
  if (out > 1) {
    const T alpha = static_cast<T>(in - kernel) / static_cast<T>(out - 1);
    const auto offset = static_cast<int64_t>(sample * alpha);
    for (int64_t i = 0; i < out - 1; ++i) {
      const int64_t start = static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) - offset;
      // Samples outside of [0, 1) would leave the input.
      starts[static_cast<size_t>(i)] = std::clamp<int64_t>(start, 0, in - kernel);
    }
  }
  starts[static_cast<size_t>(out - 1)] = in - kernel;
}

// Of equal values the first counts; a NaN wins over everything, the last one over others.
template <class T>
void fractional_plane(const PoolGeometry& g, const std::array<std::vector<int64_t>, 3>& starts, const T* in, T* out,
                      int64_t* indices) {
  for (const int64_t z : starts[0]) {
    for (const int64_t y : starts[1]) {
      for (const int64_t x : starts[2]) {
        int64_t best = (z * g.in[1] + y) * g.in[2] + x;
        T max = -std::numeric_limits<T>::infinity();
        for (int64_t i = z; i < z + g.kernel[0]; ++i) {
          for (int64_t j = y; j < y + g.kernel[1]; ++j) {
            const int64_t row = (i * g.in[1] + j) * g.in[2];
            for (int64_t k = x; k < x + g.kernel[2]; ++k) {
              const T value = in[row + k];
              if (value > max || !(value == value)) max = value, best = row + k;
            }
          }
        }
        *out++ = max;
        *indices++ = best;
      }
    }
  }
}

void fractional_forward(const char* op, const PoolGeometry& g, const Tensor& self, const Tensor& samples, Tensor& out,
                        Tensor& indices) {
  if (out.numel() == 0) return;
  const Tensor x = dense(self), random = dense(samples);
  DenseOut to(out), at_index(indices);
  const int64_t inputs = g.inputs(), outputs = g.outputs();
  cpu::visit_floating(self.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* in = x.data_ptr<T>();
    const T* sample = random.data_ptr<T>();
    T* result = to.data<T>();
    int64_t* index = at_index.data<int64_t>();
    at::parallel_for(0, g.planes, 1, [&](int64_t begin, int64_t end) {
      std::array<std::vector<int64_t>, 3> starts{std::vector<int64_t>{0}, {}, {}};
      for (int64_t p = begin; p < end; ++p) {
        for (int d = 3 - g.dims; d < 3; ++d) {
          // Two dimensions take the samples from the last one on, three from the first.
          const int place = g.dims == 2 ? 2 - d : d;
          window_starts<Real>(static_cast<Real>(sample[p * g.dims + place]), g.in[d], g.out[d], g.kernel[d],
                              starts[static_cast<size_t>(d)]);
        }
        fractional_plane(g, starts, in + p * inputs, result + p * outputs, index + p * outputs);
      }
    });
  });
  to.commit();
  at_index.commit();
}

std::array<TensorSpec, 2> fractional_specs(const char* op, const PoolGeometry& g, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"", op, "\" not implemented for '",
                              toString(self.scalar_type()), "'");
  return {TensorSpec{g.result, {}, self.scalar_type(), self.device()}, TensorSpec{g.result, {}, kLong, self.device()}};
}

}  // namespace

std::array<TensorSpec, 2> fractional_max_pool2d_meta(const Tensor& self, IntArrayRef kernel_size,
                                                     IntArrayRef output_size, const Tensor& random_samples) {
  const char* op = "fractional_max_pool2d";
  return fractional_specs(op, fractional_geometry(op, 2, self, kernel_size, output_size, random_samples), self);
}
void fractional_max_pool2d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                               const Tensor& random_samples, Tensor& out, Tensor& indices) {
  const char* op = "fractional_max_pool2d";
  fractional_forward(op, fractional_geometry(op, 2, self, kernel_size, output_size, random_samples), self,
                     random_samples, out, indices);
}

std::array<TensorSpec, 2> fractional_max_pool3d_meta(const Tensor& self, IntArrayRef kernel_size,
                                                     IntArrayRef output_size, const Tensor& random_samples) {
  const char* op = "fractional_max_pool3d";
  return fractional_specs(op, fractional_geometry(op, 3, self, kernel_size, output_size, random_samples), self);
}
void fractional_max_pool3d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                               const Tensor& random_samples, Tensor& out, Tensor& indices) {
  const char* op = "fractional_max_pool3d";
  fractional_forward(op, fractional_geometry(op, 3, self, kernel_size, output_size, random_samples), self,
                     random_samples, out, indices);
}

}  // namespace at::native
