#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "gtest/gtest.h"
#include "stable/accelerator.h"
#include "stable/conversions.h"
#include "stable/library.h"
#include "stable/ops.h"
#include "stable/version.h"

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using torch::stable::detail::from;
using torch::stable::detail::to;
using torch::stable::detail::unwrap;

// --- Operators of a library ---
Tensor scale(const Tensor& x, double factor) {
  Tensor result = torch::stable::empty_like(x);
  THO_DISPATCH_SWITCH(x.scalar_type(), "scale", THO_DISPATCH_CASE(ScalarType::Float, [&] {
                        const scalar_t* in = x.const_data_ptr<scalar_t>();
                        scalar_t* out = result.mutable_data_ptr<scalar_t>();
                        for (int64_t i = 0; i < x.numel(); ++i) out[i] = static_cast<scalar_t>(in[i] * factor);
                      }));
  return result;
}
void add_one_(Tensor& x) {
  torch::stable::parallel_for(0, x.numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x.mutable_data_ptr<float>()[i] += 1;
  });
}
std::tuple<int64_t, std::string, std::vector<Tensor>> everything(
    bool flag, int64_t count, ScalarType dtype, torch::stable::Device device, const std::string& text,
    std::string_view view, torch::headeronly::IntHeaderOnlyArrayRef sizes, const std::vector<double>& numbers,
    std::vector<Tensor> tensors, std::optional<int64_t> none, std::optional<Tensor> some,
    std::optional<torch::headeronly::IntHeaderOnlyArrayRef> dims, std::optional<std::string> maybe,
    std::vector<std::string> words, torch::stable::Generator generator, int32_t small) {
  std::string all = std::string(flag ? "yes" : "no") + " " + std::to_string(static_cast<int>(dtype)) +
                    (device.is_cpu() && !device.has_index() ? " cpu " : " other ") + text + std::string(view);
  for (const int64_t size : sizes) all += " " + std::to_string(size);
  for (const double number : numbers) all += " " + std::to_string(static_cast<int>(number * 2));
  all += none.has_value() ? " some" : " none";
  all += " " + std::to_string(some->numel()) + " " + std::to_string(dims->size()) + " " + *maybe + words.at(1);
  all += generator.device().is_cpu() ? " drawn" : "";
  tensors.push_back(*some);
  return {count + small, all, tensors};
}
void boxed_by_hand(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
  STD_TORCH_CHECK(num_args == 2 && num_outputs == 2, "expected two arguments and results");
  const auto x = to<Tensor>(stack[0]);
  const auto y = to<std::optional<Tensor>>(stack[1]);
  stack[0] = from(y.has_value() ? *y : x);
  stack[1] = from(y.has_value() ? std::optional<Tensor>() : std::optional<Tensor>(x));
}
Tensor fails(const Tensor& x) {
  STD_TORCH_CHECK(x.dim() == 7, "expected 7 dimensions, but got ", x.dim());
  return x;
}
Tensor number(const Tensor& x, const Tensor&) { return x; }

STABLE_TORCH_LIBRARY(stable_test, m) {
  m.def("scale(Tensor x, float factor) -> Tensor", {at::Tag::pointwise});
  m.def("add_one_(Tensor(a!) x) -> ()");
  m.def(
      "everything(bool flag, int count, ScalarType dtype, Device device, str text, str view, int[] sizes, float[] numbers, "
      "Tensor[] tensors, int? none, Tensor? some, int[]? dims, str? maybe, str[] words, Generator generator, int small) -> "
      "(int, str, Tensor[])");
  m.def("by_hand(Tensor x, Tensor? y) -> (Tensor, Tensor?)");
}
STABLE_TORCH_LIBRARY_FRAGMENT(stable_test, m) {
  m.def("fails(Tensor x) -> Tensor");
  m.def("number(Tensor x, Scalar y) -> Tensor");
  m.def("twice(Tensor x) -> Tensor").def("pair(Tensor x) -> (Tensor, Tensor)");
}
STABLE_TORCH_LIBRARY_IMPL(stable_test, CompositeExplicitAutograd, m) {
  m.impl("everything", TORCH_BOX(&everything)).impl("by_hand", &boxed_by_hand).impl("fails", TORCH_BOX(&fails));
}
STABLE_TORCH_LIBRARY_IMPL(stable_test, CPU, m) {
  m.impl("scale", TORCH_BOX(&scale));
  m.impl("add_one_", TORCH_BOX(&add_one_));
  m.impl("number", TORCH_BOX(&number));
  m.impl("pair", TORCH_BOX(&fails));
}

c10::Stack call(const char* name, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
  return stack;
}
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}
at::Tensor list(std::vector<float> values) { return at::tensor(values); }

TEST(StableLibrary, OperatorsAreCallableByName) {
  EXPECT_TRUE(at::equal(call("stable_test::scale", {list({1, 2, 3}), 2.0})[0].toTensor(), list({2, 4, 6})));
  at::Tensor x = list({1, 2});
  EXPECT_TRUE(call("stable_test::add_one_", {x}).empty());
  EXPECT_TRUE(at::equal(x, list({2, 3})));
  EXPECT_TRUE(c10::Dispatcher::singleton().findSchemaOrThrow("stable_test::scale", "").hasTag(at::Tag::pointwise));
  const at::Tensor y = list({5});
  const c10::Stack first = call("stable_test::by_hand", {x, y}), second = call("stable_test::by_hand", {x, c10::IValue()});
  EXPECT_TRUE(first[0].toTensor().is_same(y));
  EXPECT_TRUE(first[1].isNone());
  EXPECT_TRUE(second[0].toTensor().is_same(x));
  EXPECT_TRUE(second[1].toTensor().is_same(x));
}

TEST(StableLibrary, ArgumentsOfAllTypes) {
  const at::Tensor a = list({1}), b = list({1, 2, 3});
  const c10::Stack results = call(
      "stable_test::everything",
      {true, int64_t{40}, ScalarType::Half, at::Device(at::kCPU), "te", "xt", std::vector<int64_t>{3, -4},
       std::vector<double>{0.5, 1.5}, std::vector<at::Tensor>{a, a}, c10::IValue(), b, std::vector<int64_t>{1, 2, 3}, "may",
       std::vector<std::string>{"x", "be"}, at::detail::createCPUGenerator(1), int64_t{-2}});
  EXPECT_EQ(results[0].toInt(), 38);
  EXPECT_EQ(results[1].toStringRef(), "yes 5 cpu text 3 -4 1 3 none 3 3 maybe drawn");
  ASSERT_EQ(results[2].toTensorVector().size(), 3u);
  EXPECT_TRUE(results[2].toTensorVector()[1].is_same(a));
  EXPECT_TRUE(results[2].toTensorVector()[2].is_same(b));
}

TEST(StableLibrary, Errors) {
  const at::Tensor x = list({1});
  EXPECT_NE(error_of([&] { call("stable_test::fails", {x}); }).find("expected 7 dimensions, but got 1"), std::string::npos);
  EXPECT_NE(error_of([&] { call("stable_test::scale", {at::tensor({1}), 2.0}); }).find("\"scale\" not implemented for 'Int'"),
            std::string::npos);
  EXPECT_NE(error_of([&] { call("stable_test::number", {x, 2}); }).find("no values of type"), std::string::npos);
  EXPECT_NE(error_of([&] { call("stable_test::pair", {x}); })
                .find("Registered schema has 2 outputs, but the kernel to box has 1"),
            std::string::npos);
  EXPECT_THROW(call("stable_test::twice", {x}), c10::Error);
  using torch::stable::detail::StableLibrary;
  StableLibrary fragment(StableLibrary::Kind::FRAGMENT, "stable_test", nullptr, __FILE__, __LINE__);
  EXPECT_THROW(fragment.def("not a schema"), std::runtime_error);
  EXPECT_THROW(fragment.def("scale(Tensor x) -> Tensor"), std::runtime_error);
  EXPECT_THROW(StableLibrary(StableLibrary::Kind::DEF, "stable_test", nullptr, __FILE__, __LINE__), std::runtime_error);
  EXPECT_NE(error_of([] { StableLibrary(StableLibrary::Kind::IMPL, "stable_test", "GPU", __FILE__, __LINE__); })
                .find("could not parse dispatch key: GPU"),
            std::string::npos);
}

TEST(Stable, OperatorsByName) {
  Tensor x(list({1, 2, 3}));
  std::array<StableIValue, 2> stack{from(x), from(std::vector<int64_t>{0})};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::flip", "", stack.data(), TORCH_FEATURE_VERSION));
  EXPECT_TRUE(at::equal(unwrap(to<Tensor>(stack[0])), list({3, 2, 1})));
  std::array<StableIValue, 4> sorted{from(x), from(int64_t{-1}), from(true), 0};
  TORCH_ERROR_CODE_CHECK(aoti_torch_call_dispatcher("aten::sort", "", sorted.data()));
  EXPECT_TRUE(at::equal(unwrap(to<Tensor>(sorted[0])), list({3, 2, 1})));
  EXPECT_TRUE(at::equal(unwrap(to<Tensor>(sorted[1])), at::tensor({2, 1, 0}, at::kLong)));
  EXPECT_THROW(TORCH_ERROR_CODE_CHECK(aoti_torch_call_dispatcher("aten::no_such", "", sorted.data())), std::runtime_error);
  EXPECT_NE(std::string(torch_exception_get_what_without_backtrace()).find("no_such"), std::string::npos);
  // What a failed call was given is given back.
  std::array<StableIValue, 2> bad{from(x), from(std::vector<int64_t>{7})};
  EXPECT_EQ(aoti_torch_call_dispatcher("aten::flip", "", bad.data()), AOTI_TORCH_FAILURE);
  EXPECT_EQ(unwrap(x).use_count(), 1u);
}

TEST(Stable, Tensors) {
  const at::Tensor t = at::arange(6, at::kFloat).view({2, 3});
  const Tensor x(t);
  EXPECT_EQ(x.dim(), 2);
  EXPECT_EQ(x.numel(), 6);
  EXPECT_EQ(x.sizes().vec(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(x.strides().vec(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_EQ(x.stride(0), 3);
  EXPECT_TRUE(x.is_contiguous() && x.is_cpu() && !x.is_cuda() && x.defined() && x.has_storage());
  EXPECT_EQ(x.scalar_type(), ScalarType::Float);
  EXPECT_EQ(x.layout(), torch::headeronly::Layout::Strided);
  EXPECT_EQ(x.element_size(), 4u);
  EXPECT_EQ(x.storage_offset(), 0);
  EXPECT_EQ(x.get_device_index(), -1);
  EXPECT_EQ(x.device(), torch::stable::Device(torch::headeronly::DeviceType::CPU));
  EXPECT_EQ(x.const_data_ptr<float>(), t.const_data_ptr<float>());
  EXPECT_EQ(x.data_ptr(), t.data_ptr());
  EXPECT_THROW(x.mutable_data_ptr<int64_t>(), c10::Error);
  EXPECT_FALSE(Tensor().defined());
  Tensor copy = x;
  EXPECT_EQ(copy.get(), x.get());
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(x.get(), &handle));
  EXPECT_EQ(Tensor(handle).data_ptr(), x.data_ptr());
  copy.set_requires_grad(true);
  EXPECT_TRUE(t.requires_grad());
  torch::headeronly::HeaderOnlyTensorAccessor<float, 2> a(const_cast<float*>(x.const_data_ptr<float>()),
                                                          x.sizes().data(), x.strides().data());
  EXPECT_EQ(a[1][2], 5);
}

TEST(Stable, Functions) {
  using namespace torch::stable;
  const auto same = [](const Tensor& t, const at::Tensor& want) { EXPECT_TRUE(at::equal(unwrap(t), want)); };
  const at::Tensor t = at::arange(6, at::kFloat).view({2, 3}), n = at::arange(1, 7, at::kLong).view({2, 3});
  Tensor x(t), m(n);
  same(full({2}, 3.0, ScalarType::Int), at::full({2}, 3, at::kInt));
  EXPECT_EQ(empty({2, 0}, ScalarType::Double).sizes().vec(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(new_empty(x, {4}).scalar_type(), ScalarType::Float);
  same(new_zeros(x, {2}, ScalarType::Bool), at::zeros({2}, at::kBool));
  same(clone(x), t);
  EXPECT_NE(clone(x).data_ptr(), x.data_ptr());
  same(contiguous(transpose(x, 0, 1)), t.t());
  same(torch::stable::to(x, ScalarType::Int), t.to(at::kInt));
  EXPECT_EQ(torch::stable::to(x, Device("cpu")).data_ptr(), x.data_ptr());
  Tensor y = empty_like(x);
  same(copy_(y, x), t);
  same(fill_(y, 2.0), at::full({2, 3}, 2.0));
  same(zero_(y), at::zeros({2, 3}));
  same(torch::stable::view(x, {3, 2}), t.view({3, 2}));
  same(torch::stable::view(x, ScalarType::Int), t.view(at::kInt));
  same(reshape(transpose(x, 0, 1), {-1}), t.t().reshape({-1}));
  same(flatten(x), t.flatten());
  same(narrow(x, 1, 1, 2), t.narrow(1, 1, 2));
  same(select(x, 0, 1), t[1]);
  same(permute(x, {1, 0}), t.t());
  same(squeeze(unsqueeze(x, 0), 0), t);
  same(amax(x, 1), t.amax(1));
  same(amax(x, {0, 1}, true), t.amax({0, 1}, true));
  same(sum(x), t.sum());
  const std::vector<int64_t> rows{1};
  same(sum(x, torch::headeronly::IntHeaderOnlyArrayRef(rows), true), t.sum(1, true));
  sum_out(y, x);
  same(y, t.sum());
  same(subtract(x, x, 0.5), t * 0.5);
  same(floor_divide(m, Tensor(at::full_like(n, 2))), n.floor_divide(2));
  same(bitwise_and(m, Tensor(at::full_like(n, 3))), n.bitwise_and(3));
  same(bitwise_or(m, Tensor(at::full_like(n, 8))), n.bitwise_or(8));
  same(bitwise_left_shift(m, m), n.bitwise_left_shift(n));
  same(bitwise_right_shift(m, Tensor(at::ones_like(n))), n.bitwise_right_shift(1));
  same(matmul(x, transpose(x, 0, 1)), t.matmul(t.t()));
  same(index_select(x, 1, Tensor(at::tensor({2, 0}, at::kLong))), t.index_select(1, at::tensor({2, 0}, at::kLong)));
  same(pad(x, {1, 0}, "constant", 7), at::constant_pad_nd(t, {1, 0}, 7));
  same(std::get<1>(sort(x, 1, true)), std::get<1>(t.sort(1, true)));
  same(std::get<0>(sort(x, std::optional<bool>(true), 0)), t);
  EXPECT_FALSE(is_pinned(x));
  EXPECT_EQ(get_num_threads(), static_cast<uint32_t>(at::get_num_threads()));
  std::vector<float> memory{1, 2, 3, 4};
  int ended = 0;
  {
    const Tensor blob = from_blob(memory.data(), {2}, {2}, Device("cpu"), ScalarType::Float, [&](void*) { ++ended; }, 1);
    same(blob, list({2, 4}));
    same(from_blob(memory.data(), {2}, {1}, Device("cpu"), ScalarType::Float), list({1, 2}));
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

TEST(Stable, Devices) {
  using torch::stable::Device;
  const Device second("cuda:1");
  EXPECT_EQ(second.type(), torch::headeronly::DeviceType::CUDA);
  EXPECT_EQ(second.index(), 1);
  EXPECT_TRUE(second.has_index() && second.is_cuda() && !second.is_cpu());
  EXPECT_EQ(to<Device>(from(second)), second);
  EXPECT_EQ(to<Device>(from(Device("cpu"))), Device("cpu"));
  EXPECT_THROW(Device("elsewhere"), c10::Error);
  EXPECT_THROW(Device(torch::headeronly::DeviceType::CUDA, -2), c10::Error);
  EXPECT_THROW(torch::stable::accelerator::getCurrentDeviceIndex(), c10::Error);
  EXPECT_THROW(torch::stable::accelerator::DeviceGuard(0), c10::Error);
  EXPECT_THROW(torch::stable::accelerator::getCurrentStream(0), c10::Error);
}

// The C interface.
TEST(Shim, TensorsAndTheirProperties) {
  const std::vector<int64_t> sizes{2, 3}, strides{1, 2};
  AtenTensorHandle x = nullptr;
  ASSERT_EQ(aoti_torch_empty_strided(2, sizes.data(), strides.data(), aoti_torch_dtype_float64(),
                                     aoti_torch_device_type_cpu(), 0, &x),
            AOTI_TORCH_SUCCESS);
  const Tensor owner(x);
  ASSERT_EQ(aoti_torch_zero_(x), AOTI_TORCH_SUCCESS);
  int64_t number = 0, *several = nullptr;
  int32_t code = 0;
  bool flag = true;
#define EXPECT_PROPERTY(function, result, value)          \
  ASSERT_EQ(function(x, &result), AOTI_TORCH_SUCCESS); \
  EXPECT_EQ(result, value)
  EXPECT_PROPERTY(aoti_torch_get_dim, number, 2);
  EXPECT_PROPERTY(aoti_torch_get_numel, number, 6);
  EXPECT_PROPERTY(aoti_torch_get_storage_numel, number, 6);
  EXPECT_PROPERTY(aoti_torch_get_storage_size, number, 48);
  EXPECT_PROPERTY(aoti_torch_get_storage_offset, number, 0);
  EXPECT_PROPERTY(aoti_torch_get_dtype, code, aoti_torch_dtype_float64());
  EXPECT_PROPERTY(aoti_torch_get_device_type, code, aoti_torch_device_type_cpu());
  EXPECT_PROPERTY(aoti_torch_get_layout, code, aoti_torch_layout_strided());
  EXPECT_PROPERTY(aoti_torch_is_contiguous, flag, false);
  EXPECT_PROPERTY(aoti_torch_is_defined, flag, true);
  ASSERT_EQ(aoti_torch_get_strides(x, &several), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(several[1], 2);
  ASSERT_EQ(aoti_torch_get_sizes(x, &several), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(several[1], 3);
  ASSERT_EQ(aoti_torch_get_size(x, -1, &number), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(number, 3);
  EXPECT_EQ(aoti_torch_get_size(x, 2, &number), AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch_get_dim(nullptr, &number), AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch_empty_strided(1, sizes.data(), strides.data(), 99, 0, 0, &x), AOTI_TORCH_FAILURE);
  AtenTensorHandle one = nullptr;
  ASSERT_EQ(aoti_torch_scalar_to_tensor_int16(-3, &one), AOTI_TORCH_SUCCESS);
  const Tensor held(one);
  int16_t value = 0;
  ASSERT_EQ(aoti_torch_item_int16(one, &value), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(value, -3);
  EXPECT_EQ(aoti_torch_item_int16(owner.get(), &value), AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch_dtype_bfloat16(), static_cast<int32_t>(ScalarType::BFloat16));
  EXPECT_EQ(aoti_torch_memory_format_channels_last(), 2);
}

TEST(Shim, ListsAndText) {
  StableListHandle elements = nullptr;
  ASSERT_EQ(torch_new_list_reserve_size(2, &elements), AOTI_TORCH_SUCCESS);
  ASSERT_EQ(torch_list_push_back(elements, from(int64_t{5})), AOTI_TORCH_SUCCESS);
  ASSERT_EQ(torch_list_push_back(elements, from(int64_t{6})), AOTI_TORCH_SUCCESS);
  ASSERT_EQ(torch_list_set_item(elements, 0, from(int64_t{-7})), AOTI_TORCH_SUCCESS);
  size_t size = 0;
  ASSERT_EQ(torch_list_size(elements, &size), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(size, 2u);
  StableIValue element = 0;
  EXPECT_EQ(torch_list_get_item(elements, 2, &element), AOTI_TORCH_FAILURE);
  EXPECT_EQ(to<std::vector<int64_t>>(reinterpret_cast<StableIValue>(elements)), (std::vector<int64_t>{-7, 6}));
  StringHandle text = nullptr;
  ASSERT_EQ(torch_new_string_handle("a\0b", 3, &text), AOTI_TORCH_SUCCESS);
  ASSERT_EQ(torch_string_length(text, &size), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(size, 3u);
  EXPECT_EQ(to<std::string>(reinterpret_cast<StableIValue>(text)), std::string("a\0b", 3));
  EXPECT_EQ(to<double>(from(2.5)), 2.5);
  EXPECT_EQ(to<std::optional<bool>>(from(std::optional<bool>(false))), std::optional<bool>(false));
  EXPECT_EQ(to<std::optional<int64_t>>(from(std::nullopt)), std::nullopt);
  EXPECT_EQ(to<ScalarType>(from(ScalarType::Bool)), ScalarType::Bool);
}

}  // namespace
