#include "compile/cuda/group_compiler.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cuda/elementwise_call.h"
#include "aten/cuda/launch_shape.h"
#include "c10/core/device_guard.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/loaded_kernels.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"
#include "c10/util/small_vector.h"
#include "compile/cuda/group_source.h"
#include "compile/cuda/kernel_cache.h"

namespace torch::compiler::cuda {
namespace {

using Addresses = c10::SmallVector<char*, 32>;

constexpr int64_t kPiece = 16;  // bytes that are read together
// What functions of rows need: 16 bytes a warp.
constexpr size_t kSharedBytes = 16 * 8;

// The kernels' argument Shape.
class ShapeBytes {
 public:
  template <class T>
  void add(const T& value) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  void set_numel(uint32_t numel) { std::memcpy(bytes_.data(), &numel, sizeof numel); }
  size_t size() const { return bytes_.size(); }
  char* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_;
};

class CudaGroup : public DeviceGroup {
 public:
  CudaGroup(const Group& group, c10::Device device, int64_t most)
      : device_(device), source_(print_kernel(group)), most_(most) {
    for (const GroupInput& input : group.inputs) {
      constants_.push_back(input.constant.isNone() ? at::Tensor() : input.constant.toTensor());
    }
    outputs_ = group.outputs.size();
    if (source_.numel == 0) return;
    kernel(KernelForm::kVectors);
    shape_.add(uint32_t{0});
    shape_.add(static_cast<uint32_t>(source_.row));
    const bool placed = std::any_of(source_.operands.begin(), source_.operands.end(),
                                    [](const KernelOperand& operand) { return operand.placed; });
    if (!placed) return;
    for (size_t d = 0; d + 1 < source_.sizes.size(); ++d) {
      shape_.add(at::cuda::FastDivisor(static_cast<uint32_t>(std::min<int64_t>(source_.sizes[d], INT32_MAX))));
    }
    for (const KernelOperand& operand : source_.operands) {
      if (!operand.placed) continue;
      for (const int64_t stride : operand.strides) {
        source_.wide ? shape_.add(stride) : shape_.add(static_cast<int32_t>(stride));
      }
    }
  }

  void run(c10::ArrayRef<const void*> inputs, c10::ArrayRef<void*> outputs) const override {
    Addresses addresses;
    size_t given = 0;
    for (const at::Tensor& constant : constants_) {
      const void* const from = constant.defined() ? constant.const_data_ptr() : inputs.at(given++);
      addresses.push_back(static_cast<char*>(const_cast<void*>(from)));
    }
    TORCH_CHECK(given == inputs.size() && outputs.size() == outputs_, "a group with ", given, " inputs and ", outputs_,
                " outputs got ", inputs.size(), " and ", outputs.size());
    for (void* const to : outputs) addresses.push_back(static_cast<char*>(to));
    if (source_.numel == 0) return;
    const c10::DeviceGuard guard(device_);
    const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(device_.index());
    launch_parts(addresses, source_.sizes.size(), source_.numel, stream);
  }

  size_t bytes() const override { return sizeof(CudaGroup) + source_.operands.size() * 128 + source_.functions.size(); }

 private:
  // Compiled when it is first needed.
  const GroupKernel& kernel(KernelForm form) const {
    const auto i = static_cast<size_t>(form);
    std::call_once(once_[i], [&] { kernels_[i] = kernel_of(source_.functions + source_.kernels[i], device_.index()); });
    return *kernels_[i];
  }

  // Of the elements in the dimensions below `dims`, of which the last has `numel` over the size of those below it:
  // slices of that one where a launch may not have as many.
  void launch_parts(const Addresses& addresses, size_t dims, int64_t numel, c10::cuda::CUDAStream stream) const {
    if (numel <= most_) return launch(addresses, numel, stream);
    const size_t outer = dims - 1;
    int64_t inner = 1;
    for (size_t d = 0; d < outer; ++d) inner *= source_.sizes[d];
    // Of whole rows.
    const int64_t unit = source_.row > inner ? source_.row / inner : 1;
    const int64_t size = numel / inner, together = std::max(unit, most_ / inner / unit * unit);
    for (int64_t begin = 0; begin < size; begin += together) {
      Addresses part = addresses;
      for (size_t k = 0; k < part.size(); ++k) {
        part[k] += begin * source_.operands[k].strides[outer] * source_.operands[k].item;
      }
      const int64_t count = std::min(together, size - begin);
      const bool goes_on = together == 1 && inner > most_ && inner > source_.row;
      goes_on ? launch_parts(part, outer, inner, stream) : launch(part, inner * count, stream);
    }
  }

  void launch(const Addresses& addresses, int64_t numel, c10::cuda::CUDAStream stream) const {
    bool single = false, ordered = false;
    for (size_t k = 0; k < addresses.size(); ++k) {
      const KernelOperand& operand = source_.operands[k];
      const auto is_off = [&](int64_t count) {
        const auto bytes = static_cast<uintptr_t>(std::min(kPiece, count * operand.item));
        return reinterpret_cast<uintptr_t>(addresses[k]) % bytes != 0;
      };
      single = single || (operand.vector && is_off(source_.lanes));
      ordered = ordered || (operand.orders && is_off(source_.piece));
    }
    ShapeBytes shape = shape_;
    shape.set_numel(static_cast<uint32_t>(numel));
    c10::SmallVector<void*, 34> arguments;
    for (char* const& address : addresses) arguments.push_back(const_cast<char**>(&address));
    arguments.push_back(shape.data());
    arguments.push_back(nullptr);
    const GroupKernel& kernel = this->kernel(ordered  ? KernelForm::kOrdered
                                             : single ? KernelForm::kSingle
                                                      : KernelForm::kVectors);
    kernel.note_launch(device_.index(), c10::cuda::capture_status(stream) != c10::cuda::CaptureStatus::None);
    c10::cuda::Launch threads =
        at::cuda::shape_for(static_cast<uint32_t>(numel), static_cast<uint32_t>(single ? 1 : source_.lanes), stream);
    if (source_.row > 0) {
      const int64_t rows = numel / source_.row, together = at::cuda::kThreadsPerBlock / source_.threads_of_row;
      threads.grid = static_cast<uint32_t>((rows - 1) / together + 1);
      threads.shared_bytes = kSharedBytes;
    }
    c10::cuda::launch_or_throw("fused group", kernel.get(), threads, arguments.data());
  }

  c10::Device device_;
  KernelSource source_;
  int64_t most_;
  std::vector<at::Tensor> constants_;  // undefined: given to runs
  size_t outputs_ = 0;
  mutable std::once_flag once_[kKernelForms];
  mutable std::shared_ptr<const GroupKernel> kernels_[kKernelForms];
  ShapeBytes shape_;
};

class CudaGroupCompiler : public GroupCompiler {
 public:
  bool takes(const Lowered& lowered) const override { return prints(lowered); }
  std::unique_ptr<DeviceGroup> compile(const Group& group, c10::Device device) const override {
    return compile_group(group, device);
  }
};

const bool kRegistered = [] {
  static const CudaGroupCompiler compiler;
  register_group_compiler(c10::DeviceType::CUDA, compiler);
  return true;
}();

}  // namespace

std::unique_ptr<DeviceGroup> compile_group(const Group& group, c10::Device device, int64_t most) {
  return std::make_unique<CudaGroup>(group, device, most);
}

}  // namespace torch::compiler::cuda
