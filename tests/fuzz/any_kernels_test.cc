// Operators with one kernel for all backends (ANY, COMPOSITE) touch no element: generated calls of all of them with tensors of a
// device whose memory nobody can read or write, and which has no kernels. A call gives a result or an error; it never reaches
// into the memory, which would end the process. The same calls also touch no element of Meta tensors.
//
//   bazel run //tests/fuzz:any_kernels_test -- --op='arange*'
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device_guard_impl.h"
#include "c10/dispatch/registry.h"
#include "c10/memory/allocator.h"
#include "c10/testing/flags.h"
#include "c10/util/exception.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/runner.h"

namespace fuzz {
namespace {

using at::Tensor;
using c10::IValue;

constexpr int kCallsEach = 60;
constexpr size_t kClosedBytes = size_t{1} << 36;

std::string g_ops = "*";

// All blocks are one closed range of addresses.
struct ClosedMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    TORCH_CHECK_WITH(OutOfMemoryError, n < kClosedBytes, "closed device: out of memory");
    static void* const memory = ::mmap(nullptr, kClosedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK(memory != MAP_FAILED, "no addresses left");
    return c10::DataPtr(memory, memory, raw_deleter(), c10::Device(c10::kPrivateUse1, 0));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &c10::delete_nothing; }
  void copy_data(void*, const void*, size_t) const override {}
};

struct OneDevice final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kPrivateUse1; }
  c10::Device getDevice() const override { return c10::Device(c10::kPrivateUse1, 0); }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, OneDevice);

// A tensor of the device that lies as `t` does.
Tensor on_device(const Tensor& t) {
  if (!t.is_cpu()) return t;
  const c10::Device device(c10::kPrivateUse1, 0);
  auto storage = c10::StorageImpl::allocate(t.storage().nbytes(), device);
  return Tensor(c10::TensorImpl::strided(std::move(storage), t.scalar_type(), device, t.sizes(), t.strides(), t.storage_offset()));
}

IValue on_device(const IValue& value) {
  if (value.isTensor()) return IValue(on_device(value.toTensor()));
  if (value.isDevice() && value.toDevice().is_cpu()) return IValue(c10::Device(c10::kPrivateUse1, 0));
  if (!value.isList()) return value;
  c10::impl::GenericList result(value.toList().elementType());
  for (const IValue& element : value.toListRef()) result.push_back(on_device(element));
  return IValue(std::move(result));
}

std::string call(const c10::OperatorHandle& op, uint64_t number) {
  c10::Stack stack = generate_call(op.schema(), 1, number);
  for (size_t i = 0; i < stack.size(); ++i) {
    stack[i] = on_device(stack[i]);
    if (stack[i].isNone() && op.schema().arguments()[i].shape().kind == c10::TypeKind::DeviceObjType) {
      stack[i] = IValue(c10::Device(c10::kPrivateUse1, 0));
    }
  }
  try {
    limit_memory();
    op.callBoxed(stack);
  } catch (const c10::Error& e) {
    const std::string text = e.what_without_backtrace();
    return text.find("INTERNAL ASSERT") == std::string::npos ? "" : text;
  }
  return "";
}

TEST(KernelsForAllBackends, TouchNoElement) {
  static ClosedMemory& memory = *new ClosedMemory;
  c10::SetAllocator(c10::kPrivateUse1, &memory);
  const Quiet quiet;
  std::vector<c10::OperatorHandle> ops;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const std::string& name : dispatcher.getAllOpNames()) {
    if (name.rfind("aten::", 0) != 0 || !matches(g_ops, name.substr(6))) continue;
    const size_t dot = name.find('.');
    ops.push_back(dispatcher.findSchemaOrThrow(name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)));
    const bool for_all = ops.back().op().kernels != c10::Kernels::kPerBackend;
    if (!for_all) ops.pop_back();
  }
  ASSERT_GE(ops.size(), g_ops == "*" ? 300u : 1u);
  const auto body = [&](int number) {
    return call(ops[static_cast<size_t>(number / kCallsEach)], static_cast<uint64_t>(number % kCallsEach));
  };
  for (const Finding& finding : run_isolated(0, static_cast<int>(ops.size()) * kCallsEach, 200, body)) {
    const c10::OperatorHandle& op = ops[static_cast<size_t>(finding.number / kCallsEach)];
    ADD_FAILURE() << op.schema().qualified_name() << ": " << finding.what << "\n"
                  << describe(op.schema(), generate_call(op.schema(), 1, static_cast<uint64_t>(finding.number % kCallsEach)));
  }
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const auto status = c10::testing::parse_flags(argc, argv, {{"op", &fuzz::g_ops}})) return *status;
  return RUN_ALL_TESTS();
}
