// grid_sampler_2d, grid_sampler_3d and their gradients: what an image has at the places that a grid names.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/resample/resample.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/upsample/grid_formulas.h"
#include "aten/ops/upsample/grid_geometry.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/upsample/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

using sampling::AxisTaps;
using sampling::TapWeight;

constexpr int kBlock = 128;  // places that are worked on at once
constexpr int64_t kGrain = 8192;

template <class T>
using Compute = typename cpu::ComputeType<T>::type;

// The taps of up to kBlock places: tap k of place b reads element index[k * n + b] of a plane, -1 for none. The places
// with a tap that reads none are `edges`, where short_index has 0 for it. In planes of 2^31 elements and more all
// places count as edges.
template <class C>
struct Block {
  int n = 0;
  int edges = 0;
  std::array<int, kBlock> edge;
  std::array<int64_t, kMostGridTaps * kBlock> index;
  std::array<int32_t, kMostGridTaps * kBlock> short_index;
  std::array<C, kMostGridTaps * kBlock> weight;
  std::array<std::array<C, kMostGridTaps * kBlock>, 3> slope;  // by each number of the grid
};

// `grid` points to the numbers of the first of n places, `direction` to those of the direction in which each moves, or
// is null.
template <int kDims, int kSide, class T>
void fill_taps(const Sampling& s, const T* grid, const T* direction, int n, bool slopes, Block<Compute<T>>& block) {
  using C = Compute<T>;
  constexpr int kDeep = kDims == 3 ? kSide : 1;
  block.n = n;
  block.edges = 0;
  const bool wide = s.plane() >= (int64_t{1} << 31);
  AxisTaps<C> axis[3];
  for (AxisTaps<C>& a : axis) a = {{0, 0, 0, 0}, {1, 1, 1, 1}, {}, {}};
  C moved[3] = {};
  for (int b = 0; b < n; ++b) {
    for (int d = 0; d < kDims; ++d) {
      sampling::find_taps<kSide>(s, static_cast<C>(grid[b * kDims + d]), s.size[static_cast<size_t>(d)], axis[d]);
      if (direction != nullptr) moved[d] = static_cast<C>(direction[b * kDims + d]);
    }
    bool all_inside = !wide;
    int k = 0;
    for (int z = 0; z < kDeep; ++z) {
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x, ++k) {
          const size_t at = static_cast<size_t>(k * n + b);
          const int64_t i = axis[0].index[x], j = axis[1].index[y], l = axis[2].index[z];
          const bool inside = (i | j | l) >= 0;
          const int64_t place = inside ? (l * s.size[1] + j) * s.size[0] + i : -1;
          block.index[at] = place;
          block.short_index[at] = wide || !inside ? 0 : static_cast<int32_t>(place);
          all_inside = all_inside && inside;
          if (direction != nullptr) {
            const int places[3] = {x, y, z};
            const TapWeight<C> tap(axis, places, moved);
            block.weight[at] = tap.weight;
            for (size_t d = 0; d < 3; ++d) block.slope[d][at] = tap.slope[d];
            continue;
          }
          const C wx = axis[0].weight[x], wy = axis[1].weight[y], wz = axis[2].weight[z];
          block.weight[at] = wx * wy * wz;
          if (!slopes) continue;
          block.slope[0][at] = axis[0].slope[x] * wy * wz;
          block.slope[1][at] = wx * axis[1].slope[y] * wz;
          block.slope[2][at] = wx * wy * axis[2].slope[z];
        }
      }
    }
    block.edge[static_cast<size_t>(block.edges)] = b;
    block.edges += !all_inside;
  }
}

template <class T>
void fill_block(const Sampling& s, const T* grid, const T* direction, int n, bool slopes, Block<Compute<T>>& block) {
  const auto fill = [&](auto dims, auto side) {
    fill_taps<decltype(dims)::value, decltype(side)::value>(s, grid, direction, n, slopes, block);
  };
  using std::integral_constant;
  if (s.mode == SamplingMode::kBicubic) return fill(integral_constant<int, 2>{}, integral_constant<int, 4>{});
  if (s.dims == 2) {
    if (s.mode == SamplingMode::kNearest) return fill(integral_constant<int, 2>{}, integral_constant<int, 1>{});
    return fill(integral_constant<int, 2>{}, integral_constant<int, 2>{});
  }
  if (s.mode == SamplingMode::kNearest) return fill(integral_constant<int, 3>{}, integral_constant<int, 1>{});
  fill(integral_constant<int, 3>{}, integral_constant<int, 2>{});
}

// The sum of one place, wherever its taps are.
template <class T>
T sample_edge(const Block<Compute<T>>& block, int taps, const T* plane, int b) {
  using C = Compute<T>;
  C sum = 0;
  for (int k = 0; k < taps; ++k) {
    const size_t at = static_cast<size_t>(k * block.n + b);
    const int64_t i = block.index[at];
    if (i >= 0) sum += block.weight[at] * static_cast<C>(plane[i]);
  }
  return static_cast<T>(sum);
}

// y[b] of one channel. `copies`: each place has the element that its only tap reads.
template <class T>
void sample_block(const Block<Compute<T>>& block, int taps, bool copies, const T* plane, T* y) {
  using C = Compute<T>;
  if (block.edges < block.n) {
    const int32_t* at = block.short_index.data();
    if (copies) {
      for (int b = 0; b < block.n; ++b) y[b] = plane[at[b]];
    } else if constexpr (std::is_same_v<T, C>) {
      cpu::resample_row<T, T>(plane, {nullptr, nullptr, nullptr, taps, block.n, at, block.weight.data(), 0}, y);
    } else {
      C sum[kBlock] = {};
      for (int k = 0; k < taps; ++k) {
        const size_t first = static_cast<size_t>(k * block.n);
        for (int b = 0; b < block.n; ++b) {
          const size_t tap = first + static_cast<size_t>(b);
          sum[b] += block.weight[tap] * static_cast<C>(plane[at[tap]]);
        }
      }
      for (int b = 0; b < block.n; ++b) y[b] = static_cast<T>(sum[b]);
    }
  }
  for (int e = 0; e < block.edges; ++e) {
    const int b = block.edge[static_cast<size_t>(e)];
    y[b] = sample_edge(block, taps, plane, b);
  }
}

// f(sample, first place, how many, the block's scratch), all places of all samples in parallel pieces.
template <class C, class F>
void for_each_block(const Sampling& s, const F& f) {
  const int64_t blocks = (s.places + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (kBlock * std::max<int64_t>(1, s.channels)));
  at::parallel_for(0, s.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    std::vector<Block<C>> scratch(1);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kBlock;
      f(i / blocks, first, static_cast<int>(std::min<int64_t>(kBlock, s.places - first)), scratch[0]);
    }
  });
}

// The numbers of a grid's direction, which may be undefined.
template <class T>
const T* numbers_of(const Tensor& direction) {
  return direction.defined() ? static_cast<const T*>(direction.const_data_ptr()) : nullptr;
}
template <class T>
const T* at_place(const T* numbers, int64_t place, int dims) {
  return numbers == nullptr ? nullptr : numbers + place * dims;
}

// Many channels are vectors: images then have their channels last, and all channels of a place are worked on at once.
bool by_pixels(const Sampling& s) {
  return s.channels >= 8;
}
// [batch, channels, ...] as dense memory [batch, ..., channels], and seen the other way round.
Tensor channels_last(const Tensor& t) {
  return dense(at::movedim(t, 1, -1));
}
Tensor channels_first(const Tensor& t) {
  return at::movedim(t, -1, 1);
}
Tensor blank_channels_last(const Tensor& like, ScalarType type) {
  DimVector sizes(like.sizes().begin(), like.sizes().end());
  std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
  return empty_contiguous(sizes, type, like.device());
}
template <class C>
cpu::PixelTaps<C> pixel_taps(const Sampling& s, const Block<C>& block) {
  return {s.taps(), block.n, block.index.data(), block.weight.data(), s.channels, s.channels};
}

// `direction`, dense where it is defined: the derivative of the values as the grid moves along it.
void sample(const Sampling& s, const Tensor& input, const Tensor& grid, const Tensor& direction, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor places = dense(grid);
  const bool copies = s.mode == SamplingMode::kNearest && !direction.defined();
  if (by_pixels(s) && !copies) {
    const Tensor x = channels_last(input), y = blank_channels_last(out, out.scalar_type());
    cpu::visit_floating(input.scalar_type(), sampling_name(s.dims), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T *from = static_cast<const T*>(x.const_data_ptr()), *at = static_cast<const T*>(places.const_data_ptr());
      const T* moved = numbers_of<T>(direction);
      T* to = static_cast<T*>(y.mutable_data_ptr());
      for_each_block<Compute<T>>(s, [&](int64_t n, int64_t first, int count, Block<Compute<T>>& block) {
        const int64_t place = n * s.places + first;
        fill_block(s, at_place(at, place, s.dims), at_place(moved, place, s.dims), count, false, block);
        cpu::sample_pixels(from + n * s.plane() * s.channels, pixel_taps(s, block), to + place * s.channels);
      });
    });
    at::copy_(out, channels_first(y));
    return;
  }
  const Tensor x = dense(input);
  DenseOut to(out);
  cpu::visit_floating(input.scalar_type(), sampling_name(s.dims), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *from = static_cast<const T*>(x.const_data_ptr()), *at = static_cast<const T*>(places.const_data_ptr());
    const T* moved = numbers_of<T>(direction);
    T* y = to.data<T>();
    for_each_block<Compute<T>>(s, [&](int64_t n, int64_t first, int count, Block<Compute<T>>& block) {
      const int64_t place = n * s.places + first;
      fill_block(s, at_place(at, place, s.dims), at_place(moved, place, s.dims), count, false, block);
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        sample_block(block, s.taps(), copies, from + c * s.plane(), y + c * s.places + first);
      }
    });
  });
  to.commit();
}

// Adds what each element of the result gives to those of the input. Channels are dealt out to threads: two places may
// read the same element. C is wide, so that 16-bit sums are rounded once.
template <class T>
void input_gradient(const Sampling& s, const T* grad, const T* grid, const T* direction, Compute<T>* out) {
  using C = Compute<T>;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.places));
  at::parallel_for(0, s.batch * s.channels, grain, [&](int64_t begin, int64_t end) {
    std::vector<Block<C>> scratch(1);
    Block<C>& block = scratch[0];
    while (begin < end) {
      const int64_t n = begin / s.channels, last = std::min(end, (n + 1) * s.channels);
      for (int64_t first = 0; first < s.places; first += kBlock) {
        const int64_t place = n * s.places + first;
        const int count = static_cast<int>(std::min<int64_t>(kBlock, s.places - first));
        fill_block(s, at_place(grid, place, s.dims), at_place(direction, place, s.dims), count, false, block);
        for (int64_t c = begin; c < last; ++c) {
          const T* g = grad + c * s.places + first;
          C* plane = out + c * s.plane();
          for (int k = 0; k < s.taps(); ++k) {
            const size_t tap = static_cast<size_t>(k * count);
            const int64_t* index = &block.index[tap];
            const C* weight = &block.weight[tap];
            for (int b = 0; b < count; ++b) {
              if (index[b] >= 0) plane[index[b]] += weight[b] * static_cast<C>(g[b]);
            }
          }
        }
      }
      begin = last;
    }
  });
}

// The same of images with their channels last, of which each thread has a part.
template <class T>
void input_gradient_by_pixels(const Sampling& s, const T* grad, const T* grid, const T* direction, Compute<T>* out) {
  using C = Compute<T>;
  constexpr int64_t kChannels = 16;  // of a part
  const int64_t most = at::divup(s.channels, kChannels);
  const int64_t parts = std::clamp<int64_t>(at::divup(at::get_num_threads(), std::max<int64_t>(s.batch, 1)), 1, most);
  const int64_t width = at::divup(at::divup(s.channels, parts), kChannels) * kChannels;
  const int64_t grain = std::max<int64_t>(1, kGrain / (std::max<int64_t>(1, s.places) * width));
  at::parallel_for(0, s.batch * parts, grain, [&](int64_t begin, int64_t end) {
    std::vector<Block<C>> scratch(1);
    Block<C>& block = scratch[0];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / parts, c = i % parts * width;
      for (int64_t first = 0; first < s.places && c < s.channels; first += kBlock) {
        const int64_t place = n * s.places + first;
        const int count = static_cast<int>(std::min<int64_t>(kBlock, s.places - first));
        fill_block(s, at_place(grid, place, s.dims), at_place(direction, place, s.dims), count, false, block);
        cpu::PixelTaps<C> taps = pixel_taps(s, block);
        taps.channels = std::min(width, s.channels - c);
        cpu::spread_pixels(grad + place * s.channels + c, taps, out + n * s.plane() * s.channels + c);
      }
    }
  });
}

// The sums over channels of what the taps read, multiplied by the gradients; multiplied by the slopes they are the
// gradients of the grid. add_products(n, first, count, block, sums) makes those of a block.
template <class T, class F>
void grid_gradient(const Sampling& s, const T* grid, const T* direction, T* out, const F& add_products) {
  using C = Compute<T>;
  for_each_block<C>(s, [&](int64_t n, int64_t first, int count, Block<C>& block) {
    const int64_t place = n * s.places + first;
    fill_block(s, at_place(grid, place, s.dims), at_place(direction, place, s.dims), count, true, block);
    std::array<C, kMostGridTaps * kBlock> sums{};
    add_products(n, first, count, block, sums);
    T* to = out + place * s.dims;
    for (int b = 0; b < count; ++b) {
      for (int d = 0; d < s.dims; ++d) {
        C total = 0;
        for (int k = 0; k < s.taps(); ++k) {
          const size_t at = static_cast<size_t>(k * count + b);
          if (block.index[at] >= 0) total += block.slope[static_cast<size_t>(d)][at] * sums[at];
        }
        to[b * s.dims + d] = static_cast<T>(total);
      }
    }
  });
}

template <class T>
void grid_gradient(const Sampling& s, const T* grad, const T* x, const T* grid, const T* direction, T* out) {
  using C = Compute<T>;
  const bool wide = s.plane() >= (int64_t{1} << 31);
  grid_gradient(s, grid, direction, out, [&](int64_t n, int64_t first, int count, const Block<C>& block, auto& sums) {
    const auto value = [&](int64_t c, int64_t i, int b) {
      return static_cast<C>(x[c * s.plane() + i]) * static_cast<C>(grad[c * s.places + first + b]);
    };
    const int64_t last = (n + 1) * s.channels;
    for (int64_t c = n * s.channels; c < last; ++c) {
      const bool two = c + 1 < last;  // channels at once
      for (int k = 0; k < s.taps(); ++k) {
        const size_t tap = static_cast<size_t>(k * count);
        const int64_t* index = &block.index[tap];
        const int32_t* near = &block.short_index[tap];
        C* sum = &sums[tap];
        if (wide) {
          for (int b = 0; b < count; ++b) sum[b] += index[b] >= 0 ? value(c, index[b], b) : C(0);
        } else if (two) {
          // Those without an element read the first one, and are not looked at below.
          for (int b = 0; b < count; ++b) sum[b] += value(c, near[b], b) + value(c + 1, near[b], b);
        } else {
          for (int b = 0; b < count; ++b) sum[b] += value(c, near[b], b);
        }
      }
      if (two && !wide) ++c;
    }
  });
}

void gradients(const Sampling& s, const Tensor& grad_output, const Tensor& input, const Tensor& grid,
               const Tensor& direction, std::array<bool, 2> mask, Tensor& grad_input, Tensor& grad_grid) {
  const bool pixels = by_pixels(s);
  const bool steps = s.mode == SamplingMode::kNearest;  // no slopes, whatever lies there
  const Tensor g = pixels ? channels_last(grad_output) : dense(grad_output), places = dense(grid);
  const Tensor x = !mask[1] || steps ? Tensor() : pixels ? channels_last(input) : dense(input);
  cpu::visit_floating(input.scalar_type(), sampling_name(s.dims), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    constexpr ScalarType kSums = std::is_same_v<C, double> ? kDouble : kFloat;
    const T *grad = static_cast<const T*>(g.const_data_ptr()), *at = static_cast<const T*>(places.const_data_ptr());
    if (mask[0] && pixels) {
      const Tensor sums = blank_channels_last(grad_input, kSums);
      C* to = static_cast<C*>(sums.mutable_data_ptr());
      std::fill_n(to, sums.numel(), C(0));
      input_gradient_by_pixels(s, grad, at, numbers_of<T>(direction), to);
      at::copy_(grad_input, channels_first(sums));
    } else if (mask[0]) {
      DenseOut to(grad_input, kSums);
      to.clear();
      input_gradient(s, grad, at, numbers_of<T>(direction), to.template data<C>());
      to.commit();
    }
    if (mask[1]) {
      DenseOut to(grad_grid);
      T* gradient = to.template data<T>();
      if (steps) {
        to.clear();
      } else if (pixels) {
        const T* from = static_cast<const T*>(x.const_data_ptr());
        grid_gradient(s, at, numbers_of<T>(direction), gradient,
                      [&](int64_t n, int64_t first, int, const Block<C>& block, auto& sums) {
                        cpu::multiply_pixels(from + n * s.plane() * s.channels,
                                             grad + (n * s.places + first) * s.channels, pixel_taps(s, block),
                                             sums.data());
                      });
      } else {
        grid_gradient(s, grad, static_cast<const T*>(x.const_data_ptr()), at, numbers_of<T>(direction), gradient);
      }
      to.commit();
    }
  });
}

}  // namespace

#define AT_GRID_SAMPLER(dims)                                                                                         \
  TensorSpec grid_sampler_##dims##d_meta(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,      \
                                         bool align) {                                                                \
    return sampled_spec(checked_sampling(dims, input, grid, mode, padding, align), input, grid);                      \
  }                                                                                                                   \
  void grid_sampler_##dims##d_cpu(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align, \
                                  Tensor& out) {                                                                      \
    sample(checked_sampling(dims, input, grid, mode, padding, align), input, grid, Tensor(), out);                    \
  }                                                                                                                   \
  std::array<TensorSpec, 2> grid_sampler_##dims##d_backward_meta(const Tensor& grad_output, const Tensor& input,      \
                                                                 const Tensor& grid, int64_t mode, int64_t padding,   \
                                                                 bool align, std::array<bool, 2> mask) {              \
    return sampling_backward_spec(checked_sampling(dims, input, grid, mode, padding, align), grad_output, input, grid, mask);  \
  }                                                                                                                   \
  void grid_sampler_##dims##d_backward_cpu(const Tensor& grad_output, const Tensor& input, const Tensor& grid,        \
                                           int64_t mode, int64_t padding, bool align, std::array<bool, 2> mask,       \
                                           Tensor& grad_input, Tensor& grad_grid) {                                   \
    gradients(checked_sampling(dims, input, grid, mode, padding, align), grad_output, input, grid, Tensor(), mask,    \
              grad_input, grad_grid);                                                                                 \
  }
AT_GRID_SAMPLER(2)
AT_GRID_SAMPLER(3)
#undef AT_GRID_SAMPLER

// With S(g) the sampling, y = S(g) x: the gradients of grad_output, input and grid from those of S(g)' grad_output and
// of <grad_output, dS(g) x>.
namespace {

Tensor blank_like(const Tensor& t) {
  return empty_contiguous(t.sizes(), t.scalar_type(), t.device());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _grid_sampler_backward_grad_meta(const Tensor& to_input, const Tensor& to_grid,
                                                                    const Tensor& grad_output, const Tensor& input,
                                                                    const Tensor& grid, int64_t interpolation_mode,
                                                                    int64_t padding_mode, bool align_corners) {
  check_sampling_backward_grad(to_input, to_grid, grad_output, input, grid, interpolation_mode, padding_mode, align_corners);
  return {blank_like(grad_output), blank_like(input), blank_like(grid)};
}

std::tuple<Tensor, Tensor, Tensor> _grid_sampler_backward_grad_cpu(const Tensor& to_input, const Tensor& to_grid,
                                                                   const Tensor& grad_output, const Tensor& input,
                                                                   const Tensor& grid, int64_t interpolation_mode,
                                                                   int64_t padding_mode, bool align_corners) {
  const Sampling s =
      check_sampling_backward_grad(to_input, to_grid, grad_output, input, grid, interpolation_mode, padding_mode, align_corners);
  const Tensor direction = dense(to_grid);
  std::array<Tensor, 2> outputs, grids;
  for (size_t i = 0; i < 2; ++i) outputs[i] = blank_like(grad_output), grids[i] = blank_like(grid);
  Tensor to_x = blank_like(input), unused;
  sample(s, to_input, grid, Tensor(), outputs[0]);
  sample(s, input, grid, direction, outputs[1]);
  gradients(s, grad_output, to_input, grid, Tensor(), {false, true}, unused, grids[0]);
  gradients(s, grad_output, input, grid, direction, {true, true}, to_x, grids[1]);
  return {at::add(outputs[0], outputs[1]), to_x, at::add(grids[0], grids[1])};
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
  TORCH_CHECK(input.dim() == 4 || input.dim() == 5,
              "grid_sampler(): expected 4D or 5D input and grid with same number of "
              "dimensions, but got input with sizes ",
              input.sizes(), " and grid with sizes ", grid.sizes());
  return input.dim() == 4 ? at::grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)
                          : at::grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners);
}

std::tuple<Tensor, Tensor> _grid_sampler_2d_cpu_fallback_backward(const Tensor& grad_output, const Tensor& input,
                                                                  const Tensor& grid, int64_t interpolation_mode,
                                                                  int64_t padding_mode, bool align_corners) {
  return at::grid_sampler_2d_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners,
                                      {true, true});
}

}  // namespace at::native
