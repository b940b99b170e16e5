#include "aten/cuda/elementwise.h"

#include <cstring>

#include "aten/cpu/elementwise.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/strided_loop.h"
#include "aten/cuda/loops/pieces.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

ElementLauncher launcher_for(const ElementKernels& kernels, ScalarType compute) {
  switch (compute) {
    case ScalarType::Float:
      return kernels.float32;
    case ScalarType::Double:
      return kernels.float64;
    case ScalarType::Int:
      return kernels.int32;
    case ScalarType::Long:
      return kernels.int64;
    case ScalarType::ComplexFloat:
      return kernels.complex64;
    case ScalarType::ComplexDouble:
      return kernels.complex128;
    case ScalarType::UInt64:
      return kernels.uint64;
    default:
      return nullptr;
  }
}

// Launches on the elements of `call` in the dimensions below `dims`, which may be too many for one launch; sizes[dims -
// 1] and below are those of the call.
void launch_parts(ElementLauncher launcher, ElementwiseCall& call, const int64_t* sizes, int dims, int64_t numel) {
  if (numel <= kMostElements) {
    call.dims = dims;
    call.numel = static_cast<uint32_t>(numel);
    for (int d = 0; d < dims; ++d) call.sizes[d] = FastDivisor(static_cast<uint32_t>(sizes[d]));
    launcher(call);
    return;
  }
  // Slices of the outermost dimension, as many together as are allowed.
  const int outer = dims - 1;
  const int64_t inner = numel / sizes[outer];
  const int64_t together = inner > kMostElements ? 1 : kMostElements / inner;
  ElementwiseCall part = call;
  int64_t part_sizes[kMaxElementwiseDims];
  std::memcpy(part_sizes, sizes, sizeof part_sizes);
  for (int64_t begin = 0; begin < sizes[outer]; begin += together) {
    part_sizes[outer] = std::min(together, sizes[outer] - begin);
    for (int k = 0; k <= call.inputs; ++k) {
      if (call.operands[k].data != nullptr)
        part.operands[k].data = call.operands[k].data + begin * call.operands[k].strides[outer];
    }
    launch_parts(launcher, part, part_sizes, inner > kMostElements ? outer : dims, inner * part_sizes[outer]);
  }
}

// A loop nest of the operands that are tensors.
void run(const char* name, ElementLauncher launcher, ElementwiseCall& call, const cpu::Operand* tensors,
         const int* places, int count) {
  const cpu::LoopNest nest(tensors, count);
  TORCH_CHECK(nest.dim() <= kMaxElementwiseDims, name, ": CUDA tensors of this layout leave ", nest.dim(),
              " dimensions when neighbours are merged; at most ", kMaxElementwiseDims, " are supported");
  int64_t sizes[kMaxElementwiseDims] = {};
  for (int d = 0; d < nest.dim(); ++d) sizes[d] = nest.size(d);
  for (int i = 0; i < count; ++i) {
    ElementwiseCall::Operand& operand = call.operands[places[i]];
    operand.data = nest.data(i);
    operand.contiguous = true;
    int64_t expected = tensors[i].item_size;
    for (int d = 0; d < nest.dim(); ++d) {
      operand.strides[d] = nest.byte_stride(i, d);
      operand.contiguous = operand.contiguous && operand.strides[d] == expected;
      expected *= sizes[d];
    }
  }
  launch_parts(launcher, call, sizes, nest.dim(), nest.numel());
}

}  // namespace

bool in_pieces(ElementwiseCall& call) {
  ElementwiseCall::Operand& out = call.operands[0];
  if (call.dims == 0 || call.sizes[0].divisor % kElementwisePiece != 0) return false;
  bool all_contiguous = true;
  for (int k = 0; k <= call.inputs; ++k) {
    ElementwiseCall::Operand& operand = call.operands[k];
    if (operand.data == nullptr) continue;
    const ScalarType dtype = operand.dtype;
    if (dtype != ScalarType::Float && dtype != ScalarType::Half && dtype != ScalarType::BFloat16) return false;
    const auto item = static_cast<int64_t>(c10::elementSize(dtype));
    const auto place = reinterpret_cast<uintptr_t>(operand.data);
    all_contiguous = all_contiguous && operand.contiguous && dtype == out.dtype;
    if (k > 0 && operand.strides[0] == 0) {
      operand.contiguous = false;
      continue;
    }
    if (operand.strides[0] != item || place % static_cast<uintptr_t>(kElementwisePiece * item) != 0) return false;
    for (int d = 1; d < call.dims; ++d) {
      if (operand.strides[d] % (kElementwisePiece * item) != 0) return false;
    }
    operand.contiguous = true;
    operand.strides[0] *= kElementwisePiece;
  }
  if (all_contiguous) return false;
  call.sizes[0] = FastDivisor(call.sizes[0].divisor / static_cast<uint32_t>(kElementwisePiece));
  return true;
}

FastDivisor::FastDivisor(uint32_t by) : divisor(by) {
  // shift = ceil(log2 by); multiplier = 2^32 * (2^shift - by) / by + 1. Exact for dividends below 2^31.
  while (shift < 32 && uint64_t{1} << shift < by) ++shift;
  multiplier = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift) - by) / by + 1);
}

void elementwise(const char* name, const ElementKernels& kernels, ScalarType compute, const void* params,
                 const TensorBase& out, pointwise::Inputs inputs) {
  const ElementLauncher launcher = launcher_for(kernels, compute);
  TORCH_CHECK_NOT_IMPLEMENTED(launcher != nullptr, "\"", name, "\" not implemented for '", compute,
                              "' on CUDA tensors");
  if (out.numel() == 0) return;
  TORCH_INTERNAL_ASSERT(inputs.size() <= kMaxElementwiseInputs);
  ElementwiseCall call{};
  call.name = name;
  call.inputs = static_cast<int>(inputs.size());
  call.compute = compute;
  if (params != nullptr) std::memcpy(call.params, params, sizeof call.params);
  cpu::Operand tensors[1 + kMaxElementwiseInputs];
  int places[1 + kMaxElementwiseInputs] = {0};
  tensors[0] = pointwise::operand_of(out);
  call.operands[0].dtype = out.scalar_type();
  int count = 1, place = 1;
  for (const pointwise::Input& in : inputs) {
    const TensorBase* t = in.tensor();
    if (t == nullptr || t->is_cpu()) {
      TORCH_CHECK(t == nullptr || t->numel() == 1, name,
                  ": of CPU tensors only those of one element go with CUDA tensors");
      const Scalar number = t == nullptr ? in.number() : pointwise::load_element(t->const_data_ptr(), t->scalar_type());
      const pointwise::Params stored(compute, {number});
      std::memcpy(call.numbers[place - 1], stored.get(), 16);
    } else {
      call.operands[place].dtype = t->scalar_type();
      tensors[count] = pointwise::operand_of(*t);
      places[count++] = place;
    }
    ++place;
  }
  run(name, launcher, call, tensors, places, count);
}

}  // namespace at::cuda
