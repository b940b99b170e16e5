#include "utils/serialize/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "aten/core/empty.h"
#include "c10/testing/files.h"
#include "utils/serialize/archive_format.h"
#include "utils/serialize/counting_allocator.h"
#include "utils/serialize/safetensors.h"

namespace torch::serialize {
namespace {

using c10::ScalarType;
using c10::testing::fresh_folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

at::Tensor floats(std::initializer_list<float> values) {
  at::Tensor t = at::empty_contiguous({static_cast<int64_t>(values.size())}, ScalarType::Float);
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}

InputArchive reread(const OutputArchive& out) {
  const std::string bytes = out.to_bytes();
  InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  return in;
}

TEST(Archive, ValuesOfEveryKind) {
  OutputArchive out;
  out.write("i", int64_t{-42});
  out.write("min", std::numeric_limits<int64_t>::min());
  out.write("b", true);
  out.write("s", "a \"quoted\" \xc3\xa9\n");
  out.write("ints", std::vector<int64_t>{1, -2, 3});
  out.write("none", std::vector<int64_t>{});
  const std::vector<double> doubles = {0.1, -0.0, 1e-320, 1.7976931348623157e308, INFINITY, -INFINITY, 1.0 / 3};
  out.write("doubles", doubles);
  out.write("nan", std::nan(""));
  for (size_t i = 0; i < doubles.size(); ++i) out.write("d" + std::to_string(i), doubles[i]);
  const InputArchive in = reread(out);

  int64_t i = 0;
  in.read("i", i);
  EXPECT_EQ(i, -42);
  in.read("min", i);
  EXPECT_EQ(i, std::numeric_limits<int64_t>::min());
  bool b = false;
  in.read("b", b);
  EXPECT_TRUE(b);
  std::string s;
  in.read("s", s);
  EXPECT_EQ(s, "a \"quoted\" \xc3\xa9\n");
  std::vector<int64_t> ints;
  in.read("ints", ints);
  EXPECT_THAT(ints, ElementsAre(1, -2, 3));
  in.read("none", ints);
  EXPECT_TRUE(ints.empty());
  std::vector<double> list;
  in.read("doubles", list);
  ASSERT_EQ(list.size(), doubles.size());
  for (size_t k = 0; k < doubles.size(); ++k) {
    double d = 5;
    in.read("d" + std::to_string(k), d);
    EXPECT_EQ(std::signbit(d), std::signbit(doubles[k]));
    EXPECT_EQ(d, doubles[k]);
    EXPECT_EQ(list[k], doubles[k]);
  }
  double nan = 0;
  in.read("nan", nan);
  EXPECT_TRUE(std::isnan(nan));
  EXPECT_THROW(in.try_read("i", s), c10::TypeError);
  EXPECT_THROW(in.try_read("s", i), c10::TypeError);
  EXPECT_FALSE(in.try_read("zz", i));
  EXPECT_THROW(in.read("zz", i), c10::Error);
}

TEST(Archive, NestsLikeAStateDict) {
  OutputArchive out, layer, empty;
  layer.write("weight", floats({1, 2}));
  layer.write("step", int64_t{3});
  out.write("layer", layer);
  out.write("empty", empty);
  out.write("bias", floats({4}));
  const std::string path = fresh_folder() + "/nested.pt";
  out.save_to(path);
  EXPECT_TRUE(safetensors::File(path).contains("layer.weight"));

  InputArchive in, nested;
  in.load_from(path);
  EXPECT_THAT(in.keys(), ElementsAre("bias", "empty", "layer"));
  in.read("layer", nested);
  EXPECT_THAT(nested.keys(), ElementsAre("step", "weight"));
  EXPECT_THAT(nested.tensor_names(), ElementsAre("weight"));
  ASSERT_EQ(nested.values().size(), 1u);
  EXPECT_EQ(nested.values()[0].first, "step");
  EXPECT_EQ(nested.values()[0].second.toInt(), 3);
  EXPECT_THAT(in.tensor_names(), ::testing::UnorderedElementsAre("layer.weight", "bias"));
  at::Tensor w;
  nested.read("weight", w);
  EXPECT_EQ(w.data_ptr<float>()[1], 2);
  int64_t step = 0;
  nested.read("step", step);
  EXPECT_EQ(step, 3);
  in.read("empty", nested);
  EXPECT_TRUE(nested.keys().empty());
  EXPECT_FALSE(in.try_read("lay", nested));
  try {
    in.read("zz", w);
    FAIL();
  } catch (const c10::Error& e) {
    EXPECT_THAT(e.msg(), HasSubstr("No such serialized tensor 'zz'"));
  }
  try {
    in.read("zz", nested);
    FAIL();
  } catch (const c10::Error& e) {
    EXPECT_THAT(e.msg(), HasSubstr("No such serialized submodule: 'zz'"));
  }
}

TEST(Archive, ReadsIntoADefinedTensorInPlace) {
  OutputArchive out;
  out.write("t", floats({1, 2, 3}));
  const InputArchive in = reread(out);
  at::Tensor t = floats({0, 0, 0});
  const void* data = t.data_ptr();
  in.read("t", t);
  EXPECT_EQ(t.data_ptr(), data);
  EXPECT_EQ(t.data_ptr<float>()[2], 3);
  at::Tensor doubles = at::empty_contiguous({3}, ScalarType::Double);
  in.read("t", doubles);
  EXPECT_EQ(doubles.data_ptr<double>()[1], 2);
  at::Tensor other = floats({7, 7});
  EXPECT_THROW(in.read("t", other), c10::ValueError);
  EXPECT_EQ(other.data_ptr<float>()[0], 7);
}

TEST(SaveAndLoad, TensorsAndLists) {
  const std::string path = fresh_folder() + "/tensors.pt";
  torch::save(floats({1, 2}), path);
  at::Tensor t;
  torch::load(t, path);
  EXPECT_EQ(t.data_ptr<float>()[1], 2);

  std::stringstream stream;
  torch::save(std::vector<at::Tensor>{floats({1}), floats({2})}, stream);
  std::vector<at::Tensor> list = {floats({0})};
  torch::load(list, stream);
  ASSERT_EQ(list.size(), 3u) << "loading appends";
  EXPECT_EQ(list[2].data_ptr<float>()[0], 2);

  std::string bytes;
  torch::save(floats({5}), [&](const void* data, size_t n) {
    n = std::min<size_t>(n, 7);  // a writer may take less than it is given
    bytes.append(static_cast<const char*>(data), n);
    return n;
  });
  at::Tensor u;
  torch::load(
      u,
      [&](uint64_t at, void* out, size_t n) {
        n = std::min<size_t>(n, 11);
        bytes.copy(static_cast<char*>(out), n, at);
        return n;
      },
      [&] { return bytes.size(); });
  EXPECT_EQ(u.data_ptr<float>()[0], 5);
  EXPECT_THROW(torch::load(u, bytes.data(), bytes.size() - 1), FormatError);
  EXPECT_THROW(torch::load(u, std::string("/no/such/file")), IoError);
}

TEST(Archive, ValuesOfAnyKind) {
  OutputArchive out;
  out.write("none", c10::IValue());
  out.write("list", std::vector<bool>{true, false});
  out.write("text", c10::IValue("t"));
  out.write("tensor", c10::IValue(floats({3})));
  out("number", 4);
  InputArchive in = reread(out);
  c10::IValue value = 5;
  in.read("none", value);
  EXPECT_TRUE(value.isNone());
  in.read("list", value);
  EXPECT_EQ(value.toBoolList(), (std::vector<bool>{true, false}));
  in("text", value);
  EXPECT_EQ(value.toStringRef(), "t");
  in.read("tensor", value);
  EXPECT_EQ(value.toTensor().data_ptr<float>()[0], 3);
  in.read("number", value);
  EXPECT_EQ(value.toInt(), 4);
  EXPECT_FALSE(in.try_read("zz", value));
  EXPECT_THROW(in.read("zz", value), c10::Error);
  OutputArchive odd;
  odd.write("device", c10::IValue(c10::Device(c10::kCPU)));
  EXPECT_THROW(odd.to_bytes(), c10::TypeError);
}

TEST(Archive, ReadsStreamsFromWhereTheyStand) {
  OutputArchive out;
  out.write("t", floats({1, 2}));
  std::stringstream stream;
  stream << "before";
  out.save_to(stream);
  char before[6];
  stream.read(before, 6);
  InputArchive in;
  in.load_from(stream);
  at::Tensor t;
  in.read("t", t);
  EXPECT_EQ(t.data_ptr<float>()[1], 2);
}

// A stream that cannot say how long it is.
class Pipe : public std::streambuf {
 public:
  explicit Pipe(std::string bytes) : bytes_(std::move(bytes)) {
    setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
  }

 private:
  std::string bytes_;
};

TEST(Archive, ReadingAllocatesAtMostFourTimesTheFile) {
  OutputArchive large, many;
  at::Tensor t = at::empty_contiguous({1 << 18}, ScalarType::Float);
  std::fill_n(t.data_ptr<float>(), t.numel(), 1.0f);
  large.write("t", t);
  for (int i = 0; i < 3000; ++i) many.write("layer." + std::to_string(i) + ".weight", floats({1}));
  for (const OutputArchive* archive : {&large, &many}) {
    const std::string bytes = archive->to_bytes();
    const auto check = [&](const char* from, const auto& load) {
      InputArchive in;
      const size_t before = testing::reset_allocation_counts();
      load(in);
      at::Tensor read;
      in.read(archive == &large ? "t" : "layer.2.weight", read);
      EXPECT_LE(testing::allocation_counts().peak - before, 4 * bytes.size()) << from;
    };
    check("memory", [&](InputArchive& in) { in.load_from(bytes.data(), bytes.size()); });
    std::stringstream stream(bytes);
    check("a stream", [&](InputArchive& in) { in.load_from(stream); });
    Pipe pipe(bytes);
    std::istream endless(&pipe);
    ASSERT_EQ(endless.tellg(), std::istream::pos_type(-1));
    check("a pipe", [&](InputArchive& in) { in.load_from(endless); });
    check("functions", [&](InputArchive& in) {
      in.load_from([&](uint64_t at, void* out, size_t n) { return bytes.copy(static_cast<char*>(out), n, at); },
                   [&] { return bytes.size(); });
    });
  }
}

TEST(Archive, FormatsAreKnownByTheirFirstBytes) {
  const std::string bytes = OutputArchive().to_bytes();
  ASSERT_EQ(archive_formats().size(), 1u);
  EXPECT_EQ(archive_formats()[0]->name(), "safetensors");
  EXPECT_TRUE(archive_formats()[0]->recognises(bytes));
  EXPECT_FALSE(archive_formats()[0]->recognises("PK\x03\x04 a zip file"));
  InputArchive in;
  EXPECT_THROW(in.load_from("PK\x03\x04 a zip file", 16), FormatError);
}

TEST(Archive, KeysComeOnce) {
  OutputArchive out;
  out.write("a", floats({1}));
  out.write("a", floats({2}));
  EXPECT_THROW(out.to_bytes(), c10::ValueError);
  OutputArchive values;
  values.write("a", int64_t{1});
  values.write("a", int64_t{1});
  EXPECT_THROW(values.to_bytes(), c10::ValueError);
  EXPECT_THROW(values.write("t", at::Tensor()), c10::ValueError);
  EXPECT_THROW(values.write("t", values), c10::ValueError);
  EXPECT_THROW(InputArchive().keys(), c10::Error);
}

}  // namespace
}  // namespace torch::serialize
