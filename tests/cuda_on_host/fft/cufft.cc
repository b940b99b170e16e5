#include <cuda_runtime_api.h>
#include <cufftXt.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "aten/cpu/fft/fft.h"
#include "c10/util/half.h"
#include "tests/cuda_on_host/fft/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cufft_standin {
namespace {

// Where the numbers of one side lie; those of a number's type.
struct Side {
  cudaDataType type = CUDA_C_32F;
  int64_t sizes[3] = {1, 1, 1}, embed[3] = {1, 1, 1};
  int64_t stride = 1, distance = 1;

  bool is_complex() const { return type == CUDA_C_16F || type == CUDA_C_32F || type == CUDA_C_64F; }
};

struct Plan {
  int device = 0;
  cudaStream_t stream = nullptr;
  bool makes_work_area = true, made = false;
  void* work_area = nullptr;
  size_t work_bytes = 0;
  int rank = 0;
  int64_t blocks = 0, last = 0;
  Side in, out;
};

struct State {
  std::mutex mutex;
  Options options;
  uint64_t calls = 0, plans_made = 0;
  int next = 1;
  std::map<int, Plan> plans;
};
State& state() {
  static State* const it = new State;  // threads may still be in a call when the process ends
  return *it;
}

cufftResult refuse(const char* call, const std::string& why, cufftResult status = CUFFT_INVALID_VALUE) {
  cuda_standin::report_misuse(std::string(call) + ": " + why);
  return status;
}

// body(plan) for a plan of the current device; nobody else may be in a call with it.
template <class F>
cufftResult with_plan(cufftHandle handle, const char* call, const F& body) {
  State& s = state();
  Plan* plan = nullptr;
  {
    const std::lock_guard lock(s.mutex);
    const auto number = static_cast<int64_t>(s.calls++);
    if (number == s.options.fail_call) return s.options.fail_with;
    const auto place = s.plans.find(handle);
    if (place != s.plans.end()) plan = &place->second;
  }
  if (plan == nullptr) return refuse(call, "a plan that is none, or was destroyed", CUFFT_INVALID_PLAN);
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return CUFFT_INTERNAL_ERROR;
  if (device != plan->device) return refuse(call, "the plan is another device's", CUFFT_INVALID_DEVICE);
  return body(*plan);
}

size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return 2;
    case CUDA_R_32F:
    case CUDA_C_16F:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

cudaDataType real_of(cudaDataType complex) {
  return complex == CUDA_C_16F ? CUDA_R_16F : complex == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F;
}

// Numbers from the first to behind the last one.
int64_t span(const Side& side, int rank, int64_t blocks) {
  int64_t last = 0;
  for (int d = 0; d < rank; ++d) last = last * (d == 0 ? 1 : side.embed[d]) + side.sizes[d] - 1;
  return last * side.stride + (blocks - 1) * side.distance + 1;
}

// f(place of a number, its index among the numbers of all blocks).
template <class F>
void for_each(const Side& side, int64_t blocks, const F& f) {
  int64_t index = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < side.sizes[0]; ++i) {
      for (int64_t j = 0; j < side.sizes[1]; ++j) {
        for (int64_t k = 0; k < side.sizes[2]; ++k)
          f(b * side.distance + ((i * side.embed[1] + j) * side.embed[2] + k) * side.stride, index++);
      }
    }
  }
}

template <class Stored, class T>
std::vector<T> gathered(const Side& side, int64_t blocks, const void* from) {
  const auto* data = static_cast<const Stored*>(from);
  std::vector<T> numbers(
      static_cast<size_t>(blocks * side.sizes[0] * side.sizes[1] * side.sizes[2] * (side.is_complex() ? 2 : 1)));
  for_each(side, blocks, [&](int64_t place, int64_t index) {
    if (side.is_complex()) {
      numbers[static_cast<size_t>(2 * index)] = static_cast<T>(data[2 * place]);
      numbers[static_cast<size_t>(2 * index + 1)] = static_cast<T>(data[2 * place + 1]);
    } else {
      numbers[static_cast<size_t>(index)] = static_cast<T>(data[place]);
    }
  });
  return numbers;
}

template <class Stored, class T>
void scatter(const Side& side, int64_t blocks, const std::vector<T>& numbers, void* to) {
  auto* data = static_cast<Stored*>(to);
  for_each(side, blocks, [&](int64_t place, int64_t index) {
    if (side.is_complex()) {
      data[2 * place] = static_cast<Stored>(numbers[static_cast<size_t>(2 * index)]);
      data[2 * place + 1] = static_cast<Stored>(numbers[static_cast<size_t>(2 * index + 1)]);
    } else {
      data[place] = static_cast<Stored>(numbers[static_cast<size_t>(index)]);
    }
  });
}

// Along dimension d of dense blocks whose complex numbers have `sizes`.
template <class T>
void along(int d, const Plan& p, const int64_t* sizes, at::cpu::fft::Kind kind, bool forward, const std::vector<T>& in,
           std::vector<T>& out) {
  const bool is_last = d == 2;
  int64_t inner = 1, outer = p.blocks;
  for (int k = d + 1; k < 3; ++k) inner *= sizes[k];
  for (int k = 0; k < d; ++k) outer *= sizes[k];
  const int64_t in_line = is_last ? p.in.sizes[2] : sizes[d], out_line = is_last ? p.out.sizes[2] : sizes[d];
  at::cpu::fft::Lines lines;
  lines.sizes = {outer, inner};
  lines.in_strides = {in_line * inner, 1};
  lines.out_strides = {out_line * inner, 1};
  lines.in_step = lines.out_step = inner;
  at::cpu::fft::transform<T>({kind, forward, is_last ? p.last : sizes[d], 1}, lines, in.data(), out.data());
}

template <class Stored, class T>
void compute(const Plan& p, const void* from, void* to, bool forward) {
  using at::cpu::fft::Kind;
  std::vector<T> in = gathered<Stored, T>(p.in, p.blocks, from);
  const int64_t* complex_sizes = p.in.is_complex() ? p.in.sizes : p.out.sizes;
  std::vector<T> out(
      static_cast<size_t>(p.blocks * p.out.sizes[0] * p.out.sizes[1] * p.out.sizes[2] * (p.out.is_complex() ? 2 : 1)));
  if (!p.out.is_complex()) {
    for (int d = 0; d < 2; ++d) along<T>(d, p, complex_sizes, Kind::kComplex, forward, std::vector<T>(in), in);
    const int64_t line = p.in.sizes[2];
    for (size_t i = 0; p.rank == 1 && i < in.size(); i += static_cast<size_t>(2 * line)) {
      if (in[i + 1] != 0 || (p.last % 2 == 0 && in[i + static_cast<size_t>(p.last) + 1] != 0))
        cuda_standin::report_misuse("cufftXtExec: imaginary parts of numbers that are real");
    }
    along<T>(2, p, complex_sizes, Kind::kHalfToReal, forward, in, out);
  } else {
    along<T>(2, p, complex_sizes, p.in.is_complex() ? Kind::kComplex : Kind::kRealToHalf, forward, in, out);
    for (int d = 1; d >= 0; --d) along<T>(d, p, complex_sizes, Kind::kComplex, forward, std::vector<T>(out), out);
  }
  scatter<Stored>(p.out, p.blocks, out, to);
}

void run(const Plan& p, void* in, void* out, bool forward) {
  std::memset(p.work_area, 0xFF, p.work_bytes);
  switch (p.in.is_complex() ? real_of(p.in.type) : p.in.type) {
    case CUDA_R_16F:
      compute<c10::Half, float>(p, in, out, forward);
      break;
    case CUDA_R_64F:
      compute<double, double>(p, in, out, forward);
      break;
    default:
      compute<float, float>(p, in, out, forward);
  }
  if (p.out.is_complex() || in == out) return;
  const auto item = bytes_of(p.in.type);
  for_each(p.in, p.blocks, [&](int64_t place, int64_t) {
    std::memset(static_cast<char*>(in) + static_cast<size_t>(place) * item, 0xFF, item);
  });
}

bool is_power_of_two(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

// One side of a plan as it was given; the sizes, the innermost dimension last of three.
Side side_of(int rank, const int64_t* sizes, const long long* embed, int64_t stride, int64_t distance,
             cudaDataType type) {
  Side side;
  side.type = type;
  int64_t dense = 1;
  for (int d = 0; d < rank; ++d) {
    side.sizes[3 - rank + d] = sizes[d];
    side.embed[3 - rank + d] = embed == nullptr ? sizes[d] : embed[d];
    dense *= sizes[d];
  }
  side.stride = embed == nullptr ? 1 : stride;
  side.distance = embed == nullptr ? dense : distance;
  return side;
}

// What is wrong with a side, "" if nothing.
std::string wrong(const Side& side, int rank, int64_t blocks) {
  if (side.stride < 1 || (blocks > 1 && side.distance < 1)) return "strides and distances must be positive";
  for (int d = 3 - rank + 1; d < 3; ++d) {
    if (side.embed[d] < side.sizes[d]) return "the memory of a block is smaller than the block";
  }
  return "";
}

}  // namespace

void reset(const Options& options) {
  const std::lock_guard lock(state().mutex);
  state().options = options;
  state().calls = state().plans_made = 0;
}
uint64_t calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
uint64_t plans_made() {
  const std::lock_guard lock(state().mutex);
  return state().plans_made;
}
size_t live_plans() {
  const std::lock_guard lock(state().mutex);
  return state().plans.size();
}

}  // namespace cufft_standin

using cufft_standin::Plan;
using cufft_standin::refuse;
using cufft_standin::Side;
using cufft_standin::state;
using cufft_standin::with_plan;

extern "C" {

cufftResult cufftCreate(cufftHandle* made) {
  if (made == nullptr) return CUFFT_INVALID_VALUE;
  Plan plan;
  if (cudaGetDevice(&plan.device) != cudaSuccess) return CUFFT_SETUP_FAILED;
  const std::lock_guard lock(state().mutex);
  const auto number = static_cast<int64_t>(state().calls++);
  if (number == state().options.fail_call) return state().options.fail_with;
  *made = state().next++;
  state().plans.emplace(*made, plan);
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().plans.erase(handle) == 1) return CUFFT_SUCCESS;
  }
  return refuse("cufftDestroy", "a plan that is none, or was destroyed", CUFFT_INVALID_PLAN);
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocate) {
  return with_plan(handle, "cufftSetAutoAllocation", [&](Plan& p) {
    if (p.made) return refuse("cufftSetAutoAllocation", "the plan was made before");
    p.makes_work_area = allocate != 0;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long* n, long long* in_embed, long long in_stride,
                                long long in_distance, cudaDataType in_type, long long* out_embed, long long out_stride,
                                long long out_distance, cudaDataType out_type, long long blocks, size_t* work_bytes,
                                cudaDataType execution_type) {
  const char* const call = "cufftXtMakePlanMany";
  return with_plan(handle, call, [&](Plan& p) {
    if (p.made) return refuse(call, "the plan was made before", CUFFT_INVALID_PLAN);
    if (p.makes_work_area) return refuse(call, "the stand-in makes no work area", CUFFT_NOT_IMPLEMENTED);
    if (rank < 1 || rank > 3 || n == nullptr || work_bytes == nullptr) return CUFFT_INVALID_VALUE;
    if (blocks < 1) return CUFFT_INVALID_SIZE;
    const bool known = execution_type == CUDA_C_16F || execution_type == CUDA_C_32F || execution_type == CUDA_C_64F;
    if (!known) return CUFFT_INVALID_TYPE;
    const cudaDataType real = cufft_standin::real_of(execution_type);
    const bool real_in = in_type == real, real_out = out_type == real;
    if ((in_type != execution_type && !real_in) || (out_type != execution_type && !real_out) || (real_in && real_out))
      return CUFFT_INVALID_TYPE;
    int64_t sizes[3];
    for (int d = 0; d < rank; ++d) {
      sizes[d] = n[d];
      if (n[d] < 1 || (execution_type == CUDA_C_16F && !cufft_standin::is_power_of_two(n[d])))
        return CUFFT_INVALID_SIZE;
    }
    int64_t half[3];
    std::copy_n(sizes, 3, half);
    half[rank - 1] = sizes[rank - 1] / 2 + 1;
    const Side in = cufft_standin::side_of(rank, real_out ? half : sizes, in_embed, in_stride, in_distance, in_type);
    const Side out =
        cufft_standin::side_of(rank, real_in ? half : sizes, out_embed, out_stride, out_distance, out_type);
    for (const Side* side : {&in, &out}) {
      if (const std::string why = cufft_standin::wrong(*side, rank, blocks); !why.empty()) return refuse(call, why);
      if (side->type == CUDA_R_16F && side->stride != 1) return CUFFT_NOT_SUPPORTED;
    }
    p.made = true;
    p.rank = rank;
    p.blocks = blocks;
    p.last = sizes[rank - 1];
    p.in = in, p.out = out;
    p.work_bytes = *work_bytes = 1000;
    const std::lock_guard lock(state().mutex);
    ++state().plans_made;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return with_plan(handle, "cufftSetStream", [&](Plan& p) {
    p.stream = stream;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* work_area) {
  return with_plan(handle, "cufftSetWorkArea", [&](Plan& p) {
    if (!p.made) return refuse("cufftSetWorkArea", "the plan was not made", CUFFT_INVALID_PLAN);
    p.work_area = work_area;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftXtExec(cufftHandle handle, void* in, void* out, int direction) {
  const char* const call = "cufftXtExec";
  return with_plan(handle, call, [&](Plan& p) {
    if (!p.made) return refuse(call, "the plan was not made", CUFFT_INVALID_PLAN);
    if (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
    if (p.in.is_complex() != p.out.is_complex() && direction != (p.in.is_complex() ? CUFFT_INVERSE : CUFFT_FORWARD))
      return refuse(call, "a transform of real numbers in the other direction");
    if (p.work_area == nullptr || !cuda_standin::device_accessible(p.work_area, p.work_bytes))
      return refuse(call, "the work area is not in the device's memory");
    const size_t in_item = cufft_standin::bytes_of(p.in.type), out_item = cufft_standin::bytes_of(p.out.type);
    const auto in_bytes = static_cast<size_t>(cufft_standin::span(p.in, 3, p.blocks)) * in_item;
    const auto out_bytes = static_cast<size_t>(cufft_standin::span(p.out, 3, p.blocks)) * out_item;
    if (in == nullptr || !cuda_standin::device_accessible(in, in_bytes))
      return refuse(call, "the input leaves the device's memory");
    if (out == nullptr || !cuda_standin::device_accessible(out, out_bytes))
      return refuse(call, "the output leaves the device's memory");
    const size_t number = std::max(in_item, out_item);
    if (reinterpret_cast<uintptr_t>(in) % number != 0 || reinterpret_cast<uintptr_t>(out) % number != 0)
      return refuse(call, "memory that is not aligned as complex numbers");
    const char *a = static_cast<char*>(in), *b = static_cast<char*>(out);
    if (a < b + out_bytes && b < a + in_bytes) {
      const bool same = in == out && p.in.type == p.out.type && p.in.stride == p.out.stride &&
                        (p.blocks == 1 || p.in.distance == p.out.distance) &&
                        std::equal(p.in.embed + 1, p.in.embed + 3, p.out.embed + 1);
      if (!same) return refuse(call, "the output overlaps the input, and is not the input");
    }
    const cudaError_t status = cuda_standin::enqueue(
        p.stream, call, [p, in, out, direction] { cufft_standin::run(p, in, out, direction == CUFFT_FORWARD); });
    return status == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
  });
}

}  // extern "C"
