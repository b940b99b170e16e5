#include "aten/core/custom_class.h"

#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using c10::IValue;
using c10::testing::message_of;

struct Stack : torch::CustomClassHolder {
  explicit Stack(std::vector<std::string> items) : items(std::move(items)) {}
  void push(std::string item) { items.push_back(std::move(item)); }
  std::string pop() {
    std::string item = items.back();
    items.pop_back();
    return item;
  }
  int64_t count() const noexcept { return static_cast<int64_t>(items.size()); }
  std::vector<std::string> items;
  int64_t limit = 10;
};

struct Counter : torch::CustomClassHolder {
  explicit Counter(int64_t start) : value(start) {}
  int64_t value;
};
struct Unregistered : torch::CustomClassHolder {};

struct Scale {
  at::Tensor operator()(const c10::intrusive_ptr<Counter>& self, const at::Tensor& x, at::IntArrayRef sizes) const {
    return at::full(sizes, at::Scalar(static_cast<double>(self->value)), x.options());
  }
};

int64_t total(const c10::intrusive_ptr<Stack>& stack, c10::intrusive_ptr<Counter> counter) { return stack->count() + counter->value; }
c10::intrusive_ptr<Counter> counter_of(int64_t value) { return c10::make_intrusive<Counter>(value); }

TORCH_LIBRARY(classes, m) {
  m.class_<Stack>("Stack")
      .def(torch::init<std::vector<std::string>>())
      .def("push", &Stack::push)
      .def("pop", &Stack::pop)
      .def("count", &Stack::count)
      .def("top", [](const c10::intrusive_ptr<Stack>& self, int64_t back) { return self->items.at(self->items.size() - 1 - back); }, "",
           {torch::arg("back") = 0})
      .def("clone", [](const c10::intrusive_ptr<Stack>& self) { return c10::make_intrusive<Stack>(self->items); })
      .def_readwrite("items", &Stack::items)
      .def_readonly("limit", &Stack::limit)
      .def_property("first", [](const c10::intrusive_ptr<Stack>& self) { return self->items.front(); },
                    [](const c10::intrusive_ptr<Stack>& self, std::string item) { self->items.front() = item; })
      .def_static("empty", [] { return c10::make_intrusive<Stack>(std::vector<std::string>()); })
      .def_pickle([](const c10::intrusive_ptr<Stack>& self) { return self->items; },
                  [](std::vector<std::string> items) { return c10::make_intrusive<Stack>(std::move(items)); });
  m.class_<Counter>("Counter").def(torch::init([](int64_t start) { return c10::make_intrusive<Counter>(2 * start); })).def("scale", Scale());
  m.def("total", &total);
  m.def("counter_of(int value) -> __torch__.torch.classes.classes.Counter", &counter_of);
}

IValue call(const IValue& self, const char* method, std::vector<IValue> arguments = {}) {
  arguments.insert(arguments.begin(), self);
  return self.toObject()->type()->getMethod(method)(std::move(arguments));
}

TEST(CustomClass, MethodsOfAllKinds) {
  const IValue stack = torch::make_custom_class<Stack>(std::vector<std::string>{"a"});
  EXPECT_TRUE(stack.isCustomClass());
  EXPECT_TRUE(c10::isCustomClass(stack));
  EXPECT_FALSE(IValue(1).isCustomClass());
  EXPECT_EQ(stack.type()->str(), "__torch__.torch.classes.classes.Stack");
  EXPECT_TRUE(call(stack, "push", {"b"}).isNone());
  EXPECT_EQ(call(stack, "count").toInt(), 2);
  EXPECT_EQ(call(stack, "top").toStringRef(), "b");
  EXPECT_EQ(call(stack, "top", {1}).toStringRef(), "a");
  EXPECT_EQ(call(stack, "pop").toStringRef(), "b");
  EXPECT_EQ(stack.toCustomClass<Stack>()->items, std::vector<std::string>{"a"});
  EXPECT_EQ(stack.to<c10::intrusive_ptr<Stack>>()->items.size(), 1u);
  EXPECT_FALSE(call(stack, "clone").is(stack));
  const IValue counter = torch::make_custom_class<Counter>(3);
  const at::Tensor t = call(counter, "scale", {at::ones({1}), std::vector<int64_t>{2}}).toTensor();
  EXPECT_EQ(t.data_ptr<float>()[1], 3.0f);
}

TEST(CustomClass, PropertiesStaticsAndSchemas) {
  const c10::ClassTypePtr type = torch::getCustomClass("__torch__.torch.classes.classes.Stack");
  ASSERT_NE(type, nullptr);
  const IValue stack = (*type->findStaticMethod("empty"))({});
  const auto items = type->getProperty("items");
  (*items->setter)({stack, std::vector<std::string>{"x", "y"}});
  EXPECT_EQ((*items->getter)({stack}).to<std::vector<std::string>>().size(), 2u);
  (*type->getProperty("first")->setter)({stack, "z"});
  EXPECT_EQ((*type->getProperty("first")->getter)({stack}).toStringRef(), "z");
  EXPECT_EQ((*type->getProperty("limit")->getter)({stack}).toInt(), 10);
  EXPECT_EQ(type->getProperty("limit")->setter, nullptr);
  EXPECT_EQ(type->getMethod("top").getSchema().str(), "top(__torch__.torch.classes.classes.Stack self, int back=0) -> str");
  EXPECT_EQ(type->getMethod("push").qualname(), "__torch__.torch.classes.classes.Stack.push");
}

TEST(CustomClass, ObjectsAreMadeByInitAndCopiedByTheirState) {
  const c10::ClassTypePtr type = torch::getCustomClass("__torch__.torch.classes.classes.Counter");
  const IValue made(c10::ivalue::Object::create(type, 1));
  call(made, "__init__", {4});
  EXPECT_EQ(made.toCustomClass<Counter>()->value, 8);
  EXPECT_THROW(made.deepcopy(), c10::Error);
  const IValue stack = torch::make_custom_class<Stack>(std::vector<std::string>{"a"});
  const IValue pair(c10::ivalue::Tuple::create(stack, stack));
  const IValue copy = pair.deepcopy();
  EXPECT_TRUE(copy.toTupleRef().elements()[0].is(copy.toTupleRef().elements()[1]));
  call(copy.toTupleRef().elements()[0], "push", {"b"});
  EXPECT_EQ(call(stack, "count").toInt(), 1);
}

TEST(CustomClass, OperatorsTakeAndGiveThem) {
  const auto handle = [](const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); };
  EXPECT_EQ(handle("classes::total").schema().str(),
            "classes::total(__torch__.torch.classes.classes.Stack _0, __torch__.torch.classes.classes.Counter _1) -> "
            "int _0");
  c10::Stack stack{torch::make_custom_class<Stack>(std::vector<std::string>{"a"}), torch::make_custom_class<Counter>(3)};
  handle("classes::total").callBoxed(stack);
  EXPECT_EQ(stack[0].toInt(), 4);
  stack = {IValue(5)};
  handle("classes::counter_of").callBoxed(stack);
  EXPECT_EQ(stack[0].toCustomClass<Counter>()->value, 5);
}

TEST(CustomClass, MistakesAreNamed) {
  const IValue stack = torch::make_custom_class<Stack>(std::vector<std::string>{"a"});
  EXPECT_EQ(message_of([&] { stack.toCustomClass<Counter>(); }),
            "Tried to convert an IValue of type __torch__.torch.classes.classes.Stack to custom class type "
            "__torch__.torch.classes.classes.Counter");
  EXPECT_NE(message_of([&] { torch::make_custom_class<Unregistered>(); }).find("Can't find class id"), std::string::npos);
  EXPECT_NE(message_of([&] { call(stack, "absent"); }).find("Couldn't find method: 'absent'"), std::string::npos);
  EXPECT_NE(message_of([&] { call(stack, "push"); }).find("missing argument '_1'"), std::string::npos);
  EXPECT_NE(message_of([&] { call(stack, "push", {"a", "b"}); }).find("expected at most 2 arguments, got 3"), std::string::npos);
  EXPECT_THROW(call(stack, "push", {1}), c10::TypeError);
  EXPECT_NE(message_of([] { torch::class_<Unregistered>("classes", "Stack"); }).find("already registered"), std::string::npos);
  EXPECT_NE(message_of([] { torch::class_<Unregistered>("classes", "No Name"); }).find("valid identifier"), std::string::npos);
  EXPECT_THROW(IValue(1).toCustomClass<Stack>(), c10::TypeError);
}

}  // namespace
