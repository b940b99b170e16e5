// The call path as a whole: generated functions, methods, in-place and out= forms, boxed calls, errors.

#include "aten/core/boxing.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace at {
namespace {

Tensor vector_of(std::initializer_list<float> values) {
  Tensor t = at::empty({static_cast<int64_t>(values.size())}, TensorOptions().dtype(kFloat));
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}

std::vector<float> values_of(const Tensor& t) {
  std::vector<float> values;
  for (int64_t i = 0; i < t.numel(); ++i) values.push_back(t.data_ptr<float>()[i]);
  return values;
}

using c10::testing::message_of;

TEST(Dispatch, FunctionMethodInPlaceAndOut) {
  const Tensor a = vector_of({1, 2, 3});
  const Tensor b = vector_of({10, 20, 30});
  EXPECT_EQ(values_of(at::add(a, b)), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(values_of(a.add(b, 2)), (std::vector<float>{21, 42, 63}));
  Tensor c = vector_of({1, 1, 1});
  const int64_t version = c._version();
  EXPECT_TRUE(c.add_(b).is_same(c));
  EXPECT_EQ(values_of(c), (std::vector<float>{11, 21, 31}));
  EXPECT_EQ(c._version(), version + 1);
  Tensor out = at::empty({0}, TensorOptions().dtype(kFloat));
  at::add_out(out, a, b);
  EXPECT_EQ(values_of(out), (std::vector<float>{11, 22, 33}));
}

TEST(Dispatch, OutMayBeAnInputOrOverlapOne) {
  Tensor storage = vector_of({1, 2, 3, 4});
  Tensor low = at::as_strided(storage, {3}, {1}, 0);
  Tensor high = at::as_strided(storage, {3}, {1}, 1);
  at::add_out(high, low, low);
  EXPECT_EQ(values_of(storage), (std::vector<float>{1, 2, 4, 6}));
  Tensor same = vector_of({1, 2});
  at::add_out(same, same, same);
  EXPECT_EQ(values_of(same), (std::vector<float>{2, 4}));
  // The result is larger than the input that is overwritten by it.
  Tensor row = vector_of({1, 2});
  Tensor column = at::view(vector_of({10, 20}), {2, 1});
  at::add_out(row, row, column);
  EXPECT_EQ(values_of(row), (std::vector<float>{11, 12, 21, 22}));
}

TEST(Dispatch, InPlaceErrorsLeaveTheTensorAlone) {
  Tensor a = vector_of({1, 2});
  const Tensor wide = at::view(vector_of({1, 2, 3, 4}), {2, 2});
  EXPECT_EQ(message_of([&] { a.add_(wide); }), "output with shape [2] doesn't match the broadcast shape [2, 2]");
  Tensor integers = at::empty({2}, TensorOptions().dtype(kLong));
  EXPECT_EQ(message_of([&] { integers.add_(a); }), "result type Float can't be cast to the desired output type Long");
  Tensor expanded = at::expand(vector_of({1}), {3});
  EXPECT_NE(message_of([&] { expanded.add_(vector_of({1, 2, 3})); }).find("more than one element of the written-to tensor"),
            std::string::npos);
  EXPECT_EQ(values_of(a), (std::vector<float>{1, 2}));
}

TEST(Dispatch, MetaTensorsHaveNoData) {
  const Tensor a = at::empty({2, 1}, TensorOptions().dtype(kFloat).device(kMeta));
  const Tensor b = at::empty({3}, TensorOptions().dtype(kDouble).device(kMeta));
  const Tensor c = at::add(a, b);
  EXPECT_TRUE(c.is_meta());
  EXPECT_EQ(c.sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(c.scalar_type(), kDouble);
}

TEST(Dispatch, InferenceTensorsAreReadOnlyOutside) {
  Tensor made_inside;
  {
    c10::InferenceMode inference;
    made_inside = vector_of({1});
    made_inside.add_(made_inside);
  }
  EXPECT_NE(message_of([&] { made_inside.add_(made_inside); }).find("Inplace update to inference tensor outside InferenceMode"),
            std::string::npos);
}

// --- a function for CPU tensors beside one for everything else ---

int on_cpu(const Tensor&) { return 1; }
int composed(const Tensor&) { return 2; }
int special(const Tensor&) { return 3; }
constinit c10::Operator<int(const Tensor&)> both{
    "both", "test", c10::Kernels::kAny, c10::Differentiation::kRecord,
    {.cpu = &on_cpu, .cuda = &composed, .meta = &composed, .autograd = &composed, .forward = &composed}};

TEST(Dispatch, TheFunctionForTheCpuTakesPlainCallsOnly) {
  using c10::DispatchKey;
  using c10::DispatchKeySet;
  using c10::detail::get_function;
  using c10::detail::set_function;
  const Tensor plain = vector_of({1}), recorded = vector_of({1});
  recorded.unsafeGetTensorImpl()->set_autograd_key(true);
  const Tensor meta = at::empty({1}, TensorOptions().device(kMeta));
  const auto check = [&] {
    EXPECT_EQ(both(plain), 1);
    EXPECT_EQ(both(meta), 2);
    EXPECT_EQ(both(recorded), 2);
    EXPECT_EQ(both.redispatch(DispatchKeySet(DispatchKey::CPU), plain), 1);
    EXPECT_EQ(both.redispatch(DispatchKeySet{DispatchKey::CPU, DispatchKey::ForwardAD}, plain), 2);
    for (const DispatchKey key : {DispatchKey::CUDA, DispatchKey::QuantizedCPU, DispatchKey::PrivateUse1}) {
      EXPECT_EQ(both.redispatch(DispatchKeySet(key), plain), 2) << toString(key);
    }
    // Other layouts have kernels of their own or none.
    EXPECT_THROW(both.redispatch(DispatchKeySet(DispatchKey::SparseCPU), plain), c10::NotImplementedError);
    EXPECT_THROW(both.redispatch(DispatchKeySet(DispatchKey::NestedTensorCPU), plain), c10::NotImplementedError);
    const c10::AutoGradMode off(false);
    EXPECT_EQ(both(recorded), 1);
  };
  check();
  EXPECT_EQ(get_function(both, DispatchKey::CPU), reinterpret_cast<c10::detail::ErasedFunction>(&on_cpu));
  EXPECT_EQ(get_function(both, DispatchKey::Meta), nullptr);
  EXPECT_EQ(get_function(both, DispatchKey::CompositeExplicitAutograd), reinterpret_cast<c10::detail::ErasedFunction>(&composed));
  // The same once other kernels were registered and taken away.
  const auto function = reinterpret_cast<c10::detail::ErasedFunction>(&special);
  set_function(both, DispatchKey::SparseCPU, function);
  EXPECT_EQ(both.redispatch(DispatchKeySet(DispatchKey::SparseCPU), plain), 3);
  EXPECT_EQ(both(plain), 1);
  set_function(both, DispatchKey::SparseCPU, nullptr);
  check();
  EXPECT_EQ(get_function(both, DispatchKey::CPU), reinterpret_cast<c10::detail::ErasedFunction>(&on_cpu));
  set_function(both, DispatchKey::CPU, function);
  EXPECT_EQ(both(plain), 3);
  EXPECT_EQ(both(meta), 2);
  set_function(both, DispatchKey::CPU, nullptr);
  EXPECT_EQ(both(plain), 2);
}

TEST(Dispatch, BoxedCallsByName) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const Tensor a = vector_of({1, 2, 3});
  const c10::OperatorHandle add = dispatcher.findSchemaOrThrow("aten::add", "Tensor");
  EXPECT_EQ(add.schema().arguments()[2].name(), "alpha");
  c10::Stack stack{a, a};
  add.callBoxed(stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(values_of(stack[0].toTensor()), (std::vector<float>{2, 4, 6}));

  // In place: the result is the argument.
  Tensor target = vector_of({1, 1, 1});
  stack = {target, a, 10};
  dispatcher.findSchemaOrThrow("aten::add_", "Tensor").callBoxed(stack);
  EXPECT_TRUE(stack[0].toTensor().is_same(target));
  EXPECT_EQ(values_of(target), (std::vector<float>{11, 21, 31}));

  // Factories: dtype, layout, device and pin_memory are four arguments.
  stack = {c10::IValue(std::vector<int64_t>{2, 3}), c10::IValue(kDouble)};
  dispatcher.findSchemaOrThrow("aten::zeros", "").callBoxed(stack);
  EXPECT_EQ(stack[0].toTensor().sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(stack[0].toTensor().scalar_type(), kDouble);

  // Lists of tensors as results.
  stack = {a, 1, 0};
  dispatcher.findSchemaOrThrow("aten::split", "Tensor").callBoxed(stack);
  EXPECT_EQ(stack[0].toTensorVector().size(), 3u);

  EXPECT_EQ(add.typed<Tensor(const Tensor&, const Tensor&, const Scalar&)>().call(a, a, 1).numel(), 3);
}

TEST(Dispatch, BoxedErrorsNameTheOperatorAndTheArgument) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const c10::OperatorHandle add = dispatcher.findSchemaOrThrow("aten::add", "Tensor");
  const Tensor a = vector_of({1});
  c10::Stack stack{a, 1};
  EXPECT_EQ(message_of([&] { add.callBoxed(stack); }), "add.Tensor(): argument 1: Expected Tensor but got Int");
  stack = {a};
  EXPECT_EQ(message_of([&] { add.callBoxed(stack); }), "add.Tensor(): missing argument 'other'");
  stack = {a, a, 1, 2};
  EXPECT_EQ(message_of([&] { add.callBoxed(stack); }), "add.Tensor(): expected at most 3 arguments, got 4");
  const std::string nothing = message_of([&] { dispatcher.findSchemaOrThrow("aten::nothing", "x"); });
  EXPECT_NE(nothing.find("Could not find schema for aten::nothing.x."), std::string::npos);
}

}  // namespace
}  // namespace at
