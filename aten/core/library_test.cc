#include "aten/core/library.h"

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

at::Tensor scale(const at::Tensor& x, double factor) { return at::mul(x, at::Scalar(factor)); }

std::tuple<at::Tensor, int64_t> describe(at::Tensor x, const std::string& name, std::optional<int64_t> extra, std::vector<int64_t> list) {
  return {x, static_cast<int64_t>(name.size()) + extra.value_or(0) + static_cast<int64_t>(list.size())};
}

at::Tensor seven_cpu(const at::Tensor& x) { return at::full(x.sizes(), 7, x.options()); }
at::Tensor seven_meta(const at::Tensor& x) { return at::empty_contiguous(x.sizes(), x.scalar_type(), x.device()); }
at::Tensor wrong(const at::Tensor& x, const at::Tensor&) { return x; }

TORCH_LIBRARY(mine, m) {
  m.def("scale(Tensor x, float factor=2.5) -> Tensor", &scale);
  m.def("describe", &describe);
  m.def("seven(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("seven", &seven_cpu); }
TORCH_LIBRARY_IMPL(mine, Meta, m) { m.impl("seven", &seven_meta); }

c10::OperatorHandle find(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

using c10::testing::message_of;

TEST(Library, DefinedOperatorsAreCalledByName) {
  c10::Stack stack{at::ones({2})};
  find("mine::scale").callBoxed(stack);
  EXPECT_EQ(stack[0].toTensor().data_ptr<float>()[1], 2.5f);
  const auto& typed = find("mine::scale").typed<at::Tensor(const at::Tensor&, double)>();
  EXPECT_EQ(typed(at::ones({2}), 3.0).data_ptr<float>()[0], 3.0f);
}

TEST(Library, TypesAreInferredFromTheFunction) {
  EXPECT_EQ(find("mine::describe").schema().str(),
            "mine::describe(Tensor _0, str _1, int? _2, int[] _3) -> (Tensor _0, int _1)");
  c10::Stack stack{at::ones({2}), "abc", c10::IValue(), c10::IValue(std::vector<int64_t>{1, 2})};
  find("mine::describe").callBoxed(stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[1].toInt(), 5);
}

TEST(Library, EachBackendHasItsKernel) {
  c10::Stack stack{at::ones({2})};
  find("mine::seven").callBoxed(stack);
  EXPECT_EQ(stack[0].toTensor().data_ptr<float>()[1], 7.0f);
  stack = {at::empty({3}, at::TensorOptions().device(at::kMeta))};
  find("mine::seven").callBoxed(stack);
  EXPECT_TRUE(stack[0].toTensor().is_meta());
}

TEST(Library, TypedCallsOfFactoriesGoByTheDevice) {
  using Empty = at::Tensor(at::IntArrayRef, at::TensorOptions, std::optional<at::MemoryFormat>);
  const auto empty = c10::Dispatcher::singleton().findSchemaOrThrow("aten::empty", "memory_format").typed<Empty>();
  EXPECT_TRUE(empty.call({2}, at::TensorOptions().device(at::kMeta), std::nullopt).is_meta());
  EXPECT_TRUE(empty.call({2}, at::TensorOptions(), std::nullopt).is_cpu());
}

using torch::Library;

Library fragment() { return Library(Library::FRAGMENT, "mine", std::nullopt, __FILE__, __LINE__); }
Library implementing(const char* ns, c10::DispatchKey key) { return Library(Library::IMPL, ns, key, __FILE__, __LINE__); }

float first(const at::Tensor& t) { return t.data_ptr<float>()[0]; }

TEST(Library, MistakesAreNamed) {
  Library library = fragment();
  EXPECT_NE(message_of([&] { library.def("scale(Tensor x) -> Tensor"); }).find("mine::scale is registered already"), std::string::npos);
  EXPECT_NE(message_of([&] { library.def("f(Tensr x) -> Tensor"); }).find("expected a type"), std::string::npos);
  EXPECT_EQ(message_of([&] { library.def("g(Tensor x, int factor) -> Tensor", &scale); }),
            "g(Tensor x, int factor) -> Tensor: argument 'factor' is int in the schema and float in the function");
  EXPECT_NE(message_of([&] { library.def("h(Tensor x) -> Tensor", &scale); }).find("the schema has 1 arguments, the function 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { library.impl("seven", &wrong); }).find("the schema has 1 arguments, the function 2"), std::string::npos);
  EXPECT_NE(message_of([&] { library.impl("other::seven", &seven_cpu); }).find("stands in the library mine"), std::string::npos);
  EXPECT_NE(message_of([&] { library.fallback(torch::CppFunction::makeFallthrough()); }).find("TORCH_LIBRARY_IMPL(_"), std::string::npos);
  EXPECT_NE(message_of([&] { implementing("mine", c10::DispatchKey::CPU).def("i(Tensor x) -> Tensor"); }).find("define in TORCH_LIBRARY"),
            std::string::npos);
  EXPECT_NE(message_of([&] { MAKE_TORCH_LIBRARY(mine); }).find("Only a single TORCH_LIBRARY can be used to register the namespace mine"),
            std::string::npos);
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema("mine::g", ""));
  EXPECT_NE(message_of([&] { find("mine::seven").typed<at::Tensor(const at::Tensor&, double)>(); }).find("wrong signature"),
            std::string::npos);
}

TEST(Library, AnyCallableIsAKernel) {
  struct Adds {
    double amount;
    at::Tensor operator()(const at::Tensor& x) const { return at::add(x, amount); }
  };
  Library library = fragment();
  const double two = 2;
  library.def("lambda", [](const at::Tensor& x) { return at::mul(x, 3); })
      .def("capturing(Tensor x) -> Tensor", [two](const at::Tensor& x) { return at::mul(x, two); })
      .def("functor", Adds{5})
      .def("keys(Tensor x) -> int", [](c10::DispatchKeySet keys, const at::Tensor&) { return static_cast<int64_t>(keys.raw()); })
      .def("by_value(Tensor x, int[] sizes) -> Tensor");
  implementing("mine", c10::DispatchKey::CPU);
  Library cpu = implementing("mine", c10::DispatchKey::CPU);
  cpu.impl("by_value", [](at::Tensor x, std::vector<int64_t> sizes) { return at::full(sizes, first(x), x.options()); });
  const at::Tensor x = at::ones({2});
  for (const auto& [name, value] : {std::pair<const char*, float>{"mine::lambda", 3}, {"mine::capturing", 2}, {"mine::functor", 6}}) {
    EXPECT_EQ(first(find(name).typed<at::Tensor(const at::Tensor&)>().call(x)), value) << name;
  }
  EXPECT_EQ(find("mine::keys").typed<int64_t(const at::Tensor&)>().call(x), c10::DispatchKeySet(c10::DispatchKey::CPU).raw());
  c10::Stack stack{x, std::vector<int64_t>{2, 3}};
  find("mine::by_value").callBoxed(stack);
  EXPECT_EQ(stack[0].toTensor().numel(), 6);
}

TEST(Library, RegistrationsAreTakenBack) {
  const auto call = [] { return first(find("mine::seven").typed<at::Tensor(const at::Tensor&)>().call(at::ones({1}))); };
  {
    Library first_library = implementing("mine", c10::DispatchKey::CPU);
    first_library.impl("seven", [](const at::Tensor& x) { return at::full(x.sizes(), 8, x.options()); });
    EXPECT_EQ(call(), 8);
    auto second = std::make_unique<Library>(implementing("mine", c10::DispatchKey::CPU));
    second->impl("seven", [](const at::Tensor& x) { return at::full(x.sizes(), 9, x.options()); });
    EXPECT_EQ(call(), 9);
    first_library.reset();  // not the one that is called
    EXPECT_EQ(call(), 9);
    second.reset();
  }
  EXPECT_EQ(call(), 7);
  Library library = fragment();
  library.def("gone", &seven_cpu);
  const c10::OperatorHandle gone = find("mine::gone");
  library.reset();
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema("mine::gone", ""));
  EXPECT_THROW(gone.typed<at::Tensor(const at::Tensor&)>().call(at::ones({1})), c10::Error);
}

TEST(Library, KernelsMayComeBeforeTheDefinition) {
  Library early = implementing("mine", c10::DispatchKey::CPU);
  early.impl("late", &seven_cpu);
  EXPECT_EQ(c10::Dispatcher::singleton().findDanglingImpls(), std::vector<std::string>{"mine::late"});
  Library library = fragment();
  library.def("late(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag});
  EXPECT_TRUE(find("mine::late").hasTag(at::Tag::pt2_compliant_tag));
  EXPECT_TRUE(find("mine::late").hasKernelForDispatchKey(c10::DispatchKey::CPU));
  EXPECT_FALSE(find("mine::late").hasKernelForDispatchKey(c10::DispatchKey::CUDA));
  EXPECT_EQ(first(find("mine::late").typed<at::Tensor(const at::Tensor&)>().call(at::ones({1}))), 7);
  EXPECT_TRUE(c10::Dispatcher::singleton().findDanglingImpls().empty());
}

TEST(Library, ListenersHear) {
  struct Listener final : c10::OpRegistrationListener {
    explicit Listener(std::vector<std::string>* heard) : heard(heard) {}
    void onOperatorRegistered(const c10::OperatorHandle& op) override { heard->push_back("+" + toString(op.operator_name())); }
    void onOperatorDeregistered(const c10::OperatorHandle& op) override { heard->push_back("-" + toString(op.operator_name())); }
    std::vector<std::string>* heard;
  };
  std::vector<std::string> heard;
  const auto handle = c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>(&heard));
  EXPECT_NE(std::find(heard.begin(), heard.end(), "+mine::scale"), heard.end());
  heard.clear();
  Library library = fragment();
  library.def("heard.out", &seven_cpu);
  library.reset();
  EXPECT_EQ(heard, (std::vector<std::string>{"+mine::heard.out", "-mine::heard.out"}));
}

// --- layers ---

std::vector<std::string> seen;

void see(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  seen.push_back(toString(op.operator_name()) + "/" + std::to_string(stack->size()));
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, keys.highestPriorityTypeId()), stack);
}

TEST(Layers, AFallbackSeesEveryOperator) {
  Library layer = implementing("_", c10::DispatchKey::Tracer);
  layer.fallback(torch::CppFunction::makeFromBoxedFunction<&see>());
  at::Tensor x = at::ones({2}), out = at::empty({2}), sum;
  seen.clear();
  {
    c10::IncludeDispatchKeyGuard on{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
    sum = at::add(x, x);
    EXPECT_TRUE(at::add_out(out, x, x).is_same(out));
    EXPECT_TRUE(at::mul_(x, 2).is_same(x));
    at::empty({3}, at::TensorOptions().dtype(at::kDouble), c10::MemoryFormat::Contiguous);
    c10::ExcludeDispatchKeyGuard off{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
    at::add(x, x);
  }
  at::add(x, x);
  EXPECT_EQ(seen, (std::vector<std::string>{"aten::add.Tensor/3", "aten::add.out/4", "aten::mul_.Scalar/2", "aten::empty.memory_format/6"}));
  EXPECT_EQ(first(sum), 2);
  EXPECT_EQ(first(out), 2);
  EXPECT_EQ(first(x), 2);
}

TEST(Layers, AnOperatorsOwnKernelComesFirstAndFallthroughPassesBy) {
  Library layer = implementing("_", c10::DispatchKey::Tracer);
  layer.fallback(torch::CppFunction::makeFromBoxedFunction<&see>());
  Library own = implementing("aten", c10::DispatchKey::Tracer);
  own.impl("add.Tensor", [](c10::DispatchKeySet keys, const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha) {
    seen.push_back("own");
    static const auto add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor")
                                .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>();
    return add.redispatch(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Tracer), a, b, alpha);
  });
  own.impl("mul.Tensor", torch::CppFunction::makeFallthrough());
  const at::Tensor x = at::ones({2});
  seen.clear();
  c10::IncludeDispatchKeyGuard on{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
  at::mul(at::add(x, x), x);
  EXPECT_EQ(seen, std::vector<std::string>{"own"});
}

TEST(Layers, ABackendWithoutAKernelIsAnErrorThatNamesIt) {
  const at::Tensor x = at::ones({2});
  const auto add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor")
                       .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>();
  const std::string text =
      message_of([&] { add.redispatch(c10::DispatchKeySet{c10::DispatchKey::CPU, c10::DispatchKey::SparseCPU}, x, x, 1); });
  EXPECT_NE(text.find("Could not run 'add.Tensor' with arguments from the 'SparseCPU' backend"), std::string::npos) << text;
  EXPECT_NE(text.find("//aten/ops/binary"), std::string::npos) << text;
  Library own = implementing("aten", c10::DispatchKey::SparseCPU);
  own.impl_UNBOXED("add.Tensor", [](const at::Tensor& a, const at::Tensor&, const at::Scalar&) { return at::full(a.sizes(), 42, a.options()); });
  EXPECT_EQ(first(add.redispatch(c10::DispatchKeySet{c10::DispatchKey::CPU, c10::DispatchKey::SparseCPU}, x, x, 1)), 42);
  EXPECT_EQ(first(at::add(x, x)), 2);
}

TEST(Layers, TheDispatcherCallsWhatAHandleCalls) {
  const at::Tensor x = at::ones({2});
  const c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const c10::OperatorHandle handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  const auto add = handle.typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>();
  EXPECT_EQ(first(dispatcher.call(add, x, x, 3)), 4);
  EXPECT_EQ(first(dispatcher.redispatch(add, c10::DispatchKeySet(c10::DispatchKey::CPU), x, x, 3)), 4);
  torch::jit::Stack stack{x, x, 5};
  dispatcher.callBoxed(handle, &stack);
  EXPECT_EQ(first(stack[0].toTensor()), 6);
  stack = {x, x, 5};
  dispatcher.redispatchBoxed(handle, c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  EXPECT_EQ(first(stack[0].toTensor()), 6);
}

TEST(Layers, AutogradOfOneBackend) {
  Library library = fragment();
  library.def("mine_grad(Tensor x) -> Tensor");
  Library cpu = implementing("mine", c10::DispatchKey::CPU);
  cpu.impl("mine_grad", &seven_cpu);
  Library gradient = implementing("mine", c10::DispatchKey::AutogradCPU);
  gradient.impl("mine_grad", [](const at::Tensor& x) {
    seen.push_back("autograd");
    c10::AutoDispatchBelowAutograd below;
    return find("mine::mine_grad").typed<at::Tensor(const at::Tensor&)>().call(x);
  });
  seen.clear();
  at::Tensor x = at::ones({2});
  const auto op = find("mine::mine_grad").typed<at::Tensor(const at::Tensor&)>();
  EXPECT_EQ(first(op.call(x)), 7);
  EXPECT_TRUE(seen.empty());
  x.unsafeGetTensorImpl()->set_autograd_key(true);
  EXPECT_EQ(first(op.call(x)), 7);
  x.unsafeGetTensorImpl()->set_autograd_key(false);
  EXPECT_EQ(seen, std::vector<std::string>{"autograd"});
}

TEST(Layers, AutocastActsOnItsOwnDevice) {
  Library layer = implementing("_", c10::DispatchKey::AutocastCUDA);
  layer.fallback(torch::CppFunction::makeFromBoxedFunction<&see>());
  seen.clear();
  c10::IncludeDispatchKeyGuard on{c10::DispatchKeySet(c10::DispatchKey::AutocastCUDA)};
  const at::Tensor x = at::ones({2});
  at::add(x, x);
  EXPECT_TRUE(seen.empty());
}

TEST(KeySet, IsASet) {
  using c10::DispatchKey;
  using c10::DispatchKeySet;
  const DispatchKeySet set{DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::Profiler};
  std::vector<std::string> names;
  for (DispatchKey key : set) names.push_back(toString(key));
  EXPECT_EQ(names, (std::vector<std::string>{"CPU", "Autograd", "Profiler"}));
  EXPECT_EQ(set.highestPriorityTypeId(), DispatchKey::Profiler);
  EXPECT_EQ((set & DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Autograd)), DispatchKeySet(DispatchKey::CPU));
  EXPECT_TRUE(DispatchKeySet(DispatchKeySet::FULL).isSupersetOf(set));
  EXPECT_EQ(DispatchKeySet().highestPriorityTypeId(), DispatchKey::Undefined);
  EXPECT_TRUE(DispatchKeySet(DispatchKey::CompositeImplicitAutograd).empty());
}

TEST(IValue, ListsNestedDeeplyAreFreedWithoutRecursion) {
  c10::IValue outer(std::vector<c10::IValue>{1});
  const c10::IValue innermost = outer;
  for (int i = 0; i < 500000; ++i) {
    std::vector<c10::IValue> next;
    next.push_back("text");
    next.push_back(std::move(outer));
    next.push_back(std::vector<c10::IValue>{2, 3});
    outer = c10::IValue(std::move(next));
  }
  const c10::IValue part = outer.toListRef()[1];
  outer = c10::IValue();
  EXPECT_EQ(part.toListRef()[2].toListRef()[1].toInt(), 3) << "what somebody else holds lives on";
  EXPECT_EQ(innermost.toListRef()[0].toInt(), 1);
}

}  // namespace
