#include "autograd/opcheck/opcheck.h"

#include "aten/core/library.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "gtest/gtest.h"

namespace torch::library {
namespace {

using at::Tensor;

Tensor double_meta(const Tensor& x) { return at::empty_like(x); }

struct DoubleRight : autograd::Function<DoubleRight> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return at::mul(x, 2); }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) { return {at::mul(grads[0], 2)}; }
};
struct DoubleWrong : autograd::Function<DoubleWrong> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return at::mul(x, 2); }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) { return {at::mul(grads[0], 3)}; }
};

TORCH_LIBRARY(planted, m) {
  m.def("composed(Tensor x) -> Tensor", [](const Tensor& x) { return at::mul(at::sin(x), 2); });
  m.def("right(Tensor x) -> Tensor");
  m.def("writes(Tensor x) -> Tensor");
  m.def("aliases(Tensor x) -> Tensor");
  m.def("same_results(Tensor x) -> (Tensor, Tensor)");
  m.def("not_itself(Tensor(a!) x) -> Tensor(a!)");
  m.def("no_autograd(Tensor x) -> Tensor");
  m.def("records_below(Tensor x) -> Tensor");
  m.def("no_meta(Tensor x) -> Tensor");
  m.def("meta_sizes(Tensor x) -> Tensor");
  m.def("meta_dtype(Tensor x) -> Tensor");
  m.def("meta_strides(Tensor x) -> Tensor");
  m.def("wrong_gradient(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(planted, CPU, m) {
  const auto twice = [](const Tensor& x) { return at::mul(x.detach(), 2); };
  for (const char* name : {"right", "no_autograd", "no_meta", "meta_sizes", "meta_dtype", "wrong_gradient"}) m.impl(name, twice);
  m.impl("meta_strides", [](const Tensor& x) { return at::t(at::clone(at::t(x.detach()), at::MemoryFormat::Contiguous)); });
  m.impl("writes", [](const Tensor& x) {
    Tensor y = x.detach();
    at::add_(y, 1);
    return at::clone(y);
  });
  m.impl("aliases", [](const Tensor& x) { return at::view(x.detach(), {-1}); });
  m.impl("same_results", [](const Tensor& x) {
    const Tensor y = at::clone(x.detach());
    return std::tuple<Tensor, Tensor>(y, at::view(y, {-1}));
  });
  m.impl("not_itself", [](Tensor x) { return at::clone(at::add_(x, 1)); });
  m.impl("records_below", [](const Tensor& x) { return DoubleRight::apply(x); });
}

TORCH_LIBRARY_IMPL(planted, Meta, m) {
  for (const char* name : {"right", "writes", "aliases", "no_autograd", "records_below", "wrong_gradient"}) m.impl(name, &double_meta);
  m.impl("meta_sizes", [](const Tensor& x) { return at::empty({1}, x.options()); });
  m.impl("meta_dtype", [](const Tensor& x) { return at::empty(x.sizes(), x.options().dtype(at::kFloat)); });
  m.impl("meta_strides", [](const Tensor& x) { return at::empty(x.sizes(), x.options()); });
}

TORCH_LIBRARY_IMPL(planted, Autograd, m) {
  for (const char* name : {"right", "no_meta", "meta_sizes", "meta_dtype", "meta_strides"}) {
    m.impl(name, [](const Tensor& x) { return DoubleRight::apply(x); });
  }
  m.impl("wrong_gradient", [](const Tensor& x) { return DoubleWrong::apply(x); });
}

std::map<std::string, std::string> check(const std::string& name, bool gradient = true) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("planted::" + name, "");
  Tensor x = at::arange(1, 7, at::TensorOptions().dtype(at::kDouble)).view({2, 3});
  x.requires_grad_(gradient);
  const auto results = opcheck(op, {x}, {"test_schema", "test_autograd_registration", "test_meta", "test_gradient"}, false);
  EXPECT_TRUE(at::arange(1, 7, at::TensorOptions().dtype(at::kDouble)).view({2, 3}).equal(x.detach()));
  return results;
}

TEST(Opcheck, FindsNothingWhereNothingIsWrong) {
  for (const char* name : {"composed", "right"}) {
    for (const auto& [test, result] : check(name)) EXPECT_EQ(result, "SUCCESS") << name << " " << test;
  }
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("planted::right", "");
  EXPECT_NO_THROW(opcheck(op, {at::ones({2}, at::TensorOptions().dtype(at::kDouble)).requires_grad_()}));
}

TEST(Opcheck, FindsEachPlantedMistake) {
  const struct {
    const char* op;
    const char* test;
    const char* text;
    bool gradient = true;
  } cases[] = {
      {"writes", "test_schema", "Argument x is not defined as mutable but was mutated"},
      {"aliases", "test_schema", "Result 0 is not defined to alias the argument x but does so"},
      {"same_results", "test_schema", "Results 0 and 1 alias each other unexpectedly"},
      {"not_itself", "test_schema", "Result 0 is not the argument x that was written to", false},
      {"no_autograd", "test_autograd_registration", "There is no kernel for Autograd"},
      {"records_below", "test_autograd_registration", "Its kernel for CPU records gradients"},
      {"no_meta", "test_meta", "There is no kernel for Meta"},
      {"meta_sizes", "test_meta", "has sizes [1], the real one [2, 3]"},
      {"meta_dtype", "test_meta", "is of dtype Float, the real one Double"},
      {"meta_strides", "test_meta", "has strides [3, 1], the real one [1, 2]"},
      {"wrong_gradient", "test_gradient", "autograd gives 3, the difference quotient 2"},
  };
  for (const auto& c : cases) {
    const std::string found = check(c.op, c.gradient).at(c.test);
    EXPECT_NE(found.find(c.text), std::string::npos) << c.op << ": " << found;
  }
}

TEST(Opcheck, ThrowsWithAllThatIsWrong) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("planted::no_autograd", "");
  try {
    opcheck(op, {at::ones({2}, at::TensorOptions().dtype(at::kDouble)).requires_grad_()});
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("opcheck(planted::no_autograd) failed"), std::string::npos);
  }
  EXPECT_THROW(opcheck(op, {}, {"test_nothing"}), c10::ValueError);
}

}  // namespace
}  // namespace torch::library
