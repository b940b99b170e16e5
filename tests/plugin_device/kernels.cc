// The operators of the shadow device. A kernel asks the shape rule for its result (the same call with Meta tensors, which refuses bad
// arguments), allocates it and queues the work; a task sees the device's memory as CPU tensors.
#include <atomic>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "aten/core/cpu_fallback.h"
#include "aten/core/library.h"
#include "c10/core/device_guard.h"
#include "tests/plugin_device/shadow.h"

namespace shadow {
namespace {

using at::IntArrayRef;
using at::Scalar;
using at::Tensor, at::TensorOptions;
using Tensors = std::vector<Tensor>;

std::atomic<int64_t> g_own{0}, g_on_cpu{0};

// A tensor as a task needs it: its memory and how it lies there, whatever becomes of the tensor meanwhile.
struct Operand {
  at::Storage storage;
  std::function<Tensor()> tensor;
};
Operand operand(const Tensor& t) {
  const bool wrapped = t.unsafeGetTensorImpl()->is_wrapped_number();
  return {t.storage(), [=, data = t.data_ptr(), sizes = t.sizes().vec(), strides = t.strides().vec(), dtype = t.scalar_type()] {
            const Tensor on_cpu = at::from_blob(data, sizes, strides, TensorOptions(dtype));
            on_cpu.unsafeGetTensorImpl()->set_wrapped_number(wrapped);
            return on_cpu;
          }};
}

c10::Device device_of(const Tensors& tensors) {
  std::optional<c10::Device> device;
  for (const Tensor& t : tensors) {
    if (t.is_cpu() && t.dim() == 0) continue;
    if (!device.has_value()) device = t.device();
    TORCH_CHECK(t.device() == *device, "Expected all tensors to be on the same device, but found at least two devices, ", *device,
                " and ", t.device(), "!");
  }
  return *device;
}

// Runs task(tensors) on the current stream of `device`.
template <class Task>
void launch(c10::Device device, const Tensors& tensors, Task task) {
  ++g_own;
  std::vector<Operand> operands;
  for (const Tensor& t : tensors) operands.push_back(operand(t));
  push(current_stream(device.index()), [operands = std::move(operands), task = std::move(task)] {
    std::vector<const void*> blocks;
    for (const Operand& o : operands) blocks.push_back(o.storage.data());
    const Open open(std::move(blocks));
    Tensors on_cpu;
    for (const Operand& o : operands) on_cpu.push_back(o.tensor());
    task(on_cpu);
  });
}

Tensors shapes_of(const Tensors& tensors) {
  Tensors shapes;
  for (const Tensor& t : tensors) {
    shapes.push_back(t.is_cpu() ? t : at::empty_strided(t.sizes(), t.strides(), t.options().device(c10::kMeta)));
  }
  return shapes;
}

// A number that lives on the CPU is read now.
Tensors joined(const Tensor& first, Tensors rest) {
  for (Tensor& t : rest) {
    const bool wrapped = t.unsafeGetTensorImpl()->is_wrapped_number();
    if (t.is_cpu()) (t = at::clone(t)).unsafeGetTensorImpl()->set_wrapped_number(wrapped);
  }
  rest.insert(rest.begin(), first);
  return rest;
}

// A new tensor: f(inputs).
template <class F>
Tensor compute(const Tensors& inputs, F f) {
  const c10::Device device = device_of(inputs);
  const Tensor shape = f(shapes_of(inputs));
  const Tensor out = at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(device));
  launch(device, joined(out, inputs), [f](Tensors& t) { at::copy_(t[0], f(Tensors(t.begin() + 1, t.end()))); });
  return out;
}

// f(tensors) changes the first of them.
template <class F>
Tensor& change(Tensor& self, const Tensors& others, F f) {
  const Tensors all = joined(self, others);
  const c10::Device device = device_of(all);
  f(shapes_of(all));
  launch(device, all, [f](Tensors& t) { f(t); });
  return self;
}

// --- memory ---
Tensor empty(IntArrayRef size, TensorOptions options, std::optional<at::MemoryFormat> format) {
  ++g_own;
  const c10::DeviceGuard guard(options.device());
  return at::detail::empty_generic(size, c10::GetAllocator(c10::kPrivateUse1), c10::DispatchKey::PrivateUse1, options.scalar_type(),
                                   format.has_value() ? format : options.memory_format_opt());
}
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, TensorOptions options) {
  ++g_own;
  const c10::DeviceGuard guard(options.device());
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(c10::kPrivateUse1), c10::DispatchKey::PrivateUse1,
                                           options.scalar_type());
}

// Host memory that is not pinned is read, and written, before the call returns.
Tensor copy_from(const Tensor& self, const Tensor& dst, bool non_blocking) {
  const c10::Device device = self.is_cpu() ? dst.device() : self.device();
  const auto copy = [](Tensors& t) { at::copy_(t[0], t[1]); };
  const c10::Stream stream = current_stream(device.index());
  if (self.is_cpu() && non_blocking && !is_pinned(self.data_ptr())) {
    launch(device, {dst, at::clone(self)}, copy);
  } else {
    launch(device, {dst, self}, copy);
    const bool late = non_blocking && (!dst.is_cpu() || is_pinned(dst.data_ptr()));
    if (!late && (self.is_cpu() || dst.is_cpu())) wait(stream);
  }
  if (!dst.is_cpu() && dst.device() != device) wait_for(stream, current_stream(dst.device().index()));
  return dst;
}

Tensor& fill_(Tensor& self, const Scalar& value) {
  return change(self, {}, [value](Tensors t) { at::fill_(t[0], value); });
}
Tensor& zero_(Tensor& self) { return shadow::fill_(self, 0); }

// --- arithmetic ---
template <Tensor (*kFunction)(const Tensor&, const Tensor&, const Scalar&)>
Tensor scaled(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return compute({a, b}, [alpha](const Tensors& t) { return kFunction(t[0], t[1], alpha); });
}
template <Tensor (*kFunction)(const Tensor&, const Tensor&)>
Tensor binary(const Tensor& a, const Tensor& b) {
  return compute({a, b}, [](const Tensors& t) { return kFunction(t[0], t[1]); });
}
Tensor& add_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  return change(self, {other}, [alpha](Tensors t) { at::add_(t[0], t[1], alpha); });
}
Tensor& mul_(Tensor& self, const Tensor& other) {
  return change(self, {other}, [](Tensors t) { at::mul_(t[0], t[1]); });
}
template <Tensor (*kFunction)(const Tensor&)>
Tensor unary(const Tensor& self) {
  return compute({self}, [](const Tensors& t) { return kFunction(t[0]); });
}

// --- matrices and sums ---
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return compute({self, a, b}, [=](const Tensors& t) { return at::addmm(t[0], t[1], t[2], beta, alpha); });
}
Tensor sum(const Tensor& self, std::optional<at::ScalarType> dtype) {
  return compute({self}, [dtype](const Tensors& t) { return at::sum(t[0], dtype); });
}
Tensor sum_dim(const Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  std::optional<std::vector<int64_t>> dims;
  if (dim.has_value()) dims = std::vector<int64_t>(dim->begin(), dim->end());
  return compute({self}, [=](const Tensors& t) {
    return at::sum(t[0], dims.has_value() ? at::OptionalIntArrayRef(*dims) : at::OptionalIntArrayRef(), keepdim, dtype);
  });
}

// --- random numbers: drawn when they are asked for, so that the order of the streams does not matter ---
template <class F>
Tensor& draw(Tensor& self, const std::optional<at::Generator>& generator, F f) {
  Tensor numbers = at::empty_strided(self.sizes(), self.strides(), TensorOptions(self.scalar_type()));
  f(numbers, engine_of(generator, self.device()));
  copy_from(numbers, self, true);
  return self;
}
Tensor& normal_(Tensor& self, double mean, double std, std::optional<at::Generator> generator) {
  return draw(self, generator, [=](Tensor& t, at::Generator g) { at::normal_(t, mean, std, g); });
}
Tensor& uniform_(Tensor& self, double from, double to, std::optional<at::Generator> generator) {
  return draw(self, generator, [=](Tensor& t, at::Generator g) { at::uniform_(t, from, to, g); });
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("fill_.Scalar", &fill_);
  m.impl("zero_", &zero_);
  m.impl("add.Tensor", &scaled<&at::add>);
  m.impl("add_.Tensor", &add_);
  m.impl("sub.Tensor", &scaled<&at::sub>);
  m.impl("mul.Tensor", &binary<&at::mul>);
  m.impl("mul_.Tensor", &mul_);
  m.impl("div.Tensor", &binary<&at::div>);
  m.impl("neg", &unary<&at::neg>);
  m.impl("exp", &unary<&at::exp>);
  m.impl("tanh", &unary<&at::tanh>);
  m.impl("relu", &unary<&at::relu>);
  m.impl("mm", &binary<&at::mm>);
  m.impl("addmm", &addmm);
  m.impl("sum", &sum);
  m.impl("sum.dim_IntList", &sum_dim);
  m.impl("normal_", &normal_);
  m.impl("uniform_", &uniform_);
}

// --- all the rest, and a step of an optimizer that the library would compose of many operators ---
void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  ++g_on_cpu;
  at::native::cpu_fallback(op, stack);
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("_fused_adamw_", torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>()); }
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>()); }

}  // namespace

Counts counts() { return {g_own.load(), g_on_cpu.load()}; }

}  // namespace shadow
