// grid_sampler_2d, grid_sampler_3d and their gradients on CUDA tensors. Gradients of images are sums over the taps that
// read an element, which are sorted by it: the same bits at every call.
#include <algorithm>
#include <array>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/cub.h"
#include "aten/cuda/spatial/spatial.h"
#include "aten/cuda/upsample/grid_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/upsample/grid_geometry.h"
#include "aten/ops/upsample/kernels.h"

namespace at::native {
namespace {

constexpr int64_t kMostCounted = int64_t{1} << 31;
constexpr int kGroup = 8;  // channels that a thread reads at a place

const char* data_of(const Tensor& t) {
  return t.defined() ? static_cast<const char*>(t.const_data_ptr()) : nullptr;
}

void sample(const Sampling& s, const Tensor& input, const Tensor& grid, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor places = dense(grid);
  cuda::GridSampleCall call{};
  call.name = sampling_name(s.dims);
  call.dtype = input.scalar_type();
  call.sampling = s;
  call.sizes = cuda::sizes_of(call.name, out, input, s.dims);
  call.sizes.sizes[1] = (s.channels + kGroup - 1) / kGroup;
  call.in = cuda::volume_of(input, s.dims);
  call.out = cuda::volume_of(out, s.dims);
  call.grid = data_of(places);
  call.group = kGroup;
  cuda::launch_grid_sample(call);
}

// Calls f(first image, taps of some images), with tables of weights and of slopes as they are wanted.
template <class F>
void for_tables(const Sampling& s, const Tensor& grid, const Tensor& direction, bool weights, bool slopes, const F& f) {
  const char* const name = sampling_name(s.dims);
  const int64_t taps = s.taps(), most = std::max(s.places * taps, s.plane() + 1);
  TORCH_CHECK(most < kMostCounted, name,
              ": planes and grids of 2^31 elements and more are not supported on CUDA tensors");
  const int64_t together = std::min(s.batch, (kMostCounted - 1) / most), entries = together * s.places * taps;
  const ScalarType type = grid.scalar_type() == kDouble ? kDouble : kFloat;
  const Tensor index = empty_contiguous({entries}, kInt, grid.device());
  std::array<Tensor, 4> tables;
  for (size_t i = 0; i < 4; ++i) {
    if (i == 0 ? weights : slopes && i <= static_cast<size_t>(s.dims))
      tables[i] = empty_contiguous({entries}, type, grid.device());
  }
  cuda::GridTaps t{};
  t.sampling = s;
  t.dtype = grid.scalar_type();
  t.places = static_cast<uint32_t>(s.places);
  t.index = static_cast<uint32_t*>(index.mutable_data_ptr());
  const auto table = [&](size_t i) { return tables[i].defined() ? tables[i].mutable_data_ptr() : nullptr; };
  t.weight = table(0);
  for (size_t d = 0; d < 3; ++d) t.slope[d] = table(d + 1);
  const int64_t image = s.places * s.dims * static_cast<int64_t>(grid.itemsize());
  for (int64_t n = 0; n < s.batch; n += together) {
    t.count = static_cast<uint32_t>(std::min(together, s.batch - n) * s.places);
    t.grid = data_of(grid) + n * image;
    t.direction = direction.defined() ? data_of(direction) + n * image : nullptr;
    cuda::launch_grid_taps(name, t);
    f(n, t);
  }
}

cuda::GridImages images_of(const Sampling& s, const Tensor& image, const Tensor& values, const Tensor& to,
                           int64_t first, int64_t to_image) {
  const int64_t item = static_cast<int64_t>(to.itemsize());
  cuda::GridImages g{};
  g.name = sampling_name(s.dims);
  g.dtype = to.scalar_type();
  g.channels = s.channels;
  g.plane = s.plane();
  if (image.defined()) g.image = data_of(image) + first * s.channels * s.plane() * item;
  if (values.defined()) g.values = data_of(values) + first * s.channels * s.places * item;
  g.to = static_cast<char*>(to.mutable_data_ptr()) + first * to_image * item;
  return g;
}

// The derivative of the values as the grid moves along `direction`.
void sample_moving(const Sampling& s, const Tensor& input, const Tensor& grid, const Tensor& direction, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = dense(input), places = dense(grid);
  for_tables(s, places, direction, true, false, [&](int64_t n, const cuda::GridTaps& t) {
    cuda::launch_grid_sum(t, images_of(s, x, Tensor(), out, n, s.channels * s.places));
  });
}

int bits_of(uint64_t most) {
  int bits = 1;
  while (bits < 32 && most >> bits != 0) ++bits;
  return bits;
}

void image_gradient(const cuda::GridTaps& t, const cuda::GridImages& g, Device device) {
  const int64_t entries = int64_t{t.count} * t.sampling.taps(), elements = t.count / t.places * g.plane;
  const auto ints = [&](int64_t n) { return empty_contiguous({n}, kInt, device); };
  const Tensor numbers = ints(entries), order = ints(entries), sorted = ints(entries), start = ints(elements + 1);
  auto* const from = static_cast<int32_t*>(numbers.mutable_data_ptr());
  auto* const to = static_cast<int32_t*>(order.mutable_data_ptr());
  auto* const keys = static_cast<uint32_t*>(sorted.mutable_data_ptr());
  cuda::launch_grid_numbers(g.name, from, static_cast<uint32_t>(entries));
  cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cuda::cub::sort_pairs(scratch, bytes, t.index, keys, from, to, entries,
                                 bits_of(static_cast<uint64_t>(elements)), stream);
  });
  cuda::launch_grid_image_gradient(t, g, keys, to, static_cast<uint32_t*>(start.mutable_data_ptr()));
}

void gradients(const Sampling& s, const Tensor& grad_output, const Tensor& input, const Tensor& grid,
               const Tensor& direction, std::array<bool, 2> mask, Tensor& grad_input, Tensor& grad_grid) {
  if (s.mode == SamplingMode::kNearest && mask[1]) {  // no slopes, whatever lies there
    at::zero_(grad_grid);
    mask[1] = false;
  }
  if (grad_output.numel() == 0) {
    if (mask[0]) at::zero_(grad_input);
    if (mask[1]) at::zero_(grad_grid);
    return;
  }
  if (!mask[0] && !mask[1]) return;
  const Tensor g = dense(grad_output), places = dense(grid), x = mask[1] ? dense(input) : Tensor();
  std::optional<DenseOut> image, moves;
  if (mask[0]) image.emplace(grad_input);
  if (mask[1]) moves.emplace(grad_grid);
  for_tables(s, places, direction, mask[0], mask[1], [&](int64_t n, const cuda::GridTaps& t) {
    if (image) image_gradient(t, images_of(s, Tensor(), g, image->tensor(), n, s.channels * s.plane()), grid.device());
    if (moves) cuda::launch_grid_gradient(t, images_of(s, x, g, moves->tensor(), n, s.places * s.dims));
  });
  if (image) image->commit();
  if (moves) moves->commit();
}

}  // namespace

#define AT_CUDA_GRID_SAMPLER(dims)                                                                                     \
  void grid_sampler_##dims##d_cuda(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align, \
                                   Tensor& out) {                                                                      \
    sample(checked_sampling(dims, input, grid, mode, padding, align), input, grid, out);                               \
  }                                                                                                                    \
  void grid_sampler_##dims##d_backward_cuda(const Tensor& grad_output, const Tensor& input, const Tensor& grid,        \
                                            int64_t mode, int64_t padding, bool align, std::array<bool, 2> mask,       \
                                            Tensor& grad_input, Tensor& grad_grid) {                                   \
    gradients(checked_sampling(dims, input, grid, mode, padding, align), grad_output, input, grid, Tensor(), mask,     \
              grad_input, grad_grid);                                                                                  \
  }
AT_CUDA_GRID_SAMPLER(2)
AT_CUDA_GRID_SAMPLER(3)
#undef AT_CUDA_GRID_SAMPLER

// As on the CPU.
std::tuple<Tensor, Tensor, Tensor> _grid_sampler_backward_grad_cuda(const Tensor& to_input, const Tensor& to_grid,
                                                                    const Tensor& grad_output, const Tensor& input,
                                                                    const Tensor& grid, int64_t interpolation_mode,
                                                                    int64_t padding_mode, bool align_corners) {
  const Sampling s = check_sampling_backward_grad(to_input, to_grid, grad_output, input, grid, interpolation_mode,
                                                  padding_mode, align_corners);
  const auto blank = [](const Tensor& t) { return empty_contiguous(t.sizes(), t.scalar_type(), t.device()); };
  const Tensor direction = dense(to_grid);
  std::array<Tensor, 2> outputs{blank(grad_output), blank(grad_output)}, grids{blank(grid), blank(grid)};
  Tensor to_x = blank(input), unused;
  sample(s, to_input, grid, outputs[0]);
  sample_moving(s, input, grid, direction, outputs[1]);
  gradients(s, grad_output, to_input, grid, Tensor(), {false, true}, unused, grids[0]);
  gradients(s, grad_output, input, grid, direction, {true, true}, to_x, grids[1]);
  return {at::add(outputs[0], outputs[1]), to_x, at::add(grids[0], grids[1])};
}

}  // namespace at::native
