#include "aten/cuda/fft/plan.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"

namespace at::cuda::fft {
namespace {

using c10::ScalarType;

const char* status_name(cufftResult status) {
  switch (status) {
#define KD_STATUS(name) \
  case name:            \
    return #name
    KD_STATUS(CUFFT_SUCCESS);
    KD_STATUS(CUFFT_INVALID_PLAN);
    KD_STATUS(CUFFT_ALLOC_FAILED);
    KD_STATUS(CUFFT_INVALID_TYPE);
    KD_STATUS(CUFFT_INVALID_VALUE);
    KD_STATUS(CUFFT_INTERNAL_ERROR);
    KD_STATUS(CUFFT_EXEC_FAILED);
    KD_STATUS(CUFFT_SETUP_FAILED);
    KD_STATUS(CUFFT_INVALID_SIZE);
    KD_STATUS(CUFFT_UNALIGNED_DATA);
    KD_STATUS(CUFFT_INVALID_DEVICE);
    KD_STATUS(CUFFT_NO_WORKSPACE);
    KD_STATUS(CUFFT_NOT_IMPLEMENTED);
    KD_STATUS(CUFFT_NOT_SUPPORTED);
    KD_STATUS(CUFFT_MISSING_DEPENDENCY);
#undef KD_STATUS
    default:
      return "unknown status";
  }
}

std::string describe(const Geometry& g) {
  const char* const kinds[] = {"complex to complex", "real to complex", "complex to real"};
  std::string sizes;
  for (int64_t d = 0; d < g.rank; ++d) sizes += (d == 0 ? "" : " x ") + std::to_string(g.sizes[d]);
  return c10::str(g.blocks, " transforms of ", sizes, " numbers, ", kinds[static_cast<int64_t>(g.kind)], ", ",
                  toString(static_cast<ScalarType>(g.real)));
}

void check(cufftResult status, const char* call, const Geometry& geometry) {
  if (C10_LIKELY(status == CUFFT_SUCCESS)) return;
  C10_CUDA_CLEAR_ERROR();
  TORCH_CHECK(false, "cuFFT error: ", status_name(status), " when calling `", call, "` for ", describe(geometry));
}

cudaDataType real_type(const Geometry& g) {
  switch (static_cast<ScalarType>(g.real)) {
    case ScalarType::Half:
      return CUDA_R_16F;
    case ScalarType::Double:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}
cudaDataType complex_type(const Geometry& g) {
  switch (static_cast<ScalarType>(g.real)) {
    case ScalarType::Half:
      return CUDA_C_16F;
    case ScalarType::Double:
      return CUDA_C_64F;
    default:
      return CUDA_C_32F;
  }
}

class Plan {
 public:
  explicit Plan(Geometry g) : geometry_(g) {
    check(cufftCreate(&handle_), "cufftCreate", g);
    try {
      check(cufftSetAutoAllocation(handle_, 0), "cufftSetAutoAllocation", g);
      long long sizes[3], in_embed[3], out_embed[3];
      for (int d = 0; d < 3; ++d) sizes[d] = g.sizes[d], in_embed[d] = g.in.embed[d], out_embed[d] = g.out.embed[d];
      const cudaDataType complex = complex_type(g), real = real_type(g);
      check(cufftXtMakePlanMany(handle_, static_cast<int>(g.rank), sizes, in_embed, g.in.stride, g.in.distance,
                                g.kind == Kind::kRealToHalf ? real : complex, out_embed, g.out.stride, g.out.distance,
                                g.kind == Kind::kHalfToReal ? real : complex, g.blocks, &work_bytes_, complex),
            "cufftXtMakePlanMany", g);
    } catch (...) {
      cufftDestroy(handle_);
      throw;
    }
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  // A graph goes on using what the plan has on the device.
  ~Plan() {
    if (!captured_) cufftDestroy(handle_);
  }

  void execute(void* in, void* out, bool forward) {
    const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
    captured_ |= c10::cuda::capture_status(stream) != c10::cuda::CaptureStatus::None;
    c10::DataPtr work;
    if (work_bytes_ != 0) work = c10::GetAllocator(c10::kCUDA)->allocate(work_bytes_);
    check(cufftSetStream(handle_, stream), "cufftSetStream", geometry_);
    if (work_bytes_ != 0) check(cufftSetWorkArea(handle_, work.get()), "cufftSetWorkArea", geometry_);
    check(cufftXtExec(handle_, in, out, forward ? CUFFT_FORWARD : CUFFT_INVERSE), "cufftXtExec", geometry_);
  }

 private:
  Geometry geometry_;
  cufftHandle handle_ = 0;
  size_t work_bytes_ = 0;
  bool captured_ = false;
};

std::string_view bytes_of(const Geometry& geometry) {
  return {reinterpret_cast<const char*>(&geometry), sizeof geometry};
}

// The plans of a device, the one used last in front. Whoever uses one holds the lock: a plan keeps its stream and work
// area between calls.
class Cache {
 public:
  std::mutex mutex;

  void execute(const Geometry& geometry, void* in, void* out, bool forward) {
    if (const auto place = by_bytes_.find(bytes_of(geometry)); place != by_bytes_.end()) {
      entries_.splice(entries_.begin(), entries_, place->second);
    } else {
      entries_.emplace_front(geometry);
      try {
        by_bytes_.emplace(bytes_of(entries_.front().geometry), entries_.begin());
      } catch (...) {
        entries_.pop_front();
        throw;
      }
    }
    // The plan that is in use stays until it has been used.
    shrink(std::max<size_t>(max_size_, 1));
    entries_.front().plan.execute(in, out, forward);
    shrink(max_size_);
  }
  size_t size() const { return entries_.size(); }
  size_t max_size() const { return max_size_; }
  void set_max_size(size_t max_size) {
    max_size_ = max_size;
    shrink(max_size);
  }
  void clear() { shrink(0); }

 private:
  struct Entry {
    explicit Entry(const Geometry& g) : geometry(g), plan(g) {}
    Geometry geometry;
    Plan plan;
  };
  void shrink(size_t count) {
    while (entries_.size() > count) {
      by_bytes_.erase(bytes_of(entries_.back().geometry));
      entries_.pop_back();
    }
  }

  size_t max_size_ = 4096;
  std::list<Entry> entries_;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_bytes_;
};

Cache& cache_of(c10::DeviceIndex device) {
  static Cache* const all = new Cache[C10_COMPILE_TIME_MAX_GPUS];  // work may be submitted until the process ends
  TORCH_CHECK(device < C10_COMPILE_TIME_MAX_GPUS, "cuFFT: no more than ", C10_COMPILE_TIME_MAX_GPUS,
              " devices are supported");
  return all[device];
}

Cache& checked_cache(int64_t device) {
  const int64_t count = c10::cuda::device_count();
  TORCH_CHECK(device >= 0 && device < count, "cufft_plan_cache: expected 0 <= device index < ", count,
              ", but got device with index ", device);
  return cache_of(static_cast<c10::DeviceIndex>(device));
}

}  // namespace

void execute(const Geometry& geometry, void* in, void* out, bool forward) {
  c10::cuda::SetTargetDevice();
  Cache& cache = cache_of(c10::cuda::current_device());
  const std::lock_guard lock(cache.mutex);
  cache.execute(geometry, in, out, forward);
}

int64_t plan_cache_size(int64_t device) {
  Cache& cache = checked_cache(device);
  const std::lock_guard lock(cache.mutex);
  return static_cast<int64_t>(cache.size());
}
int64_t plan_cache_max_size(int64_t device) {
  Cache& cache = checked_cache(device);
  const std::lock_guard lock(cache.mutex);
  return static_cast<int64_t>(cache.max_size());
}
void set_plan_cache_max_size(int64_t device, int64_t max_size) {
  Cache& cache = checked_cache(device);
  TORCH_CHECK(max_size >= 0, "cuFFT planCacheSize must be non-negative, but got ", max_size);
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const std::lock_guard lock(cache.mutex);
  cache.set_max_size(static_cast<size_t>(max_size));
}
void clear_plan_cache(int64_t device) {
  Cache& cache = checked_cache(device);
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const std::lock_guard lock(cache.mutex);
  cache.clear();
}

}  // namespace at::cuda::fft
