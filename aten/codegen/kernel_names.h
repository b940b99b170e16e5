#pragma once

namespace kindling {

// How a kernel gives its results.
enum class KernelCall {
  kFills,         // void f(arguments, Tensor& result...): into tensors that have the right sizes and dtype
  kReturns,       // it returns them
  kReturnsOnCpu,  // the same, with a last argument `true`: for tensors on the CPU
};

// The function of at::native that computes an operator for CPU tensors: "relu", family "activation", "relu_cpu". It is
// declared in aten/ops/<family>/kernels.h and takes the schema's arguments.
struct KernelName {
  const char* op;
  const char* family;
  const char* function;
  KernelCall call;
  bool element_wise;  // the result may be one of the inputs
};

// Those of all operators that have one, in the order of the tables.
inline constexpr KernelName kKernelNames[] = {
#include "aten/codegen/kernel_names.inc"
};

}  // namespace kindling
