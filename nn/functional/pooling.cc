#include "nn/functional/pooling.h"

#include <cmath>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::nn::functional {
namespace {

// The output's sizes, absent ones taken from the input.
template <size_t D>
std::array<int64_t, D> full_size(const Tensor& input, const ExpandingArrayWithOptionalElem<D>& wanted) {
  TORCH_CHECK(input.dim() > static_cast<int64_t>(D), "Input must have at least ", D + 1, " dimensions, but got ",
              input.dim(), ": ", input.sizes());
  std::array<int64_t, D> out;
  for (size_t i = 0; i < D; ++i)
    out[i] = (*wanted)[i].value_or(input.size(static_cast<int64_t>(i) - static_cast<int64_t>(D)));
  return out;
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o) {
  return at::avg_pool1d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad());
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return at::avg_pool2d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad(),
                        o.divisor_override());
}
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& o) {
  return at::avg_pool3d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad(),
                        o.divisor_override());
}
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return at::max_pool1d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return at::max_pool1d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return at::max_pool2d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return at::max_pool2d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return at::max_pool3d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return at::max_pool3d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& o) {
  return at::adaptive_avg_pool1d(input, *o.output_size());
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& o) {
  return at::adaptive_max_pool1d(input, *o.output_size());
}
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, o));
}
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& o) {
  return at::adaptive_avg_pool2d(input, full_size(input, o.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& o) {
  return at::adaptive_max_pool2d(input, full_size(input, o.output_size()));
}
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, o));
}
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& o) {
  return at::adaptive_avg_pool3d(input, full_size(input, o.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& o) {
  return at::adaptive_max_pool3d(input, full_size(input, o.output_size()));
}
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, o));
}

namespace {

// What max_pool made this input of: the size that was asked for where that is possible, else the smallest one.
template <size_t D>
std::array<int64_t, D> unpool_size(const Tensor& input, const MaxUnpoolFuncOptions<D>& o) {
  TORCH_CHECK(input.dim() == D + 1 || input.dim() == D + 2, "max_unpool", D, "d: expected an input of ", D + 1, " or ",
              D + 2, " dimensions, but got sizes ", input.sizes());
  std::array<int64_t, D> usual;
  for (size_t d = 0; d < D; ++d) {
    usual[d] = (input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)) - 1) * (*o.stride())[d] +
               (*o.kernel_size())[d] - 2 * (*o.padding())[d];
  }
  if (!o.output_size().has_value()) return usual;
  std::vector<int64_t> wanted = *o.output_size();
  if (wanted.size() == D + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  TORCH_CHECK_VALUE(wanted.size() == D, "output_size should be a sequence containing ", D, " or ", D + 2,
              " elements, but it has a length of '", wanted.size(), "'");
  std::array<int64_t, D> size;
  for (size_t d = 0; d < D; ++d) {
    const int64_t low = usual[d] - (*o.stride())[d];
    const int64_t high = usual[d] + (*o.stride())[d];
    TORCH_CHECK_VALUE(low < wanted[d] && wanted[d] < high, "invalid output_size ", c10::IntArrayRef(wanted), " (dim ", d,
                " must be between ", low, " and ", high, ")");
    size[d] = wanted[d];
  }
  return size;
}

}  // namespace

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& options) {
  const int64_t length = unpool_size(input, options)[0];
  return at::squeeze(at::max_unpool2d(at::unsqueeze(input, -1), at::unsqueeze(indices, -1), {length, 1}), -1);
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& options) {
  return at::max_unpool2d(input, indices, unpool_size(input, options));
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& options) {
  return at::max_unpool3d(input, indices, unpool_size(input, options), *options.stride(), *options.padding());
}

namespace {

template <size_t D, typename Pool>
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& input, const FractionalMaxPoolOptions<D>& o,
                                               const Pool& pool) {
  TORCH_CHECK_VALUE(o.output_size().has_value() || o.output_ratio().has_value(), "fractional_max_pool", D,
              "d requires specifying either an output_size or an output_ratio");
  constexpr int64_t dims = static_cast<int64_t>(D);
  TORCH_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, "fractional_max_pool", D, "d: expected an input of ",
              D + 1, " or ", D + 2, " dimensions, but got sizes ", input.sizes());
  std::array<int64_t, D> size;
  for (size_t d = 0; d < D; ++d) {
    size[d] = o.output_size().has_value()
                  ? (**o.output_size())[d]
                  : static_cast<int64_t>(static_cast<double>(input.size(static_cast<int64_t>(d) - dims)) *
                                         (**o.output_ratio())[d]);
  }
  Tensor samples = o._random_samples();
  if (!samples.defined()) {
    const int64_t batch = input.dim() == dims + 1 ? 1 : input.size(0);
    samples = at::rand({batch, input.size(-dims - 1), dims}, input.options());
  }
  return pool(*o.kernel_size(), size, samples);
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& options) {
  return fractional_max_pool(input, options,
                             [&](c10::IntArrayRef kernel, c10::IntArrayRef size, const Tensor& samples) {
                               return at::fractional_max_pool2d(input, kernel, size, samples);
                             });
}
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool3dFuncOptions& options) {
  return fractional_max_pool(input, options,
                             [&](c10::IntArrayRef kernel, c10::IntArrayRef size, const Tensor& samples) {
                               return at::fractional_max_pool3d(input, kernel, size, samples);
                             });
}
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, options));
}
Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, options));
}

namespace {

// Of the means of x^p.
template <size_t D>
Tensor lp_root(const Tensor& means, const LPPoolOptions<D>& o) {
  double elements = 1;
  for (const int64_t k : *o.kernel_size()) elements *= static_cast<double>(k);
  const Tensor sums = at::mul(at::mul(at::sign(means), at::relu(at::abs(means))), elements);
  return at::pow(sums, 1.0 / o.norm_type());
}

}  // namespace

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& o) {
  return lp_root(at::avg_pool1d(at::pow(input, o.norm_type()), *o.kernel_size(), *o.stride(), 0, o.ceil_mode()), o);
}
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& o) {
  return lp_root(at::avg_pool2d(at::pow(input, o.norm_type()), *o.kernel_size(), *o.stride(), 0, o.ceil_mode()), o);
}
Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& o) {
  return lp_root(at::avg_pool3d(at::pow(input, o.norm_type()), *o.kernel_size(), *o.stride(), 0, o.ceil_mode()), o);
}

}  // namespace torch::nn::functional
