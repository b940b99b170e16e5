#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "c10/core/device.h"
#include "c10/core/scalar.h"
#include "c10/core/tensor_options.h"
#include "c10/util/float8.h"

namespace c10 {
namespace {

std::string error_of(const std::string& text) {
  try {
    Device d(text);
  } catch (const Error& e) {
    return e.msg();
  }
  return "accepted";
}

TEST(Device, Strings) {
  EXPECT_EQ(Device("cpu"), Device(kCPU));
  EXPECT_EQ(Device("cuda:1"), Device(kCUDA, 1));
  EXPECT_EQ(Device("cuda:127").index(), 127);
  EXPECT_NE(Device("cuda"), Device("cuda:0"));
  EXPECT_EQ(Device("cuda:1").str(), "cuda:1");
  EXPECT_EQ(Device("cpu:0").str(), "cpu:0");
  EXPECT_EQ(error_of(""), "Device string must not be empty");
  for (const char* bad :
       {"cuda:", "cuda:-1", "cuda:01", "cpu:1:2", ":1", "cuda:1x", "cuda:128", "cuda:99999999999", "cu da"}) {
    EXPECT_EQ(error_of(bad), "Invalid device string: '" + std::string(bad) + "'");
  }
  for (const char* bad : {"gpu", "CPU", "cuda_"}) {
    const std::string e = error_of(bad);
    EXPECT_EQ(e.rfind("Expected one of cpu, cuda, ", 0), 0u) << e;
    EXPECT_NE(e.find(" device type at start of device string: " + std::string(bad)), std::string::npos) << e;
  }
  EXPECT_THROW(Device(kCPU, 1), Error);
  EXPECT_THROW(Device(kCUDA, -2), Error);
  std::ostringstream out;
  out << Device("cuda:1") << " " << kMeta;
  EXPECT_EQ(out.str(), "cuda:1 meta");
}

TEST(Scalar, KindsAndConversions) {
  EXPECT_EQ(Scalar().type(), kLong);
  EXPECT_EQ(Scalar(true).type(), kBool);
  EXPECT_EQ(Scalar(1.5f).type(), kDouble);
  EXPECT_EQ(Scalar(Half(1.5f)).toDouble(), 1.5);
  EXPECT_EQ(Scalar(complex<float>(1, 2)).type(), kComplexDouble);
  EXPECT_TRUE(Scalar(3).isIntegral(false));
  EXPECT_FALSE(Scalar(true).isIntegral(false));
  EXPECT_TRUE(Scalar(true).isIntegral(true));
  EXPECT_EQ(Scalar(2.7).toInt(), 2);
  EXPECT_EQ(Scalar(-2.7).toInt(), -2);
  EXPECT_EQ(Scalar(2.5).toBool(), true);
  EXPECT_EQ(Scalar(complex<double>(3, 0)).toInt(), 3);
  EXPECT_EQ(Scalar(complex<double>(3, 4)).toComplexFloat(), complex<float>(3, 4));
  EXPECT_EQ(Scalar(7).toComplexDouble(), complex<double>(7, 0));
  EXPECT_EQ(Scalar(std::numeric_limits<int64_t>::min()).toLong(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(std::isinf(Scalar(INFINITY).toFloat()));
  EXPECT_TRUE(std::isnan(Scalar(double(NAN)).toHalf()));
}

template <typename X>
std::string overflow_of(Scalar s) {
  try {
    s.to<X>();
  } catch (const std::runtime_error& e) {
    return dynamic_cast<const c10::Error&>(e).msg();
  }
  return "";
}

// The same values into the same types as torch.zeros(1, dtype).fill_(value).
TEST(Scalar, RangeChecks) {
  const auto text = [](const char* t) {
    return "value cannot be converted to type " + std::string(t) + " without overflow";
  };
  EXPECT_EQ(Scalar(-1).to<uint8_t>(), 255);
  EXPECT_EQ(Scalar(-200).to<uint8_t>(), 56);
  EXPECT_EQ(overflow_of<uint8_t>(-256), text("uint8_t"));
  EXPECT_EQ(overflow_of<uint8_t>(300), text("uint8_t"));
  EXPECT_EQ(overflow_of<uint8_t>(-0.5), text("uint8_t"));
  EXPECT_EQ(overflow_of<int8_t>(300), text("int8_t"));
  EXPECT_EQ(overflow_of<int8_t>(-128.5), text("int8_t"));
  EXPECT_EQ(Scalar(-128.0).to<int8_t>(), -128);
  EXPECT_EQ(Scalar(-0.5).to<int8_t>(), 0);
  EXPECT_EQ(overflow_of<int>(1e39), text("int"));
  EXPECT_EQ(overflow_of<int>(int64_t{1} << 31), text("int"));
  EXPECT_EQ(overflow_of<int64_t>(9223372036854775808.0), text("int64_t"));
  EXPECT_EQ(Scalar(-9223372036854775808.0).toLong(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(overflow_of<int64_t>(double(NAN)), text("int64_t"));
  EXPECT_EQ(overflow_of<Half>(70000), text("at::Half"));
  EXPECT_EQ(overflow_of<float>(1e39), text("float"));
  EXPECT_EQ(overflow_of<double>(complex<double>(0, 1)), text("double"));
  EXPECT_EQ(overflow_of<complex<float>>(complex<double>(0, 1e39)).empty(), false);
}

TEST(Scalar, Arithmetic) {
  EXPECT_EQ((-Scalar(3)).toLong(), -3);
  EXPECT_EQ((-Scalar(2.5)).toDouble(), -2.5);
  EXPECT_THROW(-Scalar(true), Error);
  EXPECT_EQ(Scalar(complex<double>(1, 2)).conj().toComplexDouble(), complex<double>(1, -2));
  EXPECT_DOUBLE_EQ(Scalar(2).log().toDouble(), std::log(2.0));
  EXPECT_TRUE(Scalar(3).equal(3));
  EXPECT_TRUE(Scalar(3.0).equal(3));
  EXPECT_FALSE(Scalar(3.5).equal(3));
  EXPECT_TRUE(Scalar(complex<double>(3, 0)).equal(3));
  EXPECT_TRUE(Scalar(3).equal(complex<double>(3, 0)));
  EXPECT_TRUE(Scalar(true).equal(true));
  std::ostringstream out;
  out << Scalar(3) << " " << Scalar(2.5) << " " << Scalar(true) << " " << Scalar(complex<double>(1, -2));
  EXPECT_EQ(out.str(), "3 2.5 true (1,-2)");
}

TensorOptions identity(TensorOptions options) {
  return options;
}

TEST(Scalar, UnsignedBeyondInt64) {
  constexpr uint64_t kBig = (uint64_t{1} << 63) + 5, kMost = std::numeric_limits<uint64_t>::max();
  const Scalar big(kBig), small(uint64_t{7}), negative(-1);
  EXPECT_EQ(big.type(), kUInt64);
  EXPECT_EQ(small.type(), kLong);
  EXPECT_EQ(Scalar(uint32_t{4294967295}).type(), kLong);
  EXPECT_TRUE(big.isIntegral(false));
  EXPECT_TRUE(big.isUnsigned());
  EXPECT_TRUE(small.isUnsigned());
  EXPECT_FALSE(negative.isUnsigned());
  EXPECT_FALSE(Scalar(1.0).isUnsigned());
  EXPECT_EQ(big.toUInt64(), kBig);
  EXPECT_EQ(negative.toUInt64(), kMost);
  EXPECT_EQ(big.toDouble(), 9223372036854775813.0);
  EXPECT_EQ(Scalar(kMost).toFloat(), 18446744073709551616.0f);
  EXPECT_TRUE(big.toBool());
  EXPECT_EQ(big.toComplexDouble(), complex<double>(9223372036854775813.0, 0));
  EXPECT_THROW(big.toLong(), Error);
  EXPECT_THROW(big.toUInt16(), Error);
  EXPECT_THROW(big.toByte(), Error);
  EXPECT_THROW(big.toHalf(), Error);
  EXPECT_EQ(str(big), "9223372036854775813");
  EXPECT_EQ((-big).toLong(), 9223372036854775803);
  EXPECT_TRUE(big.equal(kBig));
  EXPECT_FALSE(big.equal(static_cast<int64_t>(kBig)));
  EXPECT_FALSE(negative.equal(kMost));
  EXPECT_TRUE(small.equal(uint64_t{7}));
  EXPECT_TRUE(big.equal(9223372036854775813.0));
  EXPECT_FALSE(big.equal(true));
  EXPECT_EQ(big.conj().toUInt64(), kBig);
  EXPECT_EQ(Scalar(1e19).toUInt64(), 10000000000000000000u);
  EXPECT_THROW(Scalar(2e19).toUInt64(), Error);
  EXPECT_THROW(Scalar(-1.0).toUInt64(), Error);
  // A negative integer wraps where its magnitude fits.
  EXPECT_EQ(Scalar(-1).toUInt16(), 65535);
  EXPECT_EQ(Scalar(-65535).toUInt16(), 1);
  EXPECT_THROW(Scalar(-65536).toUInt16(), Error);
  EXPECT_THROW(Scalar(70000).toUInt16(), Error);
  EXPECT_EQ(Scalar(4294967295).toUInt32(), 4294967295u);
}

TEST(Scalar, FloatsOfEightBits) {
  EXPECT_EQ(Scalar(Float8_e4m3fn(2.0f)).toDouble(), 2.0);
  EXPECT_EQ(static_cast<float>(Scalar(448.0).toFloat8_e4m3fn()), 448.0f);
  EXPECT_EQ(static_cast<float>(Scalar(1).toFloat8_e5m2fnuz()), 1.0f);
  EXPECT_EQ(static_cast<float>(Scalar(0.5).toFloat8_e8m0fnu()), 0.5f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Scalar(INFINITY).toFloat8_e5m2())));
  EXPECT_TRUE(std::isnan(static_cast<float>(Scalar(NAN).toFloat8_e4m3fn())));
  EXPECT_THROW(Scalar(449.0).toFloat8_e4m3fn(), Error);
  EXPECT_THROW(Scalar(INFINITY).toFloat8_e4m3fn(), Error);
  EXPECT_THROW(Scalar(-1.0).toFloat8_e8m0fnu(), Error);
  EXPECT_THROW(Scalar(0.0).toFloat8_e8m0fnu(), Error);
  try {
    Scalar(1e6).toFloat8_e4m3fnuz();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.msg(), "value cannot be converted to type c10::Float8_e4m3fnuz without overflow");
  }
}

TEST(TensorOptions, ImplicitForms) {
  EXPECT_EQ(sizeof(TensorOptions), 8u);
  EXPECT_EQ(identity(kInt).dtype(), kInt);
  EXPECT_EQ(identity(TypeMeta(kInt)).dtype(), kInt);
  EXPECT_EQ(identity(kCUDA).device(), Device(kCUDA));
  EXPECT_EQ(identity({kCUDA, 1}).device(), Device(kCUDA, 1));
  EXPECT_EQ(identity("cuda:1").device(), Device(kCUDA, 1));
  EXPECT_EQ(identity(Device(kCUDA, 1)).device(), Device(kCUDA, 1));
  EXPECT_EQ(identity(TensorOptions(kSparse)).layout(), kSparse);
  EXPECT_FALSE(identity({}).has_dtype());
}

TEST(TensorOptions, SettersCopyAndGettersDefault) {
  const TensorOptions none;
  EXPECT_EQ(none.dtype(), kFloat);
  EXPECT_EQ(none.device(), Device(kCPU));
  EXPECT_EQ(none.layout(), kStrided);
  EXPECT_FALSE(none.requires_grad());
  EXPECT_FALSE(none.has_device());
  EXPECT_EQ(none.dtype_opt(), std::nullopt);
  set_default_dtype(kDouble);
  EXPECT_EQ(none.dtype(), kDouble);
  set_default_dtype(kFloat);
  const TensorOptions a = dtype(kDouble).device(kCUDA, 1).requires_grad(true).pinned_memory(true);
  EXPECT_EQ(a.dtype(), kDouble);
  EXPECT_EQ(a.device_index(), 1);
  EXPECT_TRUE(a.requires_grad());
  EXPECT_TRUE(a.pinned_memory());
  EXPECT_FALSE(a.has_layout());
  const TensorOptions b = a.dtype(kInt);
  EXPECT_EQ(a.dtype(), kDouble);
  EXPECT_EQ(b.dtype(), kInt);
  EXPECT_FALSE(a.requires_grad(std::nullopt).has_requires_grad());
  TensorOptions c;
  c.dtype<int64_t>();
  EXPECT_EQ(c.dtype(), kLong);
  const TensorOptions merged = a.merge_in(dtype(kHalf).memory_format(MemoryFormat::ChannelsLast));
  EXPECT_EQ(merged.dtype(), kHalf);
  EXPECT_EQ(merged.device(), Device(kCUDA, 1));
  EXPECT_EQ(merged.memory_format_opt(), MemoryFormat::ChannelsLast);
  EXPECT_TRUE(none.type_equal(kFloat));
  EXPECT_FALSE(none.type_equal(kDouble));
  EXPECT_EQ(none.device("cuda").device(), Device(kCUDA));
  EXPECT_EQ(none.device_index(1).device(), Device(kCUDA, 1));
}

TEST(TensorOptions, Text) {
  std::ostringstream out;
  out << TensorOptions();
  EXPECT_EQ(out.str(),
            "TensorOptions(dtype=float (default), device=cpu (default), layout=Strided (default), requires_grad=false "
            "(default), pinned_memory=false (default), memory_format=(nullopt))");
  out.str("");
  out << dtype(kLong).device("cuda:1").requires_grad(true).memory_format(MemoryFormat::ChannelsLast);
  EXPECT_EQ(out.str(),
            "TensorOptions(dtype=long int, device=cuda:1, layout=Strided (default), requires_grad=true, "
            "pinned_memory=false (default), memory_format=ChannelsLast)");
  EXPECT_TRUE(out.flags() & std::ios::boolalpha);
}

}  // namespace
}  // namespace c10
