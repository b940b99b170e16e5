#include "aten/cpu/matrix/integer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "aten/cpu/matrix/integer_internal.h"
#include "aten/cpu/matrix/integer_tiles.h"
#include "aten/cpu/matrix/internal.h"
#include "c10/parallel/parallel.h"

namespace at::matrix {
namespace {

using internal::Scratch;

// The sums of one unit of work stay in the second level of the cache until they are finished.
constexpr int64_t kUnitBytes = 384 * 1024;
// Products below which a unit is not worth another thread.
constexpr double kUnitWork = 1 << 18;

int64_t places(const int64_t* sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}
int64_t depth_of(const Convolution& c) {
  return c.in_channels / c.groups * places(c.kernel);
}
int first_dim(const Convolution& c) {
  return 3 - c.dims;
}

// Equal pieces of at most `most`.
int64_t even_piece(int64_t count, int64_t most) {
  return at::divup(count, at::divup(count, std::max<int64_t>(1, most)));
}

// Places of the input that `count` windows in a row reach over.
int64_t reach(const Convolution& c, int d, int64_t count) {
  return (count - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1;
}

// Whether the windows keep to the input as it lies.
bool within(const Convolution& c, const int64_t* spread) {
  for (int d = first_dim(c); d < 3; ++d) {
    if (c.padding[d] != 0 || (spread != nullptr && spread[d] != 1) || reach(c, d, c.output[d]) > c.input[d]) {
      return false;
    }
  }
  return true;
}

int32_t product(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// Whole images [image, image + images), or windows [begin, end) along the first dimension of one.
struct Unit {
  int64_t image = 0, images = 1, begin = 0, end = 0;
};

// What the zero point of the input adds to the sums of each channel, where padding is a byte of 0: that of the weights
// that lie on places of the input.
struct Borders {
  // Of each window along a dimension, which kind it is, and of a kind, which of its places [first, second) lie within.
  std::vector<int32_t> kinds[3];
  std::vector<std::pair<int64_t, int64_t>> within[3];
  std::vector<int32_t> corrections;  // [kinds..., channels]

  void find(const Convolution& c) {
    for (int d = 0; d < 3; ++d) {
      for (int64_t o = 0; o < c.output[d]; ++o) {
        const int64_t behind = c.padding[d] - o * c.stride[d], left = behind + c.input[d];
        const int64_t begin = behind <= 0 ? 0 : std::min(c.kernel[d], at::divup(behind, c.dilation[d]));
        const int64_t end = left <= 0 ? begin : std::clamp(at::divup(left, c.dilation[d]), begin, c.kernel[d]);
        const std::pair<int64_t, int64_t> places{begin, end};
        const auto found = std::find(within[d].begin(), within[d].end(), places);
        kinds[d].push_back(static_cast<int32_t>(found - within[d].begin()));
        if (found == within[d].end()) within[d].push_back(places);
      }
    }
  }
  // `sums` of the weights of each place of the window: [places, channels].
  void correct(const Convolution& c, const std::vector<int32_t>& sums, int32_t zero_point) {
    const auto channels = static_cast<size_t>(c.out_channels);
    corrections.assign(within[0].size() * within[1].size() * within[2].size() * channels, 0);
    int32_t* to = corrections.data();
    for (const auto& z : within[0]) {
      for (const auto& y : within[1]) {
        for (const auto& x : within[2]) {
          for (int64_t kz = z.first; kz < z.second; ++kz) {
            for (int64_t ky = y.first; ky < y.second; ++ky) {
              for (int64_t kx = x.first; kx < x.second; ++kx) {
                const int32_t* const from = sums.data() + ((kz * c.kernel[1] + ky) * c.kernel[2] + kx) * c.out_channels;
                for (size_t i = 0; i < channels; ++i) to[i] = wrapped_sum(to[i], from[i]);
              }
            }
          }
          for (size_t i = 0; i < channels; ++i) to[i] = product(zero_point, to[i]);
          to += channels;
        }
      }
    }
  }
  // f(corrections, count) for the windows [first, last) of a row, in order.
  template <class F>
  void for_each_run(int64_t z, int64_t y, int64_t first, int64_t last, int64_t channels, const F& f) const {
    const auto row =
        (kinds[0][static_cast<size_t>(z)] * within[1].size() + kinds[1][static_cast<size_t>(y)]) * within[2].size();
    const int32_t* const x = kinds[2].data();
    for (int64_t begin = first, end = first; begin < last; begin = end) {
      while (end < last && x[end] == x[begin]) ++end;
      f(corrections.data() + static_cast<int64_t>(row + static_cast<size_t>(x[begin])) * channels, end - begin);
    }
  }
};

// Copies what the windows of a unit reach over, zero points where that is no place of the input.
void copy_reached(const Convolution& c, const int64_t* spread, const Unit& u, const uint8_t* input, int32_t zero_point,
                  const int64_t* sizes, uint8_t* to) {
  const int f = first_dim(c);
  const int64_t channels = c.in_channels;
  // Where place i of the copy lies in the input; -1: nowhere.
  const auto source = [&](int d, int64_t i) -> int64_t {
    const int64_t at = i - c.padding[d] + (d == f ? u.begin * c.stride[d] : 0),
                  step = spread == nullptr ? 1 : spread[d];
    return at < 0 || at % step != 0 || at / step >= c.input[d] ? -1 : at / step;
  };
  const auto fill = [&](int64_t count) {
    std::memset(to, zero_point, static_cast<size_t>(count * channels));
    to += count * channels;
  };
  const bool dense = spread == nullptr || spread[2] == 1;
  // A row's part that is copied.
  const int64_t shift = f == 2 ? u.begin * c.stride[2] : 0;
  const int64_t front = std::clamp<int64_t>(c.padding[2] - shift, 0, sizes[2]);
  const int64_t back = std::clamp<int64_t>(c.input[2] + c.padding[2] - shift, front, sizes[2]);
  for (int64_t n = u.image; n < u.image + u.images; ++n) {
    for (int64_t z = 0; z < sizes[0]; ++z) {
      const int64_t from_z = f == 0 ? source(0, z) : 0;
      for (int64_t y = 0; y < sizes[1]; ++y) {
        const int64_t from_y = f <= 1 ? source(1, y) : 0;
        if (from_z < 0 || from_y < 0) {
          fill(sizes[2]);
          continue;
        }
        const uint8_t* const row = input + ((n * c.input[0] + from_z) * c.input[1] + from_y) * c.input[2] * channels;
        if (dense) {
          fill(front);
          std::memcpy(to, row + (front - c.padding[2] + shift) * channels,
                      static_cast<size_t>((back - front) * channels));
          to += (back - front) * channels;
          fill(sizes[2] - back);
          continue;
        }
        for (int64_t x = 0; x < sizes[2]; ++x) {
          const int64_t from = source(2, x);
          if (from < 0) {
            fill(1);
          } else {
            std::memcpy(to, row + from * channels, static_cast<size_t>(channels));
            to += channels;
          }
        }
      }
    }
  }
}

}  // namespace

struct IntegerWeights::State {
  Convolution shape;
  std::shared_ptr<const int8_t> weight;
  std::vector<int32_t> zero_points;
  bool shifted = false;  // whether a zero point is not 0
#if KINDLING_HAVE_ONEDNN
  std::unique_ptr<internal::OneDnnIntegerWeights> onednn;
#endif
  std::mutex mutex;
  std::unique_ptr<Scratch> shorts;
  std::vector<int32_t> place_sums;

  int32_t zero_point(int64_t channel) const {
    return zero_points[zero_points.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
  bool by_onednn() const {
    return !shifted && integers_by_onednn();
  }

  // Groups one after the other; within a row the places of the window, and their channels innermost.
  const int16_t* packed() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (shorts != nullptr) return shorts->as<int16_t>();
    const int64_t channels = shape.in_channels / shape.groups, window = places(shape.kernel), depth = channels * window,
                  outputs = shape.out_channels / shape.groups, size = internal::packed_shorts(outputs, depth);
    auto made = std::make_unique<Scratch>(static_cast<size_t>(size * shape.groups) * sizeof(int16_t));
    // Some channels at a time: what they are before they are packed stays in the cache.
    const int64_t panel = internal::packed_columns(), most = std::max<int64_t>(1, outputs);
    std::vector<int16_t> rows(static_cast<size_t>(std::min(panel, most) * depth));
    for (int64_t g = 0; g < shape.groups; ++g) {
      int16_t* packed = made->as<int16_t>() + g * size;
      for (int64_t first = 0; first < outputs; first += panel) {
        const int64_t count = std::min(panel, outputs - first);
        for (int64_t o = 0; o < count; ++o) {
          const int64_t channel = g * outputs + first + o;
          const int8_t* const from = weight.get() + channel * depth;
          int16_t* const to = rows.data() + o * depth;
          const int32_t zero = zero_point(channel);
          for (int64_t i = 0; i < channels; ++i) {
            for (int64_t p = 0; p < window; ++p) {
              to[p * channels + i] = static_cast<int16_t>(from[i * window + p] - zero);
            }
          }
        }
        internal::pack_shorts(count, depth, rows.data(), packed);
        packed += internal::packed_shorts(count, depth);
      }
    }
    shorts = std::move(made);
    return shorts->as<int16_t>();
  }

  // Of the weights of each place of the window: [places, channels]. Not summed under the lock, whose holder must wait
  // for no thread: who comes second throws his away.
  const std::vector<int32_t>& sums_of_places() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!place_sums.empty()) return place_sums;
    }
    const int64_t window = places(shape.kernel), channels = shape.in_channels / shape.groups;
    std::vector<int32_t> made(static_cast<size_t>(window * shape.out_channels));
    at::parallel_for(0, shape.out_channels, 1 + 65536 / (channels * window + 1), [&](int64_t first, int64_t last) {
      for (int64_t o = first; o < last; ++o) {
        for (int64_t p = 0; p < window; ++p) {
          const int8_t* const from = weight.get() + o * channels * window + p;
          uint32_t sum = 0;
          if (window == 1) {
            for (int64_t i = 0; i < channels; ++i) sum += static_cast<uint32_t>(from[i]);
          } else {
            for (int64_t i = 0; i < channels; ++i) sum += static_cast<uint32_t>(from[i * window]);
          }
          made[static_cast<size_t>(p * shape.out_channels + o)] = static_cast<int32_t>(sum);
        }
      }
    });
    const std::lock_guard<std::mutex> lock(mutex);
    if (place_sums.empty()) place_sums = std::move(made);
    return place_sums;
  }

#if KINDLING_HAVE_ONEDNN
  // A unit of a padded convolution by oneDNN, which pads with bytes of 0. False where it has no such primitive.
  bool run_padded(const Convolution& c, const Unit& u, const uint8_t* input, const IntegerResult& result,
                  const Borders& borders) {
    const int f = first_dim(c);
    Convolution part = c;
    part.batch = u.images;
    part.output[f] = u.end - u.begin;
    const int64_t front = u.begin * c.stride[f] - c.padding[f], begin = std::max<int64_t>(front, 0),
                  end = u.images > 1 ? c.input[f] : std::min(front + reach(c, f, part.output[f]), c.input[f]);
    if (begin >= end) return false;
    part.padding[f] = begin - front;
    part.input[f] = end - begin;
    const int64_t inner = places(c.output) / c.output[f], channels = c.out_channels,
                  rows = part.batch * part.output[f] * inner, row = (u.image * c.output[f] + u.begin) * inner,
                  step = places(c.input) / c.input[f] * c.in_channels;
    const bool direct = result.to == IntegerResult::To::kSums;
    const Scratch scratch(direct ? 64 : static_cast<size_t>(rows * channels) * sizeof(int32_t));
    int32_t* sums = direct ? static_cast<int32_t*>(result.data) + row * channels : scratch.as<int32_t>();
    {
      const at::internal::ThreadLease lease(1);
      if (!onednn->convolve(part, input + (u.image * c.input[f] + begin) * step, sums, 1)) return false;
    }
    if (borders.corrections.empty()) {
      if (!direct) internal::finish_sums(result, nullptr, channels, row, rows, sums);
      return true;
    }
    // Rows of windows, of which a strip along the last dimension is a part of one.
    const int64_t left = f == 2 ? u.begin : 0, right = f == 2 ? u.end : c.output[2], lines = rows / (right - left);
    int64_t next = row;
    for (int64_t i = 0; i < lines; ++i) {
      // The row's place within its image.
      const int64_t line = (f < 2 ? u.begin * (inner / c.output[2]) : 0) + i, z = line / c.output[1] % c.output[0];
      borders.for_each_run(z, line % c.output[1], left, right, channels,
                           [&](const int32_t* corrections, int64_t count) {
                             internal::finish_sums(result, corrections, channels, next, count, sums);
                             next += count;
                             sums += count * channels;
                           });
    }
    return true;
  }
#endif

  // The same sums of differences to the zero point, by products of 16 bits. `c` has no padding.
  void sum_shorts(const Convolution& c, const uint8_t* input, int32_t zero_point, int32_t* sums) {
    const int64_t channels = c.in_channels / c.groups, depth = depth_of(c),
                  row = std::max<int64_t>(2, (depth + 1) / 2 * 2), outputs = c.out_channels / c.groups,
                  size = internal::packed_shorts(outputs, depth), rows = c.batch * places(c.output),
                  block = std::clamp<int64_t>(65536 / row, 12, rows + 12);
    const int16_t* const weights = packed();
    const Scratch scratch(static_cast<size_t>(block * row) * sizeof(int16_t));
    int16_t* const unfolded = scratch.as<int16_t>();
    for (int64_t first = 0; first < rows; first += block) {
      const int64_t count = std::min(block, rows - first);
      for (int64_t g = 0; g < c.groups; ++g) {
        for (int64_t r = 0; r < count; ++r) {
          int16_t* to = unfolded + r * row;
          to[row - 1] = 0;
          const int64_t place = first + r, x = place % c.output[2] * c.stride[2],
                        y = place / c.output[2] % c.output[1] * c.stride[1],
                        z = place / (c.output[2] * c.output[1]) % c.output[0] * c.stride[0],
                        n = place / places(c.output);
          for (int64_t kz = 0; kz < c.kernel[0]; ++kz) {
            for (int64_t ky = 0; ky < c.kernel[1]; ++ky) {
              for (int64_t kx = 0; kx < c.kernel[2]; ++kx, to += channels) {
                const int64_t from =
                    ((n * c.input[0] + z + kz * c.dilation[0]) * c.input[1] + y + ky * c.dilation[1]) * c.input[2] + x +
                    kx * c.dilation[2];
                const uint8_t* const values = input + from * c.in_channels + g * channels;
                for (int64_t i = 0; i < channels; ++i) to[i] = static_cast<int16_t>(values[i] - zero_point);
              }
            }
          }
        }
        internal::multiply_shorts(count, outputs, depth, unfolded, row, weights + g * size,
                                  sums + first * c.out_channels + g * outputs, c.out_channels);
      }
    }
  }

  // A part of a convolution without padding: sums, and what becomes of them. Its first row of the result is `first`.
  // `c` is a product of so many rows where `product`.
  void run(const Convolution& c, bool product, const uint8_t* input, int32_t zero_point, const IntegerResult& result,
           const int32_t* corrections, int64_t first, int threads) {
    const int64_t rows = product ? c.batch : c.batch * places(c.output), channels = c.out_channels;
    const bool direct = result.to == IntegerResult::To::kSums;
    const Scratch scratch(direct ? 64 : static_cast<size_t>(rows * channels) * sizeof(int32_t));
    int32_t* const sums = direct ? static_cast<int32_t*>(result.data) + first * channels : scratch.as<int32_t>();
    bool done = false;
#if KINDLING_HAVE_ONEDNN
    if (by_onednn() && depth_of(c) > 0) {
      const at::internal::ThreadLease lease(threads);
      done = product ? onednn->multiply(c, rows, input, sums, lease.num_threads())
                     : onednn->convolve(c, input, sums, lease.num_threads());
    }
#endif
    if (!done) {
      corrections = nullptr;
      sum_shorts(c, input, zero_point, sums);
    }
    if (direct && corrections == nullptr) return;
    at::parallel_for(0, rows, 1 + 65536 / channels, [&](int64_t begin, int64_t end) {
      internal::finish_sums(result, corrections, channels, first + begin, end - begin, sums + begin * channels);
    });
  }

  // What the zero point of the input adds to each channel's sum by oneDNN.
  std::vector<int32_t> corrections(int32_t zero_point) {
    if (zero_point == 0 || !by_onednn()) return {};
    const std::vector<int32_t>& sums = sums_of_places();
    const auto channels = static_cast<size_t>(shape.out_channels);
    std::vector<int32_t> result(channels);
    for (size_t p = 0; p < sums.size(); p += channels) {
      for (size_t i = 0; i < channels; ++i) result[i] = wrapped_sum(result[i], sums[p + i]);
    }
    for (int32_t& sum : result) sum = product(zero_point, sum);
    return result;
  }
};

#if !KINDLING_HAVE_ONEDNN
bool integers_by_onednn() {
  return false;
}
bool multiply_signed_bytes(int64_t, int64_t, int64_t, const Operand&, const Operand&, int32_t*) { return false; }
#endif

IntegerWeights::IntegerWeights(const Convolution& shape, std::shared_ptr<const int8_t> weight,
                               std::vector<int32_t> zero_points)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.shape = shape;
  s.weight = std::move(weight);
  s.zero_points = std::move(zero_points);
  if (s.zero_points.empty()) s.zero_points = {0};
  for (const int32_t zero : s.zero_points) s.shifted |= zero != 0;
#if KINDLING_HAVE_ONEDNN
  s.onednn = std::make_unique<internal::OneDnnIntegerWeights>(s.weight);
#endif
}

IntegerWeights::~IntegerWeights() = default;

void IntegerWeights::multiply(int64_t rows, const uint8_t* input, int32_t zero_point,
                              const IntegerResult& result) const {
  State& s = *state_;
  const int64_t n = s.shape.out_channels, k = s.shape.in_channels;
  if (rows == 0 || n == 0) return;
  const std::vector<int32_t> corrections = s.corrections(zero_point);
  const int64_t piece = even_piece(rows, std::max<int64_t>(16, kUnitBytes / (4 * n))), pieces = at::divup(rows, piece);
  const bool alone = pieces < at::get_num_threads();
  const bool worth = static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k) > 2 * kUnitWork;
  const auto run = [&](int64_t begin, int64_t end, int threads) {
    for (int64_t i = begin; i < end; ++i) {
      Convolution c;
      c.dims = 1;
      c.in_channels = k;
      c.out_channels = n;
      c.batch = std::min(piece, rows - i * piece);
      s.run(c, true, input + i * piece * k, zero_point, result, corrections.empty() ? nullptr : corrections.data(),
            i * piece, threads);
    }
  };
  // Few pieces: each by all threads.
  if (alone) return run(0, pieces, worth ? 0 : 1);
  at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) { run(begin, end, 1); });
}

void IntegerWeights::convolve(const Convolution& given, const uint8_t* input, int32_t zero_point,
                              const IntegerResult& result, const int64_t* spread) const {
  State& s = *state_;
  Convolution c = given;
  const int f = first_dim(c);
  const int64_t inner = places(c.output) / std::max<int64_t>(1, c.output[f]), all = c.output[f] * inner;
  if (c.batch == 0 || all == 0 || c.out_channels == 0) return;
  const bool as_it_lies = within(c, spread);
  if (as_it_lies && c.groups == 1 && places(c.kernel) == 1 && places(c.stride) == 1) {
    return multiply(c.batch * all, input, zero_point, result);
  }
  const std::vector<int32_t> corrections = s.corrections(zero_point);
  Borders borders;
#if KINDLING_HAVE_ONEDNN
  bool padded = !as_it_lies && s.by_onednn() && depth_of(c) > 0;
  for (int d = f; d < 3; ++d) padded = padded && c.padding[d] >= 0 && (spread == nullptr || spread[d] == 1);
  if (padded && zero_point != 0) {
    borders.find(c);
    borders.correct(c, s.sums_of_places(), zero_point);
  }
#endif
  const int threads = at::get_num_threads();
  const double work =
      static_cast<double>(c.batch * all) * static_cast<double>(c.out_channels) * static_cast<double>(depth_of(c));
  const int64_t wanted = work < threads * kUnitWork ? 1 : threads, image_bytes = all * c.out_channels * 4;
  // Several images to a unit, or several units to an image.
  int64_t images = 1, strip = c.output[f];
  if (image_bytes <= kUnitBytes && c.batch >= wanted) {
    images = even_piece(c.batch, std::min(kUnitBytes / image_bytes, at::divup(c.batch, wanted)));
  } else {
    strip = even_piece(strip, std::min(kUnitBytes / (inner * c.out_channels * 4), at::divup(c.batch * strip, wanted)));
  }
  const int64_t strips = at::divup(c.output[f], strip), units = at::divup(c.batch, images) * strips;
  at::parallel_for(0, units, wanted == 1 ? units : 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      Unit u;
      u.image = i / strips * images;
      u.images = std::min(images, c.batch - u.image);
      u.begin = i % strips * strip;
      u.end = std::min(u.begin + strip, c.output[f]);
      Convolution part = c;
      part.batch = u.images;
      part.output[f] = u.end - u.begin;
      const int64_t row = (u.image * c.output[f] + u.begin) * inner;
      const int32_t* const own = corrections.empty() ? nullptr : corrections.data();
      if (as_it_lies) {
        // Images are whole, or it is one, of which places in front and behind are left out.
        const int64_t step = places(c.input) / c.input[f] * c.in_channels;
        if (strips > 1) part.input[f] = reach(c, f, part.output[f]);
        s.run(part, false, input + (u.image * c.input[f] + u.begin * c.stride[f]) * step, zero_point, result, own, row,
              1);
        continue;
      }
#if KINDLING_HAVE_ONEDNN
      if (padded && s.run_padded(c, u, input, result, borders)) continue;
#endif
      for (int d = f; d < 3; ++d) {
        part.input[d] = reach(c, d, part.output[d]);
        part.padding[d] = 0;
      }
      const Scratch reached(static_cast<size_t>(part.batch * places(part.input) * c.in_channels) + 64);
      copy_reached(c, spread, u, input, zero_point, part.input, reached.as<uint8_t>());
      s.run(part, false, reached.as<uint8_t>(), zero_point, result, own, row, 1);
    }
  });
}

}  // namespace at::matrix
