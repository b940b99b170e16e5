// The small headers of c10/util.
#include <c10/util/Bitset.h>
#include <c10/util/CallOnce.h>
#include <c10/util/Enumerate.h>
#include <c10/util/Exception.h>
#include <c10/util/ExclusivelyOwned.h>
#include <c10/util/Flags.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/IdWrapper.h>
#include <c10/util/Lazy.h>
#include <c10/util/LeftRight.h>
#include <c10/util/Load.h>
#include <c10/util/Logging.h>
#include <c10/util/MathConstants.h>
#include <c10/util/Metaprogramming.h>
#include <c10/util/Registry.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/Semaphore.h>
#include <c10/util/Synchronized.h>
#include <c10/util/ThreadLocal.h>
#include <c10/util/TypeCast.h>
#include <c10/util/TypeIndex.h>
#include <c10/util/TypeSafeSignMath.h>
#include <c10/util/Unroll.h>
#include <c10/util/accumulate.h>
#include <c10/util/copysign.h>
#include <c10/util/env.h>
#include <c10/util/error.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/floating_point_utils.h>
#include <c10/util/generic_math.h>
#include <c10/util/order_preserving_flat_hash_map.h>
#include <c10/util/overloaded.h>
#include <c10/util/ssize.h>
#include <c10/util/string_utils.h>
#include <c10/util/tempfile.h>
#include <c10/util/thread_name.h>
#include <gtest/gtest.h>
#include <torch/csrc/utils/memory.h>
#include <torch/csrc/utils/variadic.h>
#include <torch/detail/static.h>
#include <torch/library.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>
#include <variant>
#include <vector>

#include "c10/testing/message_of.h"

C10_DEFINE_int(util_test_epochs, 10, "How often.");
C10_DEFINE_bool(util_test_fast, false, "Whether.");
C10_DEFINE_string(util_test_name, "a", "What.");
C10_DEFINE_double(util_test_rate, 0.5, "How fast.");

namespace {

using c10::testing::message_of;

TEST(Exception, ComparisonsSayTheValues) {
  TORCH_CHECK_EQ(2, 2);
  EXPECT_EQ(message_of([] { TORCH_CHECK_EQ(1, 2); }), "Check failed: 1 == 2 (1 vs. 2). ");
  EXPECT_EQ(message_of([] { TORCH_CHECK_LT(3, 2, "why"); }), "Check failed: 3 < 2 (3 vs. 2). why");
  EXPECT_THROW(TORCH_CHECK_NE(1, 1), c10::Error);
  EXPECT_THROW(TORCH_CHECK_GE(1, 2), c10::Error);
  int x = 1;
  EXPECT_EQ(TORCH_CHECK_NOTNULL(&x), &x);
  int* null = nullptr;
  EXPECT_EQ(message_of([&] { TORCH_CHECK_NOTNULL(null); }), "Check failed: 'null' Must be non NULL. ");
  EXPECT_THROW(TORCH_CHECK_BUFFER(false, "b"), c10::BufferError);
  EXPECT_THROW(TORCH_CHECK_WITH(DistStoreError, false, "s"), c10::DistError);
  EXPECT_THROW(STD_TORCH_CHECK(false, "s"), std::runtime_error);
  EXPECT_EQ(STD_TORCH_CHECK_MSG(x > 2, "", "one of ", 3), "one of 3");
  EXPECT_NE(STD_TORCH_CHECK_MSG(x > 2, "").find("x > 2"), std::string::npos);
  EXPECT_EQ(message_of([] { AT_CHECK(1 > 2, "old ", 3); }), "old 3");
  AT_CHECK(true);
  EXPECT_EQ(c10::GetExceptionString(std::runtime_error("bad")), "std::runtime_error: bad");
}

TEST(Logging, ChecksThrowAndLogsDoNot) {
  CHECK(true) << "never";
  EXPECT_EQ(message_of([] { CHECK_GT(1, 2) << "so " << 3; }), "Check failed: 1 > 2 so 3");
  int evaluated = 0;
  LOG(INFO) << ++evaluated;
  EXPECT_EQ(evaluated, 0);  // below the level
  testing::internal::CaptureStderr();
  LOG(ERROR) << "bad " << ++evaluated;
  LOG_IF(ERROR, false) << ++evaluated;
  for (int i = 0; i < 3; ++i) {
    LOG_FIRST_N(WARNING, 1) << "once";
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("[E util_test.cc:"), std::string::npos);
  EXPECT_NE(text.find("] bad 1\n"), std::string::npos);
  EXPECT_EQ(text.find("once"), text.rfind("once"));
  EXPECT_EQ(evaluated, 1);
  EXPECT_THROW(CAFFE_ENFORCE(false, "x"), c10::Error);
  C10_LOG_API_USAGE_ONCE("util_test");
}

TEST(Logging, APlaceCanBeLimited) {
  std::string written;
  const auto lines = [&] { return std::count(written.begin(), written.end(), '\n'); };
  testing::internal::CaptureStderr();
  for (int i = 0; i < 7; ++i) C10_LOG_EVERY_N(WARNING, 3) << i;
  written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines(), 3);
  EXPECT_NE(written.find("] 6\n"), std::string::npos);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 7; ++i) {
    if (i > 0) C10_LOG_FIRST_N(WARNING, 2) << i;
  }
  written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines(), 2);
  EXPECT_NE(written.find("] 1\n"), std::string::npos);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 7; ++i) C10_LOG_EVERY_MS(WARNING, 100'000) << i;
  written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines(), 1);
}

TEST(Flags, AreTakenOutOfTheCommandLine) {
  std::vector<std::string> words = {"program",          "--util_test_epochs=3", "file",
                                    "--util_test_fast", "--util_test_rate",     "0.25"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  char** pointer = argv.data();
  ASSERT_TRUE(c10::ParseCommandLineFlags(&argc, &pointer));
  EXPECT_EQ(argc, 2);
  EXPECT_STREQ(pointer[1], "file");
  EXPECT_EQ(FLAGS_util_test_epochs, 3);
  EXPECT_EQ(FLAGS_util_test_rate, 0.25);
  EXPECT_TRUE(FLAGS_util_test_fast);
  EXPECT_EQ(FLAGS_util_test_name, "a");
  for (const char* bad :
       {"--util_test_epochs=x", "--util_test_nothing=1", "--util_test_epochs=99999999999", "--util_test_name"}) {
    std::string word = bad;
    char* both[] = {words[0].data(), word.data()};
    argc = 2;
    pointer = both;
    EXPECT_FALSE(c10::ParseCommandLineFlags(&argc, &pointer)) << bad;
  }
}

struct Shape {
  virtual ~Shape() = default;
  virtual int corners() const = 0;
};
C10_DECLARE_REGISTRY(ShapeRegistry, Shape, int);
C10_DEFINE_REGISTRY(ShapeRegistry, Shape, int);
struct Polygon : Shape {
  explicit Polygon(int n) : n(n) {}
  int corners() const override { return n; }
  int n;
};
C10_REGISTER_CLASS(ShapeRegistry, Polygon, Polygon);

TEST(Registry, MakesByName) {
  EXPECT_EQ(ShapeRegistry()->Create("Polygon", 5)->corners(), 5);
  EXPECT_EQ(ShapeRegistry()->Create("Circle", 5), nullptr);
  EXPECT_TRUE(ShapeRegistry()->Has("Polygon"));
  EXPECT_THROW(ShapeRegistry()->Register("Polygon", [](int n) { return std::make_unique<Polygon>(n); }), c10::Error);
}

struct NodeId final : c10::IdWrapper<NodeId, uint32_t> {
  explicit NodeId(uint32_t id) : IdWrapper(id) {}
};
C10_DEFINE_TLS_static(int, depth_of_thread);

TEST(Util, Containers) {
  ska::flat_hash_map<std::string, int> map{{"a", 1}};
  map["b"] = 2;
  EXPECT_EQ(map.at("b"), 2);
  ska_ordered::order_preserving_flat_hash_map<int, int> ordered;
  for (int i : {5, 1, 9, 1}) ordered[i] += 1;
  std::vector<int> keys;
  for (const auto& entry : ordered) keys.push_back(entry.first);
  EXPECT_EQ(keys, (std::vector<int>{5, 1, 9}));
  EXPECT_EQ(ordered.at(1), 2);
  ordered.erase(5);
  auto copy = ordered;
  EXPECT_EQ(copy.begin()->first, 1);
  EXPECT_THROW(copy.at(5), c10::IndexError);
  c10::utils::bitset bits;
  bits.set(3);
  bits.set(40);
  int sum = 0;
  bits.for_each_set_bit([&](size_t i) { sum += static_cast<int>(i); });
  EXPECT_EQ(sum, 43);
  std::vector<int> values = {7, 8};
  for (auto&& [i, v] : c10::enumerate(values)) v += static_cast<int>(i);
  EXPECT_EQ(values, (std::vector<int>{7, 9}));
  EXPECT_EQ(c10::ssize(values), 2);
  EXPECT_TRUE(NodeId(3) == NodeId(3) && NodeId(3) != NodeId(4));
}

TEST(Util, FunctionsAndScopes) {
  int left = 0;
  {
    auto guard = c10::make_scope_exit([&] { ++left; });
    auto released = c10::make_scope_exit([&] { left += 10; });
    released.release();
  }
  EXPECT_EQ(left, 1);
  const std::variant<int, std::string> v = std::string("text");
  EXPECT_EQ(std::visit(c10::overloaded([](int) { return 1; }, [](const std::string&) { return 2; }), v), 2);
  const auto twice = [](c10::function_ref<int(int)> f) { return f(f(1)); };
  EXPECT_EQ(twice([](int i) { return i * 3; }), 9);
  int unrolled = 0;
  c10::ForcedUnroll<4>{}([&](auto i) { unrolled += i; });
  EXPECT_EQ(unrolled, 6);
  c10::OptimisticLazy<int> lazy;
  EXPECT_EQ(lazy.ensure([] { return 4; }), 4);
  EXPECT_EQ(lazy.ensure([] { return 5; }), 4);
  c10::LeftRight<std::vector<int>> shared;
  shared.write([](std::vector<int>& x) { x.push_back(1); });
  EXPECT_EQ(shared.read([](const std::vector<int>& x) { return x.size(); }), 1u);
  c10::Synchronized<int> number(3);
  EXPECT_EQ(number.withLock([](int& n) { return ++n; }), 4);
  c10::ExclusivelyOwned<std::vector<int>> owned(std::vector<int>{1, 2});
  EXPECT_EQ(std::move(owned).take().size(), 2u);
}

TEST(Util, Threads) {
  c10::Semaphore semaphore;
  *depth_of_thread = 1;
  std::string name;
  std::thread other([&] {
    c10::setThreadName("worker");
    name = c10::getThreadName();
    *depth_of_thread += 5;
    semaphore.release();
  });
  semaphore.acquire();
  EXPECT_FALSE(semaphore.tryAcquire());
  other.join();
  EXPECT_EQ(*depth_of_thread, 1);
  EXPECT_EQ(name, "worker");
}

TEST(Util, Types) {
  EXPECT_EQ(c10::util::get_type_index<int>(), c10::util::get_type_index<const int&>());
  EXPECT_NE(c10::util::get_type_index<int>(), c10::util::get_type_index<long>());
  EXPECT_EQ(c10::util::get_fully_qualified_type_name<int>(), "int");
  using List = c10::guts::typelist::typelist<int, float, char>;
  static_assert(c10::guts::typelist::size<List>::value == 3);
  static_assert(
      std::is_same_v<c10::guts::typelist::filter_t<std::is_integral, List>, c10::guts::typelist::typelist<int, char>>);
  const auto lambda = [](int, float) { return 'c'; };
  using Traits = c10::guts::infer_function_traits_t<decltype(lambda)>;
  static_assert(Traits::number_of_parameters == 2 && std::is_same_v<Traits::return_type, char>);
  EXPECT_EQ(c10::guts::if_constexpr<true>([](auto _) { return _(1); }, [](auto) { return 2; }), 1);
  EXPECT_EQ(*torch::make_unique<int>(3), 3);
  static_assert(torch::all_of<true, true>::value && !torch::any_of<false>::value);
  std::vector<int> seen;
  torch::apply([&](int x) { seen.push_back(x); }, 1, 2, 3);
  EXPECT_EQ(seen.size(), 3u);
  struct Module : torch::nn::Module {
    int forward(float x) { return static_cast<int>(x); }
  };
  static_assert(torch::detail::has_forward<Module>::value && torch::detail::is_module<Module>::value);
  static_assert(std::is_same_v<torch::detail::return_type_of_forward_t<Module, float>, int>);
  static_assert(std::is_void_v<torch::detail::return_type_of_forward_t<torch::nn::Module>>);
  EXPECT_FALSE((torch::detail::check_not_lvalue_references<int, int&>()));
}

TEST(Util, NamesOfOperatorsPrint) {
  std::ostringstream out;
  out << c10::OperatorName("aten::add", "Tensor") << ' ' << c10::OperatorName("mine::f", "");
  EXPECT_EQ(out.str(), "aten::add.Tensor mine::f");
}

TEST(Util, ConversionsKnowTheirRange) {
  EXPECT_TRUE((c10::overflows<int8_t, int>(1000)));
  EXPECT_TRUE((c10::overflows<int8_t, int>(-129)));
  EXPECT_FALSE((c10::overflows<uint8_t, int>(-255)));
  EXPECT_TRUE((c10::overflows<uint8_t, int>(-256)));
  EXPECT_TRUE((c10::overflows<uint8_t, int>(-1, /*strict_unsigned=*/true)));
  EXPECT_TRUE((c10::overflows<int, double>(1e10)));
  EXPECT_TRUE((c10::overflows<int, double>(NAN)));
  EXPECT_TRUE((c10::overflows<int, double>(INFINITY)));
  EXPECT_TRUE((c10::overflows<float, double>(1e300)));
  EXPECT_FALSE((c10::overflows<float, double>(INFINITY)));
  EXPECT_TRUE((c10::overflows<c10::Half, float>(1e6f)));
  EXPECT_TRUE((c10::overflows<float, c10::complex<double>>({1, 2})));
  EXPECT_FALSE((c10::overflows<float, c10::complex<double>>({1, 0})));
  EXPECT_TRUE((c10::overflows<c10::complex<float>, c10::complex<double>>({0, 1e300})));
  EXPECT_FALSE((c10::overflows<bool, int>(5)));
  EXPECT_EQ(c10::convert<float>(c10::complex<double>(3, 4)), 3);
  EXPECT_EQ((c10::checked_convert<int8_t, int>(100, "int8_t")), 100);
  EXPECT_EQ((c10::checked_convert<bool, int>(7, "bool")), true);
  try {
    c10::checked_convert<int8_t, int>(1000, "int8_t");
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "value cannot be converted to type int8_t without overflow");
  }
}

TEST(Util, Numbers) {
  const std::vector<int64_t> dims = {2, 3, 4};
  EXPECT_EQ(c10::numelements_from_dim(1, dims), 12);
  EXPECT_EQ(c10::numelements_to_dim(2, dims), 6);
  EXPECT_EQ(c10::numelements_between_dim(2, 1, dims), 3);
  EXPECT_EQ(c10::multiply_integers(dims.begin(), dims.end()), 24);
  EXPECT_EQ(c10::sum_integers(dims.begin(), dims.end()), 9);
  EXPECT_FLOAT_EQ(c10::pi<float>, 3.14159265f);
  EXPECT_EQ(c10::div_floor_integer(-7, 2), -4);
  EXPECT_EQ(c10::div_floor_floating(-7.0, 2.0), -4.0);
  EXPECT_EQ(c10::div_mod(-7, 2), 1);
  EXPECT_TRUE((c10::greater_than_max<int8_t>(200)));
  EXPECT_TRUE((c10::less_than_lowest<uint8_t>(-1)));
  EXPECT_FALSE((c10::less_than_lowest<int8_t>(-128)));
  EXPECT_EQ(c10::signum(-3), -1);
  EXPECT_EQ(float(c10::copysign(c10::Half(2), c10::Half(-1))), -2.f);
  EXPECT_EQ(c10::detail::fp32_from_bits(0x3f800000u), 1.f);
  const unsigned char byte = 2;
  EXPECT_TRUE(c10::load<bool>(&byte));
  EXPECT_EQ(c10::guts::to_string(3), "3");
}

TEST(Util, FilesAndEnvironment) {
  std::string path;
  {
    c10::TempFile file = c10::make_tempfile("util_test");
    path = file.name;
    EXPECT_NE(path.find("util_test"), std::string::npos);
    EXPECT_EQ(::write(file.fd, "x", 1), 1);
    EXPECT_TRUE(std::ifstream(path).good());
  }
  EXPECT_FALSE(std::ifstream(path).good());
  {
    c10::TempDir folder = c10::make_tempdir();
    path = folder.name;
    EXPECT_EQ(::access(path.c_str(), W_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  c10::utils::set_env("UTIL_TEST", "1");
  EXPECT_EQ(c10::utils::check_env("UTIL_TEST"), true);
  EXPECT_EQ(*c10::utils::get_env("UTIL_TEST"), "1");
  EXPECT_FALSE(c10::utils::check_env("UTIL_TEST_UNSET").has_value());
  EXPECT_EQ(c10::utils::str_error(ENOENT), "No such file or directory");
}

}  // namespace
