// L D L^T and L D L^H by diagonal pivoting (Bunch and Kaufman 1977), with what LAPACK's routines leave behind: cuSOLVER
// has neither batches of it nor Hermitian matrices. Numbers are computed in double.
#include "aten/cuda/complex_math.cuh"
#include "aten/cuda/device_check.cuh"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/solver/solver_kernels.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda::solver {
namespace {

KD_DEVICE Complex get(const float* at) {
  return Complex(*at, 0);
}
KD_DEVICE Complex get(const double* at) {
  return Complex(*at, 0);
}
KD_DEVICE Complex get(const c10::complex<float>* at) {
  return Complex(at->real(), at->imag());
}
KD_DEVICE Complex get(const c10::complex<double>* at) {
  return *at;
}
KD_DEVICE void set(float* to, Complex z) {
  *to = static_cast<float>(z.real());
}
KD_DEVICE void set(double* to, Complex z) {
  *to = z.real();
}
KD_DEVICE void set(c10::complex<float>* to, Complex z) {
  *to = c10::complex<float>(static_cast<float>(z.real()), static_cast<float>(z.imag()));
}
KD_DEVICE void set(c10::complex<double>* to, Complex z) {
  *to = z;
}

// What pivots are compared by.
KD_DEVICE double magnitude(Complex z) {
  return ::fabs(z.real()) + ::fabs(z.imag());
}
KD_DEVICE Complex conjugate(Complex z) {
  return Complex(z.real(), -z.imag());
}
KD_DEVICE Complex divide(Complex a, Complex b) {
  if (b.imag() == 0) return Complex(a.real() / b.real(), a.imag() / b.real());
  // By the larger part of the divisor, so that nothing overflows on the way.
  if (::fabs(b.real()) >= ::fabs(b.imag())) {
    const double ratio = b.imag() / b.real(), scale = b.real() + b.imag() * ratio;
    return Complex((a.real() + a.imag() * ratio) / scale, (a.imag() - a.real() * ratio) / scale);
  }
  const double ratio = b.real() / b.imag(), scale = b.imag() + b.real() * ratio;
  return Complex((a.real() * ratio + a.imag()) / scale, (a.imag() * ratio - a.real()) / scale);
}

// One matrix, which a block factors.
template <class T>
struct Matrix {
  T* data;
  int64_t n;
  bool hermitian;

  KD_DEVICE T* at(int64_t i, int64_t j) const { return data + i + j * n; }
  KD_DEVICE Complex operator()(int64_t i, int64_t j) const { return get(at(i, j)); }
  // Of a Hermitian matrix the diagonal is real, whatever stands there.
  KD_DEVICE Complex diagonal(int64_t i) const {
    const Complex z = (*this)(i, i);
    return hermitian ? Complex(z.real(), 0) : z;
  }
  KD_DEVICE Complex turned(Complex z) const { return hermitian ? conjugate(z) : z; }
};

struct Largest {
  double size;
  int64_t place;
};

// The first of the largest numbers size(i), first <= i < last, to all threads.
template <class F>
__device__ Largest find_largest(int64_t first, int64_t last, const F& size) {
  __shared__ double sizes[kThreadsPerBlock];
  __shared__ int64_t places[kThreadsPerBlock];
  double best = -1;
  int64_t place = first;
  for (int64_t i = first + threadIdx.x; i < last; i += kThreadsPerBlock) {
    const double s = size(i);
    if (s > best) best = s, place = i;
  }
  __syncthreads();  // the numbers of the search before may still be read
  sizes[threadIdx.x] = best;
  places[threadIdx.x] = place;
  __syncthreads();
  for (uint32_t half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const uint32_t other = threadIdx.x + half;
      if (sizes[other] > sizes[threadIdx.x] ||
          (sizes[other] == sizes[threadIdx.x] && places[other] < places[threadIdx.x])) {
        sizes[threadIdx.x] = sizes[other];
        places[threadIdx.x] = places[other];
      }
    }
    __syncthreads();
  }
  return {sizes[0] < 0 ? 0 : sizes[0], places[0]};
}

// Rows and columns kk < kp change places, of the triangle from column kk on; `before`: and those of column kk - 1.
template <class T>
__device__ void exchange(const Matrix<T>& a, int64_t kk, int64_t kp, bool before) {
  for (int64_t i = kp + 1 + threadIdx.x; i < a.n; i += kThreadsPerBlock) {
    const Complex held = a(i, kk);
    set(a.at(i, kk), a(i, kp));
    set(a.at(i, kp), held);
  }
  for (int64_t j = kk + 1 + threadIdx.x; j < kp; j += kThreadsPerBlock) {
    const Complex held = a.turned(a(j, kk));
    set(a.at(j, kk), a.turned(a(kp, j)));
    set(a.at(kp, j), held);
  }
  if (threadIdx.x == 0) {
    const Complex held = a.diagonal(kk);
    set(a.at(kk, kk), a.diagonal(kp));
    set(a.at(kp, kp), held);
    set(a.at(kp, kk), a.turned(a(kp, kk)));
    if (before) {
      const Complex left = a(kk, kk - 1);
      set(a.at(kk, kk - 1), a(kp, kk - 1));
      set(a.at(kp, kk - 1), left);
    }
  }
}

template <class T>
__global__ void ldl_factor(T* all, int64_t n, bool hermitian, int* all_pivots, int* info, T* scratch) {
  const Matrix<T> a{all + blockIdx.x * n * n, n, hermitian};
  int* const pivots = all_pivots + blockIdx.x * n;
  T* const first = scratch + blockIdx.x * 2 * n;  // the columns of L that are being made
  T* const second = first + n;
  const double alpha = (1 + ::sqrt(17.0)) / 8;
  int failed = 0;
  for (int64_t k = 0; k < n;) {
    __syncthreads();
    const double own = magnitude(a.diagonal(k));
    const Largest below = find_largest(k + 1, n, [&](int64_t i) { return magnitude(a(i, k)); });
    int64_t kp = k, step = 1;
    const bool is_singular = !(::fmax(own, below.size) > 0) || own != own;
    if (is_singular) {
      if (failed == 0) failed = static_cast<int>(k + 1);
    } else if (own < alpha * below.size) {
      const int64_t r = below.place;
      const Largest row =
          find_largest(k, n, [&](int64_t j) { return j == r ? -1.0 : magnitude(j < r ? a(r, j) : a(j, r)); });
      if (own >= alpha * below.size * (below.size / row.size)) {
        kp = k;
      } else if (magnitude(a.diagonal(r)) >= alpha * row.size) {
        kp = r;
      } else {
        kp = r;
        step = 2;
      }
    }
    const int64_t kk = k + step - 1, next = k + step;
    __syncthreads();
    if (kp != kk) exchange(a, kk, kp, step == 2);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int64_t i = k; i < next; ++i) {
        pivots[i] = static_cast<int>(step == 1 ? kp + 1 : -(kp + 1));
        set(a.at(i, i), a.diagonal(i));
      }
    }
    __syncthreads();
    if (step == 1 && !is_singular) {
      const Complex d = a(k, k);
      for (int64_t i = next + threadIdx.x; i < n; i += kThreadsPerBlock) set(first + i, divide(a(i, k), d));
    } else if (step == 2) {
      // The rows of L from D = [[p, turned(q)], [q, r]].
      const Complex q = a(k + 1, k), above = a.turned(q);
      const Complex p = divide(a(k, k), q), r = divide(a(k + 1, k + 1), above), det = p * r - Complex(1, 0);
      for (int64_t i = next + threadIdx.x; i < n; i += kThreadsPerBlock) {
        const Complex x = divide(a(i, k), q), y = divide(a(i, k + 1), above);
        set(first + i, divide(r * x - y, det));
        set(second + i, divide(p * y - x, det));
      }
    }
    __syncthreads();
    if (!is_singular) {
      // A warp takes a column.
      for (int64_t j = next + threadIdx.x / 32; j < n; j += kThreadsPerBlock / 32) {
        for (int64_t i = j + threadIdx.x % 32; i < n; i += 32) {
          Complex sum = a(i, k) * a.turned(get(first + j));
          if (step == 2) sum = sum + a(i, k + 1) * a.turned(get(second + j));
          const Complex left = a(i, j) - sum;
          set(a.at(i, j), hermitian && i == j ? Complex(left.real(), 0) : left);
        }
      }
      __syncthreads();
      for (int64_t i = next + threadIdx.x; i < n; i += kThreadsPerBlock) {
        set(a.at(i, k), get(first + i));
        if (step == 2) set(a.at(i, k + 1), get(second + i));
      }
    }
    k = next;
  }
  if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

// A thread solves for one right-hand side.
template <class T>
__global__ void ldl_solve(const T* all, int64_t n, bool hermitian, const int* all_pivots, T* sides, int64_t columns,
                          int64_t count) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t s = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; s < count * columns; s += step) {
    const int64_t place = s / columns;
    const T* const a = all + place * n * n;
    const int* const pivots = all_pivots + place * n;
    T* const b = sides + s * n;
    const auto exchange = [&](int64_t i, int64_t j) {
      const T held = b[i];
      b[i] = b[j];
      b[j] = held;
    };
    const auto turned = [&](Complex z) { return hermitian ? conjugate(z) : z; };
    for (int64_t k = 0; k < n;) {
      const int pivot = pivots[k];
      const int64_t kp = (pivot > 0 ? pivot : -int64_t{pivot}) - 1;
      AT_CUDA_KERNEL_CHECK(kp >= 0 && kp < n && (pivot > 0 || k + 1 < n),
                           "torch.linalg.ldl_solve: a pivot is not that of a matrix of so many rows. Did you properly "
                           "pass the result of ldl_factor?");
      if (pivot > 0) {
        exchange(k, kp);
        const Complex x = get(b + k);
        for (int64_t i = k + 1; i < n; ++i) set(b + i, get(b + i) - get(a + i + k * n) * x);
        set(b + k, divide(x, get(a + k + k * n)));
        k += 1;
      } else {
        exchange(k + 1, kp);
        const Complex x = get(b + k), y = get(b + k + 1);
        for (int64_t i = k + 2; i < n; ++i) {
          set(b + i, get(b + i) - get(a + i + k * n) * x - get(a + i + (k + 1) * n) * y);
        }
        const Complex q = get(a + k + 1 + k * n);
        const Complex p = divide(get(a + k + k * n), turned(q)), r = divide(get(a + k + 1 + (k + 1) * n), q);
        const Complex det = p * r - Complex(1, 0), xs = divide(x, turned(q)), ys = divide(y, q);
        set(b + k, divide(r * xs - ys, det));
        set(b + k + 1, divide(p * ys - xs, det));
        k += 2;
      }
    }
    for (int64_t k = n - 1; k >= 0;) {
      const int pivot = pivots[k];
      const int64_t kp = (pivot > 0 ? pivot : -int64_t{pivot}) - 1, width = pivot > 0 ? 1 : 2;
      for (int64_t c = k; c > k - width; --c) {
        Complex x = get(b + c);
        for (int64_t i = k + 1; i < n; ++i) x = x - turned(get(a + i + c * n)) * get(b + i);
        set(b + c, x);
      }
      exchange(k, kp);
      k -= width;
    }
  }
}

template <class F>
void visit(c10::ScalarType type, const F& f) {
  switch (type) {
    case c10::ScalarType::Float:
      return f(float{});
    case c10::ScalarType::Double:
      return f(double{});
    case c10::ScalarType::ComplexFloat:
      return f(c10::complex<float>{});
    default:
      return f(c10::complex<double>{});
  }
}

}  // namespace

void launch_ldl_factor(c10::ScalarType type, void* a, int64_t n, int64_t count, bool hermitian, int* pivots, int* info,
                       void* scratch) {
  const c10::cuda::Launch shape{
      .grid = static_cast<uint32_t>(count), .block = kThreadsPerBlock, .stream = c10::cuda::getCurrentCUDAStream()};
  visit(type, [&](auto like) {
    using T = decltype(like);
    c10::cuda::launch_or_throw("ldl_factor", ldl_factor<T>, shape, static_cast<T*>(a), n, hermitian, pivots, info,
                               static_cast<T*>(scratch));
  });
}

void launch_ldl_solve(c10::ScalarType type, const void* a, int64_t n, int64_t count, bool hermitian, const int* pivots,
                      void* b, int64_t columns) {
  const int64_t blocks = (count * columns - 1) / kThreadsPerBlock + 1;
  const c10::cuda::Launch shape{.grid = static_cast<uint32_t>(std::min<int64_t>(blocks, kMostBlocks)),
                                .block = kThreadsPerBlock,
                                .stream = c10::cuda::getCurrentCUDAStream()};
  visit(type, [&](auto like) {
    using T = decltype(like);
    c10::cuda::launch_or_throw("ldl_solve", ldl_solve<T>, shape, static_cast<const T*>(a), n, hermitian, pivots,
                               static_cast<T*>(b), columns, count);
  });
}

}  // namespace at::cuda::solver
