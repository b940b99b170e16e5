#include "aten/cpu/fft/fft.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "aten/cpu/fft/kernels.h"
#include "aten/cpu/fft/plan.h"
#include "aten/cpu/support/scratch.h"
#include "c10/parallel/parallel.h"

namespace at::cpu::fft {
namespace {

// Lines of at most so many numbers are transformed as blocks even where each is contiguous.
constexpr int64_t kShort = 64;
// Numbers in the lines that one thread takes at least.
constexpr int64_t kGrain = 16384;

// Four arrays for the numbers of a block. They do not start at one distance of a power of two, at which they would
// displace each other from the cache.
template <class T>
class Buffers {
 public:
  explicit Buffers(size_t numbers)
      : apart_((numbers + 2 * kLanes<T> - 1) / kLanes<T> * kLanes<T> + 5 * kLanes<T>),
        memory_(4 * apart_ * sizeof(T)) {}
  Split<T> a() const { return {memory_.as<T>(), memory_.as<T>() + apart_}; }
  Split<T> b() const { return {memory_.as<T>() + 2 * apart_, memory_.as<T>() + 3 * apart_}; }

 private:
  size_t apart_;
  Scratch memory_;
};

// Goes from line to line.
class Cursor {
 public:
  Cursor(const Lines& lines, int64_t first) : lines_(lines), at_(lines.sizes.size(), 0) {
    for (size_t d = at_.size(); d-- > 0;) {
      at_[d] = first % lines.sizes[d];
      first /= lines.sizes[d];
      in += at_[d] * lines.in_strides[d];
      out += at_[d] * lines.out_strides[d];
    }
  }
  void next() {
    for (size_t d = at_.size(); d-- > 0;) {
      in += lines_.in_strides[d], out += lines_.out_strides[d];
      if (++at_[d] < lines_.sizes[d]) return;
      at_[d] = 0;
      in -= lines_.in_strides[d] * lines_.sizes[d], out -= lines_.out_strides[d] * lines_.sizes[d];
    }
  }
  int64_t in = 0, out = 0;

 private:
  const Lines& lines_;
  c10::SmallVector<int64_t, 6> at_;
};

// The dimension whose lines lie closest together comes last.
Lines in_order(const Lines& lines) {
  c10::SmallVector<size_t, 6> order(lines.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t x = std::abs(lines.in_strides[a]), y = std::abs(lines.in_strides[b]);
    return x != y ? x > y : a < b;
  });
  Lines sorted;
  sorted.in_step = lines.in_step, sorted.out_step = lines.out_step;
  for (size_t d : order) {
    sorted.sizes.push_back(lines.sizes[d]);
    sorted.in_strides.push_back(lines.in_strides[d]);
    sorted.out_strides.push_back(lines.out_strides[d]);
  }
  return sorted;
}

template <class T>
class Job {
 public:
  Job(const Transform& what, const Lines& lines, const T* in, T* out)
      : what_(what),
        lines_(in_order(lines)),
        in_(in),
        out_(out),
        n_(static_cast<size_t>(what.n)),
        pairs_(what.kind != Kind::kComplex && what.n % 2 == 0),
        plan_(find_plan<T>(pairs_ ? n_ / 2 : n_, pairs_)) {
    from_.step = (what.kind == Kind::kRealToHalf && !pairs_ ? 1 : 2) * lines.in_step;
    from_.imag = what.kind == Kind::kRealToHalf ? lines.in_step : 1;
    from_.real = what.kind == Kind::kRealToHalf && !pairs_;
    to_.step = (what.kind == Kind::kHalfToReal && !pairs_ ? 1 : 2) * lines.out_step;
    to_.imag = what.kind == Kind::kHalfToReal ? lines.out_step : 1;
    to_.real = what.kind == Kind::kHalfToReal && !pairs_;
    in_unit_ = what.kind == Kind::kRealToHalf ? 1 : 2;
    out_unit_ = what.kind == Kind::kHalfToReal ? 1 : 2;
  }

  void run() {
    int64_t count = 1;
    for (int64_t size : lines_.sizes) count *= size;
    const bool apart = lines_.in_step != 1 || lines_.out_step != 1;
    const bool blocks = count >= static_cast<int64_t>(kLanes<T> / 4) && (apart || what_.n <= kShort);
    const int64_t width = blocks ? static_cast<int64_t>(kLanes<T>) : 1;
    const int64_t grain = std::max<int64_t>(1, kGrain / (what_.n * width));
    at::parallel_for(0, (count + width - 1) / width, grain, [&](int64_t begin, int64_t end) {
      // Those that are read from, n + 1 numbers at most, or worked on.
      Buffers<T> buffers(std::max(plan_->work_length(), n_ + 1) * static_cast<size_t>(width));
      Cursor cursor(lines_, begin * width);
      Memory<const T> from = from_;
      Memory<T> to = to_;
      for (int64_t block = begin; block < end; ++block) {
        from.count = to.count = static_cast<size_t>(std::min(width, count - block * width));
        for (size_t l = 0; l < from.count; ++l, cursor.next()) {
          from.start[l] = in_ + cursor.in * in_unit_;
          to.start[l] = out_ + cursor.out * out_unit_;
        }
        if (4 * static_cast<int64_t>(from.count) <= width) {
          run_single(from, to, buffers);
        } else {
          run_block(from, to, static_cast<size_t>(width), buffers);
        }
      }
    });
  }

 private:
  // The few lines that the last block has, one after the other.
  void run_single(const Memory<const T>& from, const Memory<T>& to, const Buffers<T>& buffers) const {
    Memory<const T> one_from = from;
    Memory<T> one_to = to;
    one_from.count = one_to.count = 1;
    for (size_t l = 0; l < from.count; ++l) {
      one_from.start[0] = from.start[l], one_to.start[0] = to.start[l];
      run_block(one_from, one_to, 1, buffers);
    }
  }

  void run_block(const Memory<const T>& from, const Memory<T>& to, size_t width, const Buffers<T>& buffers) const {
    const size_t half = n_ / 2, scaled = pairs_ ? half : n_;
    const T scale = static_cast<T>(what_.scale);
    const Split<T> a = buffers.a(), b = buffers.b();
    switch (what_.kind) {
      case Kind::kComplex:
        load(from, width, n_, a);
        store(transformed(width, a, b, what_.forward), width, n_, scale, to);
        break;
      case Kind::kRealToHalf: {
        load(from, width, scaled, a);
        const Split<T> x = transformed(width, a, b, true);
        if (pairs_) half_from_pairs(*plan_, width, x);
        store(x, width, half + 1, scale, to);
        break;
      }
      case Kind::kHalfToReal:
        load(from, width, half + 1, a);
        if (pairs_) {
          pairs_from_half(*plan_, width, a);
        } else {
          mirror(width, a);
        }
        store(transformed(width, a, b, false), width, scaled, scale, to);
        break;
    }
  }

  // The inverse transform is the forward one with real and imaginary parts exchanged.
  Split<T> transformed(size_t width, Split<T> a, Split<T> b, bool forward) const {
    if (forward) return run_plan(*plan_, width, a, b);
    const Split<T> y = run_plan<T>(*plan_, width, {a.im, a.re}, {b.im, b.re});
    return {y.im, y.re};
  }

  // Number n - k is the conjugate of number k.
  void mirror(size_t width, Split<T> x) const {
    for (size_t l = 0; l < width; ++l) x.im[l] = 0;
    for (size_t k = 1; k <= n_ / 2; ++k) {
      for (size_t l = 0; l < width; ++l) {
        x.re[(n_ - k) * width + l] = x.re[k * width + l];
        x.im[(n_ - k) * width + l] = -x.im[k * width + l];
      }
    }
  }

  const Transform what_;
  const Lines lines_;
  const T* in_;
  T* out_;
  size_t n_;
  bool pairs_;
  std::shared_ptr<const Plan<T>> plan_;
  Memory<const T> from_{};
  Memory<T> to_{};
  int64_t in_unit_ = 2, out_unit_ = 2;
};

}  // namespace

template <class T>
void transform(const Transform& what, const Lines& lines, const T* in, T* out) {
  for (int64_t size : lines.sizes) {
    if (size == 0) return;
  }
  Job<T>(what, lines, in, out).run();
}
template void transform(const Transform&, const Lines&, const float*, float*);
template void transform(const Transform&, const Lines&, const double*, double*);

}  // namespace at::cpu::fft
