// Operators of one's own: libraries, dispatch keys, kernels by dtype, parallel loops, classes.
#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/TensorUtils.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/cpu/Loops.h>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <atomic>
#include <iostream>
#include <numeric>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// y = x * x + c
torch::Tensor squares_cpu(const torch::Tensor& x, double c) {
  TORCH_CHECK(x.device().is_cpu(), "squares: x must be on the CPU");
  const auto in = x.contiguous();
  auto out = torch::empty_like(in);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, in.scalar_type(), "squares", [&] {
    const scalar_t* from = in.const_data_ptr<scalar_t>();
    scalar_t* to = out.mutable_data_ptr<scalar_t>();
    using accumulate_t = at::opmath_type<scalar_t>;
    at::parallel_for(0, in.numel(), 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const accumulate_t value = from[i];
        to[i] = static_cast<scalar_t>(value * value + static_cast<accumulate_t>(c));
      }
    });
  });
  return out;
}

torch::Tensor squares_meta(const torch::Tensor& x, double) {
  return torch::empty_like(x);
}

torch::Tensor squares(const torch::Tensor& x, double c) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("shapes_of_mine::squares", "").typed<decltype(squares)>();
  return op.call(x, c);
}

class Squares : public torch::autograd::Function<Squares> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, double c) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({x});
    ctx->saved_data["c"] = c;
    return squares(x, c);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * 2 * ctx->get_saved_variables()[0], torch::Tensor()};
  }
};

torch::Tensor squares_autograd(const torch::Tensor& x, double c) {
  return Squares::apply(x, c);
}

std::tuple<torch::Tensor, int64_t> counted(torch::TensorList list, std::optional<int64_t> start,
                                           c10::string_view name) {
  int64_t count = start.value_or(0);
  for (const auto& t : list) count += t.numel();
  return {torch::full({1}, static_cast<double>(name.size())), count};
}

torch::Tensor& doubled_(torch::Tensor& self) {
  return self.mul_(2);
}

struct Stack : torch::CustomClassHolder {
  std::vector<std::string> items;
  explicit Stack(std::vector<std::string> first) : items(std::move(first)) {}
  void push(std::string item) { items.push_back(std::move(item)); }
  std::string pop() {
    TORCH_CHECK(!items.empty(), "pop of an empty stack");
    auto item = items.back();
    items.pop_back();
    return item;
  }
  int64_t size() const { return static_cast<int64_t>(items.size()); }
  c10::intrusive_ptr<Stack> clone() const { return c10::make_intrusive<Stack>(items); }
};

std::string joined(const c10::intrusive_ptr<Stack>& stack, const std::string& between) {
  std::string text;
  for (const auto& item : stack->items) text += (text.empty() ? "" : between) + item;
  return text;
}

TORCH_LIBRARY(shapes_of_mine, m) {
  m.def("squares(Tensor x, float c=1.5) -> Tensor");
  m.def("counted(Tensor[] list, int? start=None, str name='abc') -> (Tensor, int)", counted);
  m.def("doubled_(Tensor(a!) self) -> Tensor(a!)");
  m.def("plain", [](int64_t a, double b, bool c) { return c ? static_cast<double>(a) + b : 0.0; });
  m.class_<Stack>("Stack")
      .def(torch::init<std::vector<std::string>>())
      .def("push", &Stack::push)
      .def("pop", &Stack::pop)
      .def("size", &Stack::size)
      .def("clone", &Stack::clone)
      .def("top", [](const c10::intrusive_ptr<Stack>& self) { return self->items.back(); })
      .def_pickle([](const c10::intrusive_ptr<Stack>& self) { return self->items; },
                  [](std::vector<std::string> state) { return c10::make_intrusive<Stack>(std::move(state)); });
  m.def("joined(__torch__.torch.classes.shapes_of_mine.Stack stack, str between=', ') -> str", joined);
}

TORCH_LIBRARY_IMPL(shapes_of_mine, CPU, m) {
  m.impl("squares", squares_cpu);
  m.impl("doubled_", TORCH_FN(doubled_));
}

TORCH_LIBRARY_IMPL(shapes_of_mine, Meta, m) {
  m.impl("squares", squares_meta);
}

TORCH_LIBRARY_IMPL(shapes_of_mine, Autograd, m) {
  m.impl("squares", squares_autograd);
}

void operators() {
  SHOW(squares(torch::tensor({1., 2.}), 1));
  SHOW(squares(torch::tensor({1., 2.}, torch::kHalf), 1));
  SHOW(squares(torch::empty({2, 3}, torch::kMeta), 1).sizes());
  auto x = torch::tensor({3., 4.}, torch::requires_grad());
  auto y = squares(x, 2);
  y.sum().backward();
  SHOW(x.grad());
  SHOW(y.requires_grad());
  REFUSED(squares(torch::tensor({1, 2}), 1));
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto op = dispatcher.findSchemaOrThrow("shapes_of_mine::squares", "");
  SHOW(op.schema());
  SHOW(op.schema().arguments().size());
  SHOW(op.schema().arguments()[1].name());
  SHOW(*op.schema().arguments()[1].default_value());
  SHOW(op.schema().arguments()[0].type()->str());
  SHOW(op.schema().returns()[0].type()->str());
  SHOW(op.operator_name());
  SHOW(op.hasSchema());
  torch::jit::Stack stack{torch::tensor({5.}), 0.5};
  op.callBoxed(stack);
  SHOW(stack.size());
  SHOW(stack[0]);
  const auto other = dispatcher.findSchemaOrThrow("shapes_of_mine::counted", "");
  SHOW(other.schema());
  torch::jit::Stack arguments;
  torch::jit::push(arguments, std::vector<torch::Tensor>{torch::ones({2}), torch::ones({3})}, c10::IValue(), "four");
  other.callBoxed(arguments);
  SHOW(arguments[0].toTensor());
  SHOW(arguments[1].toInt());
  SHOW(dispatcher.findSchemaOrThrow("shapes_of_mine::plain", "").schema());
  SHOW(dispatcher.findSchema({"shapes_of_mine::none", ""}).has_value());
  REFUSED(dispatcher.findSchemaOrThrow("shapes_of_mine::none", ""));
  auto z = torch::ones({2});
  dispatcher.findSchemaOrThrow("shapes_of_mine::doubled_", "").typed<torch::Tensor&(torch::Tensor&)>().call(z);
  SHOW(z);
}

void classes() {
  auto stack = c10::make_intrusive<Stack>(std::vector<std::string>{"a", "b"});
  const c10::IValue value(stack);
  SHOW(value.isObject());
  SHOW(value.isCustomClass());
  SHOW(value.type()->str());
  SHOW(value.toCustomClass<Stack>()->size());
  value.toCustomClass<Stack>()->push("c");
  SHOW(stack->size());
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("shapes_of_mine::joined", "");
  SHOW(op.schema());
  torch::jit::Stack arguments{value, "-"};
  op.callBoxed(arguments);
  SHOW(arguments[0].toStringRef());
  SHOW(torch::isCustomClass(value));
  REFUSED(stack->clone()->pop(), c10::make_intrusive<Stack>(std::vector<std::string>{})->pop());
}

void loops() {
  auto a = torch::arange(6, torch::kFloat).reshape({2, 3}), b = torch::tensor({10., 20., 30.}).to(torch::kFloat);
  auto out = torch::empty({0});
  auto iter = at::TensorIteratorConfig().add_output(out).add_const_input(a).add_const_input(b).build();
  at::native::cpu_kernel(iter, [](float x, float y) -> float { return x * 10 + y; });
  SHOW(iter.output());
  SHOW(iter.numel());
  SHOW(iter.ntensors());
  auto other = at::TensorIterator::borrowing_binary_op(out, a, b);
  at::native::cpu_kernel_vec(
      other, [](float x, float y) -> float { return x - y; },
      [](at::vec::Vectorized<float> x, at::vec::Vectorized<float> y) { return x - y; });
  SHOW(out);
  std::atomic<int64_t> sum{0};
  at::parallel_for(0, 1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  SHOW(sum.load());
  SHOW(at::parallel_reduce(
      0, 101, 7, int64_t{0},
      [](int64_t begin, int64_t end, int64_t start) {
        for (int64_t i = begin; i < end; ++i) start += i;
        return start;
      },
      std::plus<>()));
  SHOW(at::in_parallel_region());
  SHOW(at::divup(7, 2));
  REFUSED(at::parallel_for(0, 100, 1, [](int64_t begin, int64_t) {
    if (begin == 0) throw std::runtime_error("from a loop");
  }));
  AT_DISPATCH_ALL_TYPES(torch::kInt, "name", [&] { SHOW(sizeof(scalar_t)); });
  AT_DISPATCH_INDEX_TYPES(torch::kLong, "name", [&] { SHOW(sizeof(index_t)); });
  AT_DISPATCH_SWITCH(torch::kDouble, "name", AT_DISPATCH_CASE(torch::kDouble, [&] { SHOW(sizeof(scalar_t)); }));
  AT_DISPATCH_V2(torch::kHalf, "name", AT_WRAP([&] { SHOW(sizeof(scalar_t)); }), torch::kHalf,
                 AT_EXPAND(AT_FLOATING_TYPES));
  REFUSED(AT_DISPATCH_FLOATING_TYPES(torch::kInt, "of_mine", [&] { SHOW(sizeof(scalar_t)); }));
  REFUSED(AT_DISPATCH_ALL_TYPES_AND_COMPLEX(torch::kBool, "of_mine", [&] { SHOW(sizeof(scalar_t)); }));
}

void checks() {
  const auto t = torch::ones({2, 3});
  const auto turned = t.t(), whole = t.to(torch::kInt);
  const at::TensorArg arg{t, "t", 1};
  at::checkDim("here", arg, 2);
  at::checkSize("here", arg, {2, 3});
  REFUSED(at::checkDim("here", arg, 1));
  REFUSED(at::checkSize("here", arg, {2, 2}));
  REFUSED(at::checkSize("here", arg, 1, 4));
  REFUSED(at::checkScalarType("here", arg, torch::kInt));
  REFUSED(at::checkScalarTypes("here", arg, {torch::kInt, torch::kLong}));
  REFUSED(at::checkNumel("here", arg, 5));
  REFUSED(at::checkContiguous("here", at::TensorArg{turned, "u", 2}));
  REFUSED(at::checkSameType("here", arg, at::TensorArg{whole, "u", 2}));
  REFUSED(at::checkSameSize("here", arg, at::TensorArg{turned, "u", 2}));
  REFUSED(at::checkDimRange("here", arg, 3, 5));
  REFUSED(TORCH_CHECK(1 + 1 == 3, "sum ", 2, " of ", t.sizes()));
  REFUSED(TORCH_CHECK_INDEX(false, "index ", 3));
  REFUSED(TORCH_CHECK_TYPE(false, "type ", torch::kInt));
  REFUSED(TORCH_CHECK_NOT_IMPLEMENTED(false, "later"));
  REFUSED(AT_ERROR("plain ", 5));
  REFUSED(t.data_ptr<int>());
  REFUSED(t.accessor<float, 3>());
  REFUSED(t.accessor<double, 2>());
  SHOW(c10::str("a", 1, 2.5, torch::kCPU, t.sizes(), torch::kFloat));
  SHOW(c10::Join(", ", std::vector<int>{1, 2}));
  SHOW(c10::multiply_integers(t.sizes()));
  SHOW(at::sum_integers(std::vector<int64_t>{1, 2}));
  SHOW(c10::maybe_wrap_dim(-1, 3));
  SHOW(at::infer_size({2, 1}, {3}));
}

void run() {
  operators();
  classes();
  loops();
  checks();
}

}  // namespace

KINDLING_PROGRAM(extension, run);
