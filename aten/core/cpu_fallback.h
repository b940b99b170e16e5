#pragma once

#include "c10/core/dispatch_key_set.h"
#include "c10/dispatch/registry.h"

namespace at::native {

/// Runs an operator on the CPU for a device that has no kernel for it: copies the tensors among the arguments to the CPU, calls
/// the operator's kernel there, copies what it wrote into its arguments back and the results to the device. A backend registers
/// it, or a boxed function that calls it, for all operators:
///
///   void to_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }
///   TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&to_the_cpu>()); }
///
/// The device is that of the first argument on one, or the `device` argument of a factory. CPU tensors without dimensions go with
/// any device, and so do index lists. Throws c10::Error "Expected all tensors to be on the same device, but found at least two
/// devices, ..." for others, for a view (which must share the device's memory; `error_on_views` false gives a copy, as the
/// operator's result says) and for a generator of the device, whose numbers the CPU does not know.
void cpu_fallback(
    const c10::OperatorHandle& op,
    c10::Stack* stack,
    bool error_on_views = false,
    c10::DispatchKey cpu_dispatch_key = c10::DispatchKey::CPU);

}  // namespace at::native
