#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <sstream>
#include <type_traits>

namespace {

using torch::Tensor;

std::string text_of(const auto& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Two rows of three columns; a reduction over dimension 1 has two results.
Tensor rows() { return torch::tensor({{1., 2., 4.}, {3., 3., 9.}}, torch::kDouble); }

#if TORCH_VERSION_MAJOR != 2 || TORCH_VERSION_MINOR != 15 || TORCH_VERSION_PATCH != 0
#error "programs that ask for a version take the oldest branch"
#endif
#if TORCH_VERSION_MAJOR > 1 || (TORCH_VERSION_MAJOR == 1 && TORCH_VERSION_MINOR >= 13)
constexpr bool kNewer = true;
#else
constexpr bool kNewer = false;
#endif
static_assert(kNewer);
static_assert(TORCH_ABI_VERSION == 0x020f000000000000ULL);
static_assert(std::string_view(TORCH_VERSION) == "2.15.0");

#pragma GCC diagnostic push
#ifdef __clang__
#pragma clang diagnostic ignored "-Wbraced-scalar-init"  // {1} is how many programs write one dimension
#endif
TEST(Api, TensorsOfNumbersOfTheirOwnType) {
  const auto expect = [](const Tensor& got, at::ScalarType dtype, std::vector<double> values) {
    EXPECT_EQ(got.scalar_type(), dtype);
    ASSERT_EQ(got.sizes(), at::IntArrayRef({static_cast<int64_t>(values.size())}));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(got[static_cast<int64_t>(i)].item<double>(), values[i]);
  };
  expect(at::tensor({1, 2, 3}), at::kInt, {1, 2, 3});
  expect(at::tensor({0.5, 2.0}), at::kDouble, {0.5, 2});
  expect(at::tensor(std::vector<float>{1, 2}, at::dtype(at::kLong)), at::kLong, {1, 2});
  expect(at::tensor(7), at::kInt, {7});
  expect(at::tensor(0.5f), at::kFloat, {0.5});
  expect(at::tensor({true, false}), at::kBool, {1, 0});
  expect(at::tensor(c10::complex<float>(2, 0)).abs(), at::kFloat, {2});
  EXPECT_EQ(at::tensor({1, 2}, at::device(at::kMeta)).device(), at::kMeta);
  expect(torch::tensor({uint16_t{65535}, uint16_t{1}}), at::kUInt16, {65535, 1});
  expect(torch::tensor(std::vector<uint64_t>{3}), at::kUInt64, {3});
  EXPECT_EQ(torch::tensor(uint32_t{4000000000}).item<int64_t>(), 4000000000);
}

TEST(Api, ConversionByTypeMeta) {
  const Tensor x = torch::ones({2}), other = torch::ones({3}, torch::kLong);
  EXPECT_EQ(x.to(other.dtype()).scalar_type(), torch::kLong);
  EXPECT_EQ(x.to(other.device(), other.dtype()).scalar_type(), torch::kLong);
  EXPECT_TRUE(x.to(x.dtype()).is_same(x));
  EXPECT_FALSE(x.to(x.dtype(), /*non_blocking=*/false, /*copy=*/true).is_same(x));
}

TEST(IntDimension, VarAndStd) {
  const Tensor x = rows();
  const Tensor variances = torch::tensor({7. / 3, 12.}, torch::kDouble);
  const int one = 1;
  const int64_t long_one = 1;
  for (const Tensor& v : {x.var(1), x.var(one), x.var(long_one), x.var({1}), x.var(-1), at::var(x, 1), at::var(x, long_one)}) {
    EXPECT_TRUE(torch::allclose(v, variances)) << v;
  }
  for (const Tensor& s : {x.std(1), x.std(long_one), x.std({1}), at::std(x, -1), torch::std(x, one)}) {
    EXPECT_TRUE(torch::allclose(s, variances.sqrt())) << s;
  }
  const auto [variance, mean] = at::var_mean(x, 1);
  const auto [deviation, mean_too] = torch::std_mean(x, long_one);
  EXPECT_TRUE(torch::allclose(variance, variances));
  EXPECT_TRUE(torch::allclose(deviation, variances.sqrt()));
  EXPECT_TRUE(torch::equal(mean, x.mean(1)) && torch::equal(mean_too, mean));
  EXPECT_EQ(x.var(0).sizes(), at::IntArrayRef({3}));
  // A bool stays a bool, and all other forms mean what they did.
  EXPECT_EQ(x.var(false).dim(), 0);
  EXPECT_NEAR(x.var(false).item<double>() * 6, x.var(true).item<double>() * 5, 1e-12);
  EXPECT_EQ(at::std(x, true).dim(), 0);
  EXPECT_EQ(x.var().dim(), 0);
  EXPECT_EQ(x.var(1, true).sizes(), at::IntArrayRef({2}));
  EXPECT_EQ(x.var(1, /*unbiased=*/false, /*keepdim=*/true).sizes(), at::IntArrayRef({2, 1}));
  EXPECT_EQ(x.var(std::vector<int64_t>{0, 1}).dim(), 0);
  EXPECT_EQ(x.var({0, 1}).dim(), 0);
  EXPECT_EQ(x.std(1, /*correction=*/std::optional<at::Scalar>(0), true).sizes(), at::IntArrayRef({2, 1}));
  EXPECT_THROW(x.var(2), c10::IndexError);
}
#pragma GCC diagnostic pop

TEST(IntDimension, Sorting) {
  const Tensor x = torch::tensor({{3, 1, 2}, {5, 6, 4}});
  EXPECT_TRUE(torch::equal(x.argsort(0), torch::tensor({{0, 0, 0}, {1, 1, 1}})));
  EXPECT_TRUE(torch::equal(torch::argsort(x, 1), torch::tensor({{1, 2, 0}, {2, 0, 1}})));
  EXPECT_TRUE(torch::equal(x.argsort(1, true), torch::tensor({{0, 2, 1}, {1, 0, 2}})));
  EXPECT_TRUE(torch::equal(x.argsort(/*stable=*/true, 0), x.argsort(0)));
  EXPECT_TRUE(torch::equal(std::get<1>(x.sort(1)), x.argsort(1)));
  EXPECT_TRUE(torch::equal(std::get<1>(at::sort(x, 0, true)), x.argsort(0, true)));
}

// An int where Python takes a dimension is one, in every function of one tensor that can reduce all or some of it.
TEST(IntDimension, EveryReductionTakesIt) {
  const Tensor x = rows();
  const Tensor whole = x.to(torch::kLong);
  const std::map<std::string, Tensor> along_one = {
      {"sum", x.sum(1)},
      {"prod", x.prod(1)},
      {"mean", x.mean(1)},
      {"nansum", x.nansum(1)},
      {"nanmean", x.nanmean(1)},
      {"amax", x.amax(1)},
      {"amin", x.amin(1)},
      {"argmax", x.argmax(1)},
      {"argmin", x.argmin(1)},
      {"any", x.any(1)},
      {"all", x.all(1)},
      {"logsumexp", x.logsumexp(1)},
      {"count_nonzero", x.count_nonzero(std::optional<int64_t>(1))},
      {"max", std::get<0>(x.max(1))},
      {"min", std::get<0>(x.min(1))},
      {"median", std::get<0>(x.median(1))},
      {"nanmedian", std::get<0>(x.nanmedian(1))},
      {"mode", std::get<0>(whole.mode(1))},
      {"kthvalue", std::get<0>(x.kthvalue(1, 1))},
      {"quantile", x.quantile(0.5, 1)},
      {"nanquantile", x.nanquantile(0.5, 1)},
      {"norm", x.norm(2, 1)},
      {"at::norm", at::norm(x, 2, 1)},
      {"select", x.select(1, 1)},
      {"at::sum", at::sum(x, 1)},
      {"at::any", at::any(x, 1)},
      {"at::argmax", at::argmax(x, 1)},
  };
  for (const auto& [name, result] : along_one) EXPECT_EQ(result.sizes(), at::IntArrayRef({2})) << name;
  const std::map<std::string, Tensor> same_size = {
      {"cumsum", x.cumsum(1)},           {"cumprod", x.cumprod(1)},   {"logcumsumexp", x.logcumsumexp(1)},
      {"cummax", std::get<0>(x.cummax(1))}, {"softmax", x.softmax(1)},   {"log_softmax", x.log_softmax(1)},
      {"flip", x.flip(1)},               {"roll", x.roll(1, 1)},      {"sort", std::get<0>(x.sort(1))},
      {"unique_dim", std::get<0>(at::unique_dim(x, 1))},
  };
  for (const auto& [name, result] : same_size) EXPECT_EQ(result.sizes(), x.sizes()) << name;
  EXPECT_EQ(std::get<0>(x.topk(1)).sizes(), at::IntArrayRef({2, 1}));
  EXPECT_EQ(x.diff(1, 0).sizes(), at::IntArrayRef({1, 3}));
  EXPECT_EQ(x.unbind(1).size(), 3u);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(Tensor, TypeHasBackendAndDtype) {
  const Tensor x = torch::ones({2}, torch::kDouble);
  EXPECT_FALSE(x.type().is_cuda());
  EXPECT_FALSE(x.type().is_sparse());
  EXPECT_EQ(x.type().scalarType(), torch::kDouble);
  EXPECT_EQ(x.type().backend(), at::Backend::CPU);
  EXPECT_EQ(text_of(x.type()), "CPUDoubleType");
  EXPECT_EQ(x.type().toString(), x.toString());
  EXPECT_TRUE(x.type() == torch::zeros({3}, torch::kDouble).type());
  EXPECT_TRUE(x.type() != x.to(torch::kFloat).type());
  EXPECT_EQ(&x.type().toScalarType(torch::kFloat), &at::CPU(torch::kFloat));
  EXPECT_EQ(torch::zeros({2}, torch::CPU(torch::kInt)).scalar_type(), torch::kInt);
  EXPECT_EQ(torch::zeros({2}, x.type()).scalar_type(), torch::kDouble);
  EXPECT_EQ(torch::empty({2}, torch::kMeta).type().toString(), "MetaFloatType");
  EXPECT_EQ(Tensor().type().toString(), "UndefinedType");
  EXPECT_EQ(at::CUDA(torch::kHalf).options(1).device(), torch::Device("cuda:1"));
  auto& type = x.type();
  const size_t bytes = AT_DISPATCH_FLOATING_TYPES(type, "bytes", [&] { return sizeof(scalar_t); });
  EXPECT_EQ(bytes, 8u);
  EXPECT_EQ(x.data<double>(), x.data_ptr<double>());
  EXPECT_THROW(x.data<float>(), c10::Error);
}
#pragma GCC diagnostic pop

TEST(Tensor, ToALayout) {
  const Tensor x = torch::ones({2});
  EXPECT_TRUE(x.to(torch::kStrided).is_same(x));
  EXPECT_EQ(x.to(torch::kStrided, /*non_blocking=*/false, /*copy=*/true).layout(), torch::kStrided);
}

TEST(Tensor, ToAMemoryFormat) {
  const Tensor x = torch::ones({1, 2, 3, 3});
  EXPECT_TRUE(x.to(torch::MemoryFormat::ChannelsLast).is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::empty_like(x, torch::MemoryFormat::ChannelsLast).is_contiguous(torch::MemoryFormat::ChannelsLast));
}

TEST(Tensor, SuggestedFormatMayBeExact) {
  const Tensor x = torch::empty({2, 3, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast);
  EXPECT_EQ(x.suggest_memory_format(true), torch::MemoryFormat::ChannelsLast);
  const Tensor part = torch::empty({2, 6, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast).narrow(1, 0, 3);
  EXPECT_EQ(part.suggest_memory_format(), torch::MemoryFormat::ChannelsLast);
  EXPECT_EQ(part.suggest_memory_format(true), torch::MemoryFormat::Contiguous);
}

TEST(Tensor, GradFnIsNullOfALeaf) {
  EXPECT_TRUE(torch::ones({2}).grad_fn() == nullptr);
  EXPECT_TRUE(torch::ones({2}, torch::requires_grad()).exp().grad_fn() != nullptr);
}

TEST(Indexing, SlicesMayBeAppliedAllTheSame) {
  using namespace torch::indexing;
  const Tensor x = rows();
  EXPECT_TRUE(torch::equal(get_item(x, {Slice(), 1}, true), get_item(x, {Slice(), 1})));
  Tensor y = torch::zeros({2, 3});
  set_item(y, {Slice(), 0}, torch::ones({2}), /*disable_slice_optimization=*/true);
  set_item(y, {Slice(), 1}, 2, true);
  EXPECT_TRUE(torch::equal(y, torch::tensor({{1., 2., 0.}, {1., 2., 0.}})));
}

TEST(Out, FormsOfFunctionsThatHadNone) {
  const Tensor x = torch::tensor({{1., 2.}, {3., 4.}});
  Tensor out = torch::empty({0});
  EXPECT_TRUE(at::flip_out(out, x, {0}).is_same(out));
  EXPECT_TRUE(torch::equal(out, x.flip({0})));
  EXPECT_TRUE(torch::equal(at::roll_outf(x, 1, 0, out), x.roll(1, 0)));
  EXPECT_TRUE(torch::equal(at::add_out(out, x, 2), x + 2));
  EXPECT_TRUE(torch::equal(at::mul_out(out, x, 2.5), x * 2.5));
  EXPECT_TRUE(torch::equal(at::masked_fill_out(out, x, x > 2, 0), x.masked_fill(x > 2, 0)));
  EXPECT_TRUE(torch::equal(at::index_put_out(out, x, {torch::tensor({0})}, torch::zeros({2})), torch::tensor({{0., 0.}, {3., 4.}})));
  EXPECT_TRUE(torch::equal(at::zeros_like_out(out, x), torch::zeros({2, 2})));
  Tensor padded = torch::empty({0}), total = torch::empty({}), median = torch::empty({});
  EXPECT_TRUE(torch::equal(at::constant_pad_nd_out(padded, x, {1, 0}), at::constant_pad_nd(x, {1, 0})));
  EXPECT_EQ(at::sum_out(total, x).item<double>(), 10);
  EXPECT_EQ(at::median_out(median, x).item<double>(), 2);
  Tensor whole = torch::empty({0}, torch::kLong);
  EXPECT_TRUE(torch::equal(at::tril_indices_out(whole, 2, 2), torch::tril_indices(2, 2)));
  EXPECT_THROW(at::flip_out(whole, x, {0}), c10::Error) << "a float does not fit an integer";
  EXPECT_THROW(at::flip_out(out, x, {5}), c10::IndexError);
}

TEST(Streams, VectorsOfTensors) {
  const std::vector<Tensor> tensors{torch::tensor({1, 2}), torch::tensor(3)};
  EXPECT_EQ(text_of(tensors), " 1\n 2\n[ CPULongType{2} ] 3\n[ CPULongType{} ]");
  EXPECT_EQ(text_of(torch::ones({2, 3}).sizes().vec()), "2 3");
  EXPECT_EQ(text_of(std::vector<int>(101, 7)).substr(193), " 7 7 7 ...");
  EXPECT_EQ(text_of(at::TensorList(tensors).slice(1)), "[3\n[ CPULongType{} ]]");
}

TEST(Streams, Indices) {
  using namespace torch::indexing;
  EXPECT_EQ(text_of(TensorIndex(Slice(1, 4, 2))), "1:4:2");
  EXPECT_EQ(text_of(Slice()), "0:4611686018427387903:1");
  EXPECT_EQ(text_of(std::vector<TensorIndex>{0, "...", None, true}), "(0, ..., None, true)");
}

TEST(Streams, PrintWritesToStandardOutput) {
  ::testing::internal::CaptureStdout();
  at::print(torch::arange(4).view({1, 4}), 8);
  torch::print(torch::tensor(5));
  std::cout << std::flush;
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "Columns 1 to 2 0  1\n\nColumns 3 to 4 2  3\n[ CPULongType{1,4} ]5\n[ CPULongType{} ]");
}

TEST(Cuda, CountsDevicesByTheirIndexType) {
  static_assert(std::is_same_v<decltype(torch::cuda::device_count()), c10::DeviceIndex>);
  EXPECT_GE(torch::cuda::device_count(), 0);
}

}  // namespace
