// Layer, group and batch normalisation of CUDA tensors, and their gradients.
#include <algorithm>
#include <array>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/reduce/reduce.h"
#include "aten/cuda/norm/channels.h"
#include "aten/cuda/reduce/reduce.h"
#include "aten/cuda/rows/rows_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/norm/channel_layout.h"
#include "aten/ops/norm/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using cuda::RowsCall;

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

Tensor doubles(const Tensor& t) {
  return dense(t, ScalarType::Double);
}
Tensor new_doubles(IntArrayRef sizes, Device device) {
  return empty_contiguous(sizes, ScalarType::Double, device);
}
const double* numbers(const Tensor& t) {
  return static_cast<const double*>(t.const_data_ptr());
}

Tensor reciprocal_deviation(const Tensor& variance, double eps) {
  return at::rsqrt(at::add(variance, Scalar(eps)));
}

// --- rows ---

struct RowShape {
  int64_t rows = 1, width = 1;
};

RowShape rows_of(const Tensor& input, IntArrayRef normalized_shape) {
  const size_t lead = static_cast<size_t>(input.dim()) - normalized_shape.size();
  RowShape s;
  for (size_t d = 0; d < lead; ++d) s.rows *= input.sizes()[d];
  for (int64_t n : normalized_shape) s.width *= n;
  return s;
}

void set_input(RowsCall& call, int i, const Tensor& t) {
  if (!t.defined()) return;
  call.in[i] = static_cast<const char*>(t.const_data_ptr());
  call.in_dtype[i] = t.scalar_type();
}

// Parameters are read as they are, but for double rows, which no narrower ones, and others, which no double ones go
// with.
Tensor parameter(const std::optional<Tensor>& t, ScalarType dtype) {
  if (!t || !t->defined()) return Tensor();
  const bool fits =
      (t->scalar_type() == ScalarType::Double) == (dtype == ScalarType::Double) && isFloatingType(t->scalar_type());
  return fits ? dense(*t) : dense(*t, statistics_dtype(dtype));
}

// --- channels ---

// How the elements of dense memory belong to channels: runs of `run` elements of one channel, the channels in turn.
struct Layout {
  int64_t channels, run;
};

// `numbers` are of double precision, one for each channel.
void by_channel(const char* name, const Layout& layout, const Tensor& x, const Tensor* g, const Tensor& out,
                std::array<Tensor, 4> numbers) {
  if (x.numel() == 0) return;
  const ScalarType type = statistics_dtype(x.scalar_type());
  for (Tensor& t : numbers) {
    if (t.defined()) t = dense(t, type);
  }
  const auto pointer = [&](size_t i) { return numbers[i].defined() ? numbers[i].const_data_ptr() : nullptr; };
  const auto item = static_cast<int64_t>(x.itemsize());
  cuda::ChannelCall call{};
  call.dtype = x.scalar_type();
  call.run = cuda::FastDivisor(static_cast<uint32_t>(layout.run));
  call.channels = cuda::FastDivisor(static_cast<uint32_t>(layout.channels));
  call.center = pointer(0);
  call.scale = pointer(1);
  call.offset = pointer(2);
  call.slope = pointer(3);
  const int64_t period = layout.channels * layout.run;
  TORCH_CHECK(period <= kMostElements, name,
              ": samples of more than 2^31 - 1 elements are not supported on CUDA tensors");
  const int64_t part = kMostElements / period * period;
  for (int64_t begin = 0; begin < x.numel(); begin += part) {
    call.numel = static_cast<uint32_t>(std::min(part, x.numel() - begin));
    call.x = static_cast<const char*>(x.const_data_ptr()) + begin * item;
    call.g = g != nullptr ? static_cast<const char*>(g->const_data_ptr()) + begin * item : nullptr;
    call.out = static_cast<char*>(out.mutable_data_ptr()) + begin * item;
    const auto bytes = static_cast<uintptr_t>(std::min<int64_t>(16, 4 * item));
    call.vectors = (reinterpret_cast<uintptr_t>(call.x) | reinterpret_cast<uintptr_t>(call.g) |
                    reinterpret_cast<uintptr_t>(call.out)) %
                       bytes ==
                   0;
    cuda::launch_by_channel(name, call);
  }
}

// Mean and biased variance over the dimensions of `mask`.
void moments(const char* name, const Tensor& x, const DimMask& mask, const Tensor& variance, const Tensor& mean) {
  cpu::ReduceParams params;
  params.correction = 0;
  params.out_type = ScalarType::Double;
  run_reduction(name, cpu::moments_kernel(x.scalar_type()), x, mask, variance, mean, params);
}

// Sums of the gradient, and of it times the distance from the mean: of the elements [batch][channels][run] of g and x
// over `over`.
void gradient_sums(const char* name, cuda::ReduceFinder find, const Tensor& g, const Tensor& x,
                   std::array<int64_t, 3> sizes, std::array<bool, 3> over, const cuda::ReducePair& numbers,
                   const Tensor& sum_g, const Tensor& sum_gx) {
  const auto item = static_cast<int64_t>(g.itemsize());
  const std::array<int64_t, 3> strides = {sizes[1] * sizes[2] * item, sizes[2] * item, item};
  std::array<int64_t, 3> to{};
  int64_t next = static_cast<int64_t>(sizeof(double));
  for (size_t d = 3; d-- > 0;) {
    if (over[d]) continue;
    to[d] = next;
    next *= sizes[d];
  }
  cuda::ReducePair pair = numbers;
  pair.second = static_cast<const char*>(x.const_data_ptr());
  const cpu::ReduceArgs args{g.const_data_ptr(),    3,           sizes.data(),
                             strides.data(),        over.data(), {sum_g.mutable_data_ptr(), sum_gx.mutable_data_ptr()},
                             {to.data(), to.data()}};
  cuda::reduce_pairs(name, find, args, pair, g.scalar_type(), {ScalarType::Double, ScalarType::Double});
}

Tensor written(const Tensor& numbers, const Tensor& to) {
  Tensor out = to;
  return at::copy_(out, numbers);
}

}  // namespace

void fused_layer_norm_cuda(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const RowShape s = rows_of(input, normalized_shape);
  if (s.rows == 0) return;
  const Tensor x = dense(input), w = parameter(weight, x.scalar_type()), b = parameter(bias, x.scalar_type());
  DenseOut y(out), m(mean), r(rstd);
  RowsCall call{};
  call.name = "layer_norm";
  set_input(call, 0, x);
  set_input(call, 1, w);
  set_input(call, 2, b);
  call.of_columns = 1;
  call.out = y.data<char>();
  call.out_dtype = out.scalar_type();
  call.numbers[0] = m.data<void>();
  call.numbers[1] = r.data<void>();
  call.eps = eps;
  call.rows = s.rows;
  call.size = s.width;
  call.inner = 1;
  cuda::run_rows(cuda::kLayerNormRows, call);
  y.commit();
  m.commit();
  r.commit();
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward_cuda(
    const Tensor& grad_out, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, std::array<bool, 3> output_mask) {
  auto [gx, gw, gb] =
      native_layer_norm_backward_meta(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask);
  const RowShape s = rows_of(input, normalized_shape);
  const ScalarType type = input.scalar_type(), stats = statistics_dtype(type);
  const Tensor x = dense(input), g = dense(grad_out, type), m = dense(mean, stats), r = dense(rstd, stats);
  if (gx.defined() && gx.numel() > 0) {
    const Tensor w = parameter(weight, type);
    RowsCall call{};
    call.name = "layer_norm_backward";
    set_input(call, 0, g);
    set_input(call, 1, x);
    set_input(call, 2, w);
    call.of_columns = 2;
    call.out = static_cast<char*>(gx.mutable_data_ptr());
    call.out_dtype = type;
    call.numbers[0] = const_cast<void*>(m.const_data_ptr());
    call.numbers[1] = const_cast<void*>(r.const_data_ptr());
    call.rows = s.rows;
    call.size = s.width;
    call.inner = 1;
    const int blocks = gw.defined() || gb.defined() ? cuda::prepare_layer_norm_gradients(call) : 0;
    if (blocks > 0) {
      const Tensor parts = empty_contiguous({blocks, 2, s.width}, stats, input.device());
      const auto data = [](const Tensor& t) {
        return t.defined() ? static_cast<char*>(t.mutable_data_ptr()) : nullptr;
      };
      const auto dtype = [type](const Tensor& t) { return t.defined() ? t.scalar_type() : type; };
      cuda::layer_norm_gradients({call, data(gw), data(gb), dtype(gw), dtype(gb), parts.mutable_data_ptr(), blocks});
      return {gx, gw, gb};
    }
    cuda::run_rows(cuda::kLayerNormBackwardRows, call);
  }
  if (gw.defined() || gb.defined()) {
    const Tensor center = doubles(m), scale = doubles(r);
    const Tensor sum_g = new_doubles({s.width}, input.device()), sum_gx = new_doubles({s.width}, input.device());
    gradient_sums("layer_norm_backward", &cuda::reductions::scaled_gradient_sums, g, x, {s.rows, s.width, 1},
                  {true, false, false}, {nullptr, numbers(center), numbers(scale)}, sum_g, sum_gx);
    if (gw.defined()) written(at::view(sum_gx, gw.sizes()), gw);
    if (gb.defined()) written(at::view(sum_g, gb.sizes()), gb);
  }
  return {gx, gw, gb};
}

void fused_batch_norm_cuda(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           const std::optional<Tensor>& mean, const std::optional<Tensor>& var, bool training,
                           double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd, Tensor& save_var) {
  const int64_t channels = input.size(1);
  Tensor mu, variance;
  if (training) {
    DimVector others;
    for (int64_t d = 0; d < input.dim(); ++d) {
      if (d != 1) others.push_back(d);
    }
    mu = new_doubles({channels}, input.device());
    variance = new_doubles({channels}, input.device());
    moments("batch_norm", input, make_dim_mask(IntArrayRef(others), input.dim()), variance, mu);
  } else {
    mu = doubles(*mean);
    variance = doubles(*var);
  }
  const Tensor invstd = reciprocal_deviation(variance, eps);
  written(mu, save_mean);
  written(invstd, save_invstd);
  written(variance, save_var);
  if (input.numel() == 0) return;
  const bool innermost = channels_innermost(input);
  const Tensor x = as_walked(input, input.scalar_type(), innermost);
  const Tensor y = is_walked(out, innermost) ? out : walked(out, out.scalar_type(), innermost);
  const Tensor scale = given(weight) ? at::mul(invstd, doubles(*weight)) : invstd;
  const Tensor shift = given(bias) ? doubles(*bias) : at::mul(invstd, Scalar(0));
  const Layout layout{channels, innermost ? 1 : input.numel() / (channels * input.size(0))};
  by_channel("batch_norm", layout, x, nullptr, y, {mu, scale, shift, Tensor()});
  if (!y.is_same(out)) written(y, out);
}

std::tuple<Tensor, Tensor, Tensor> fused_batch_norm_backward_cuda(const Tensor& grad_out, const Tensor& input,
                                                                  const std::optional<Tensor>& weight,
                                                                  const Tensor& mean, const Tensor& invstd,
                                                                  bool training, std::array<bool, 3> output_mask) {
  auto [gx, gw, gb] = fused_batch_norm_backward_meta(grad_out, input, weight, mean, invstd, training, output_mask);
  const int64_t channels = input.size(1);
  const bool innermost = channels_innermost(input);
  const Tensor x = as_walked(input, input.scalar_type(), innermost),
               g = as_walked(grad_out, input.scalar_type(), innermost);
  const Tensor mu = doubles(mean), rstd = doubles(invstd),
               scale = given(weight) ? at::mul(rstd, doubles(*weight)) : rstd;
  const int64_t count = channels == 0 ? 0 : input.numel() / channels;
  const int64_t run = innermost || count == 0 ? 1 : count / input.size(0);
  const Tensor zero = at::zeros_like(rstd);
  Tensor sum_g = zero, sum_gx = zero;
  if (input.numel() != 0 && (output_mask[1] || output_mask[2] || (training && output_mask[0]))) {
    sum_g = new_doubles({channels}, input.device());
    sum_gx = new_doubles({channels}, input.device());
    gradient_sums("batch_norm_backward", &cuda::reductions::gradient_sums, g, x, {count / run, channels, run},
                  {true, false, true}, {nullptr, numbers(mu), nullptr}, sum_g, sum_gx);
  }
  if (gw.defined()) written(at::mul(sum_gx, rstd), gw);
  if (gb.defined()) written(sum_g, gb);
  if (gx.defined() && input.numel() != 0) {
    const Scalar share(1 / static_cast<double>(count));
    if (training) {
      const Tensor offset = at::mul(at::mul(scale, sum_g), share);
      const Tensor slope = at::mul(at::mul(scale, at::mul(rstd, rstd)), at::mul(sum_gx, share));
      by_channel("batch_norm_backward", {channels, run}, x, &g, gx, {mu, scale, offset, slope});
    } else {
      // With given statistics nothing but the gradient counts: a NaN of the input stays out.
      by_channel("batch_norm_backward", {channels, run}, g, nullptr, gx, {zero, scale, zero, Tensor()});
    }
  }
  return {gx, gw, gb};
}

namespace {

struct Groups {
  int64_t batch, channels, groups, positions;
  int64_t wide() const { return channels / groups; }
  int64_t count() const { return wide() * positions; }
};

Groups groups_of(const Tensor& input, int64_t groups) {
  const int64_t batch = input.size(0), channels = input.size(1);
  return {batch, channels, groups, batch * channels == 0 ? 0 : input.numel() / (batch * channels)};
}

// Numbers of the groups of each sample, or of channels, as numbers of the channels of each sample.
Tensor of_groups(const Groups& g, const Tensor& numbers) {
  return at::view(numbers, {g.batch, g.groups, 1});
}
Tensor of_channels(const Groups& g, const Tensor& numbers) {
  return at::view(numbers, {1, g.groups, g.wide()});
}
Tensor each_channel(const Groups& g, const Tensor& t) {
  return at::reshape(dense(at::expand(t, {g.batch, g.groups, g.wide()})), {g.batch * g.channels});
}

}  // namespace

void fused_group_norm_cuda(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           int64_t num_groups, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const Groups g = groups_of(input, num_groups);
  const int64_t rows = g.batch * g.groups;
  if (rows == 0) return;
  const Tensor x = dense(input), mu = new_doubles({rows}, input.device()),
               variance = new_doubles({rows}, input.device());
  moments("group_norm", at::view(x, {rows, g.count()}), make_dim_mask(IntArrayRef(1), 2), variance, mu);
  const Tensor r = reciprocal_deviation(variance, eps);
  written(at::view(mu, mean.sizes()), mean);
  written(at::view(r, rstd.sizes()), rstd);
  if (input.numel() == 0) return;
  DenseOut y(out);
  const Tensor scale = given(weight) ? at::mul(of_groups(g, r), of_channels(g, doubles(*weight))) : of_groups(g, r);
  const Tensor shift = given(bias) ? of_channels(g, doubles(*bias)) : at::mul(of_groups(g, r), Scalar(0));
  by_channel("group_norm", {g.batch * g.channels, g.positions}, x, nullptr, y.tensor(),
             {each_channel(g, of_groups(g, mu)), each_channel(g, scale), each_channel(g, shift), Tensor()});
  y.commit();
}

std::tuple<Tensor, Tensor, Tensor> fused_group_norm_backward_cuda(const Tensor& grad_out, const Tensor& input,
                                                                  const std::optional<Tensor>& weight,
                                                                  const Tensor& mean, const Tensor& rstd,
                                                                  int64_t num_groups, std::array<bool, 3> output_mask) {
  auto [gx, gw, gb] = fused_group_norm_backward_meta(grad_out, input, weight, mean, rstd, num_groups, output_mask);
  const Groups n = groups_of(input, num_groups);
  if (input.numel() == 0) {
    if (gw.defined()) at::zero_(gw);
    if (gb.defined()) at::zero_(gb);
    return {gx, gw, gb};
  }
  const int64_t channels = n.batch * n.channels;
  const Tensor x = dense(input), g = dense(grad_out, input.scalar_type());
  const Tensor r = of_groups(n, doubles(rstd)), center = each_channel(n, of_groups(n, doubles(mean)));
  const Tensor flat_g = new_doubles({channels}, input.device()), flat_gx = new_doubles({channels}, input.device());
  gradient_sums("group_norm_backward", &cuda::reductions::gradient_sums, g, x, {n.batch, n.channels, n.positions},
                {false, false, true}, {nullptr, numbers(center), nullptr}, flat_g, flat_gx);
  const Tensor sum_g = at::view(flat_g, {n.batch, n.groups, n.wide()}),
               sum_gx = at::view(flat_gx, {n.batch, n.groups, n.wide()});
  if (gw.defined()) written(at::view(at::sum(at::mul(sum_gx, r), IntArrayRef(0)), {n.channels}), gw);
  if (gb.defined()) written(at::view(at::sum(sum_g, IntArrayRef(0)), {n.channels}), gb);
  if (gx.defined()) {
    const Tensor w = given(weight) ? of_channels(n, doubles(*weight)) : Tensor();
    const auto weighted = [&](const Tensor& t) { return w.defined() ? at::mul(t, w) : t; };
    const Scalar share(1 / static_cast<double>(n.count()));
    const auto average = [&](const Tensor& t) { return at::mul(at::sum(weighted(t), IntArrayRef(2), true), share); };
    const Tensor offset = at::mul(average(sum_g), r), slope = at::mul(average(sum_gx), at::mul(r, at::mul(r, r)));
    const bool direct = is_dense(gx);
    const Tensor to = direct ? gx : empty_contiguous(gx.sizes(), gx.scalar_type(), gx.device());
    by_channel("group_norm_backward", {channels, n.positions}, x, &g, to,
               {center, each_channel(n, weighted(r)), each_channel(n, offset), each_channel(n, slope)});
    if (!direct) written(to, gx);
  }
  return {gx, gw, gb};
}

}  // namespace at::native
