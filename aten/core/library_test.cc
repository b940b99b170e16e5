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
  EXPECT_EQ(find("mine::describe").schema().str(), "describe(Tensor _0, str _1, int? _2, int[] _3) -> (Tensor, int)");
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

TEST(Library, MistakesAreNamed) {
  using torch::Library;
  Library library(Library::Kind::kDefine, "mine", torch::LibraryKey::CompositeImplicitAutograd);
  EXPECT_NE(message_of([&] { library.def("scale(Tensor x) -> Tensor"); }).find("mine::scale is registered already"), std::string::npos);
  EXPECT_NE(message_of([&] { library.def("f(Tensr x) -> Tensor"); }).find("expected a type"), std::string::npos);
  EXPECT_EQ(message_of([&] { library.def("g(Tensor x, int factor) -> Tensor", &scale); }),
            "g(Tensor x, int factor) -> Tensor: argument 'factor' is int in the schema and float in the function");
  EXPECT_NE(message_of([&] { library.def("h(Tensor x) -> Tensor", &scale); }).find("the schema has 1 arguments, the function 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { library.impl("absent", &scale); }).find("there is no operator mine::absent"), std::string::npos);
  EXPECT_NE(message_of([&] { library.impl("seven", &wrong); }).find("C++ types differ"), std::string::npos);
  Library implement(Library::Kind::kImplement, "mine", torch::LibraryKey::CPU);
  EXPECT_NE(message_of([&] { implement.def("i(Tensor x) -> Tensor"); }).find("define in TORCH_LIBRARY"), std::string::npos);
}

}  // namespace
