// The loss of rows of logits whose classes are known, and its gradient.
#include "aten/cuda/device_check.cuh"
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {
namespace {

// The class of a row; -1 where it does not count.
__device__ __forceinline__ int64_t class_of(const RowsCall& call, int64_t row) {
  const int64_t target = call.targets[row];
  if (target == call.ignored) return -1;
  AT_CUDA_KERNEL_CHECK(target >= 0 && target < call.size, "cross_entropy_loss: a target is out of bounds");
  return target;
}

struct CrossEntropy {
  static constexpr bool kAnyInner = false;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const Exponentials<T> all = exponentials(row, row.template elements<0>());
    const T below = all.top + ::log(all.sum);
    const int64_t target = class_of(row.call, row.index);
    row.template set_number<0>(target < 0 ? T(0) : below - row.element(0, target));
    row.template set_number<1>(below);
  }
};

struct CrossEntropyBackward {
  static constexpr bool kAnyInner = false;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const RowsCall& call = row.call;
    const int64_t target = class_of(call, row.index);
    const T below = row.template number<0>();
    T factor = static_cast<const T*>(call.gradient)[call.gradient_of_each ? row.index : 0];
    if (call.divisor != nullptr) factor /= *static_cast<const T*>(call.divisor);
    row.template map<>(row.template elements<0>(), [&](int64_t k, const T* x) {
      return target < 0 ? T(0) : (::exp(x[0] - below) - (k == target ? T(1) : T(0))) * factor;
    });
  }
};

// Sums of the losses and of the targets that count, by one block.
constexpr int kTotalThreads = 512;
struct Totals {
  double loss = 0;
  int64_t count = 0;
};
template <class T>
__global__ void __launch_bounds__(kTotalThreads) add_losses(const __grid_constant__ LossTotal call) {
  Totals own;
  const auto* losses = static_cast<const T*>(call.losses);
  for (int64_t i = threadIdx.x; i < call.rows; i += kTotalThreads) {
    own.loss += static_cast<double>(losses[i]);
    own.count += call.targets[i] != call.ignored;
  }
  join_block(own, static_cast<int>(threadIdx.x), kTotalThreads, c10::cuda::dynamic_shared<Totals>(),
             [](Totals& into, const Totals& from) {
               into.loss += from.loss;
               into.count += from.count;
             });
  if (threadIdx.x != 0) return;
  const auto count = static_cast<double>(own.count);
  if (call.loss != nullptr) store_as(call.loss, call.dtype, call.mean ? own.loss / count : own.loss);
  *static_cast<T*>(call.count) = static_cast<T>(count);
}

}  // namespace

constinit const RowsLaunchers kCrossEntropyRows = rows_launchers<CrossEntropy>();
constinit const RowsLaunchers kCrossEntropyBackwardRows = rows_launchers<CrossEntropyBackward>();

void add_losses(const LossTotal& call, bool doubles) {
  const c10::cuda::Launch shape{.grid = 1,
                                .block = kTotalThreads,
                                .shared_bytes = sizeof(Totals) * (kTotalThreads / 32),
                                .stream = c10::cuda::getCurrentCUDAStream()};
  if (doubles)
    c10::cuda::launch_or_throw("cross_entropy_loss", add_losses<double>, shape, call);
  else
    c10::cuda::launch_or_throw("cross_entropy_loss", add_losses<float>, shape, call);
}

}  // namespace at::cuda
