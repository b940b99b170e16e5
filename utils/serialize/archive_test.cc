#include "utils/serialize/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "aten/core/empty.h"
#include "aten/ops/nested/ops.h"
#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/testing/files.h"
#include "utils/pickle/file.h"
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
  for (const char* name : {"/nested.safetensors", "/nested.pt"}) {
    const std::string path = fresh_folder() + name;
    out.save_to(path);
    const bool sorted = std::string_view(name).ends_with(".safetensors");
    EXPECT_EQ(pickle::recognises(c10::testing::read_file(path)), !sorted);
    if (sorted) EXPECT_TRUE(safetensors::File(path).contains("layer.weight"));

    InputArchive in, nested;
    in.load_from(path);
    if (sorted) {
      EXPECT_THAT(in.keys(), ElementsAre("bias", "empty", "layer"));
    } else {
      EXPECT_THAT(in.keys(), ElementsAre("layer", "empty", "bias"));
    }
    in.read("layer", nested);
    EXPECT_THAT(nested.keys(), ::testing::UnorderedElementsAre("step", "weight"));
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
  const at::Tensor same = other;
  in.read("t", other);
  EXPECT_EQ(same.sizes(), c10::IntArrayRef({3}));
  EXPECT_EQ(same.data_ptr<float>()[2], 3);
  at::Tensor wide = at::empty_contiguous({1}, ScalarType::Double);
  in.read("t", wide);
  EXPECT_EQ(wide.scalar_type(), ScalarType::Double);
  EXPECT_EQ(wide.data_ptr<double>()[2], 3);
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
  EXPECT_EQ(value.toBoolList().vec(), (std::vector<bool>{true, false}));
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
  reread(odd).read("device", value);
  EXPECT_EQ(value.toDevice().str(), "cpu");
  EXPECT_THROW(odd.use_format("safetensors").to_bytes(), c10::TypeError);
  EXPECT_THROW(odd.use_format("zip"), c10::ValueError);
}

TEST(Archive, ReadsAStreamAgain) {
  std::stringstream stream;
  torch::save(floats({1, 2}), stream);
  for (int i = 0; i < 2; ++i) {
    at::Tensor t;
    torch::load(t, stream);
    EXPECT_EQ(t.data_ptr<float>()[1], 2);
    EXPECT_TRUE(stream.good());
    stream.seekg(0);
  }
}

TEST(Archive, SaysWhichValueIsMissing) {
  OutputArchive out{std::shared_ptr<torch::jit::CompilationUnit>()};
  EXPECT_EQ(out.compilation_unit(), nullptr);
  out.write("value", c10::IValue(1));
  const InputArchive in = reread(out);
  c10::IValue value;
  try {
    in.read("bad_key", value);
    FAIL();
  } catch (const c10::Error& e) {
    EXPECT_THAT(e.msg(), HasSubstr("does not have a field with name 'bad_key'"));
  }
}

// Without a device a tensor goes back to where it was; a device that is not here is an error that says so.
TEST(Archive, DevicesAreMapped) {
  const std::string path = "utils/pickle/testdata/save/location_cuda_1@2.15.0.pt";
  InputArchive in;
  EXPECT_THROW(in.load_from(path), c10::NotImplementedError);
  in.load_from(path, c10::Device(c10::kCPU));
  EXPECT_FALSE(in.tensor_names().empty());
  at::Tensor meta;
  in.load_from(path, c10::Device("meta"));
  in.read(in.tensor_names()[0], meta);
  EXPECT_TRUE(meta.device().is_meta());
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
      // Three thousand tensors of four bytes are mostly what a tensor takes.
      const size_t objects = archive == &many ? 3000 * 1200 : 0;
      EXPECT_LE(testing::allocation_counts().peak - before, 4 * bytes.size() + objects) << from;
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
  ASSERT_EQ(archive_formats().size(), 2u);
  EXPECT_EQ(archive_formats()[0]->name(), "pickle");
  EXPECT_EQ(archive_formats()[1]->name(), "safetensors");
  EXPECT_TRUE(archive_formats()[0]->recognises(bytes));
  OutputArchive other;
  EXPECT_TRUE(archive_formats()[1]->recognises(other.use_format("safetensors").to_bytes()));
  EXPECT_FALSE(archive_formats()[1]->recognises("PK\x03\x04 a zip file"));
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

TEST(Pickles, ValuesThereAndBack) {
  c10::Dict<c10::IValue, c10::IValue> dict;
  dict.insert(
      "a", c10::IValue(std::vector<int64_t>{1, 300, 70000, -5, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}));
  dict.insert(3, c10::IValue(std::make_tuple(c10::IValue(), 0.1, true, c10::IValue("t"))));
  dict.insert("complex", c10::IValue(c10::complex<double>(1, -2)));
  dict.insert("unsigned", c10::IValue(c10::Scalar(~uint64_t{0})));
  const at::Tensor t = floats({1, 2, 3});
  c10::List<c10::IValue> list;
  for (int i = 0; i < 2500; ++i) list.push_back(i % 2 == 0 ? c10::IValue(t) : c10::IValue(std::vector<double>{1.5}));
  dict.insert("list", c10::IValue(list));
  const c10::IValue read = pickle_load(pickle_save(c10::IValue(dict)));
  const auto back = read.toGenericDict();
  EXPECT_EQ(back.at("a").toIntVector(), dict.at("a").toIntVector());
  EXPECT_EQ(back.at(3).toTupleRef().elements()[1].toDouble(), 0.1);
  EXPECT_TRUE(back.at(3).toTupleRef().elements()[0].isNone());
  EXPECT_EQ(back.at("complex").toComplexDouble().imag(), -2);
  EXPECT_EQ(back.at("unsigned").toUInt(), ~uint64_t{0});
  const auto items = back.at("list").toList();
  ASSERT_EQ(items.size(), 2500u);
  EXPECT_EQ(items.get(2498).toTensor().unsafeGetTensorImpl(), items.get(0).toTensor().unsafeGetTensorImpl());
  EXPECT_EQ(items.get(2499).toDoubleVector(), (std::vector<double>{1.5}));
  EXPECT_EQ(items.get(0).toTensor().data_ptr<float>()[2], 3);
  EXPECT_THROW(pickle_save(c10::IValue(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::kCPU)))), c10::TypeError);
}

TEST(Pickles, NestedTensorsAreRefused) {
  const at::Tensor nested = at::_nested_tensor_from_tensor_list({floats({1, 2}), floats({3})});
  EXPECT_THROW(pickle_save(c10::IValue(nested)), c10::TypeError);
  OutputArchive out;
  out.write("t", nested);
  EXPECT_THROW(out.to_bytes(), c10::TypeError);
  EXPECT_THROW(safetensors::save_file({{"t", nested}}, fresh_folder() + "/t.safetensors"), c10::TypeError);
}

TEST(Pickles, NestingTakesNoStack) {
  c10::IValue value = 1;
  const auto nest = [&](int levels) {
    for (int i = 0; i < levels; ++i) {
      c10::List<c10::IValue> list;
      list.push_back(std::move(value));
      value = c10::IValue(list);
    }
  };
  nest(9000);
  c10::IValue read = pickle_load(pickle_save(value));
  int depth = 0;
  while (read.isList()) {
    const c10::IValue next = read.toList().get(0);
    read = next;
    ++depth;
  }
  EXPECT_EQ(depth, 9000);
  nest(100000);
  EXPECT_THROW(pickle_load(pickle_save(value)), FormatError);
}

TEST(Pickles, AListThatHoldsItself) {
  c10::List<c10::IValue> list;
  list.push_back(c10::IValue(list));
  const c10::IValue read = pickle_load(pickle_save(c10::IValue(list)));
  EXPECT_TRUE(read.toList().get(0).toList().is(read.toList()));
  read.toList().clear();
  list.clear();
}

TEST(Pickles, EveryDtypeAndViewsThatShareMemory) {
  for (int i = 0; i <= static_cast<int>(ScalarType::BComplex32); ++i) {
    const auto dtype = static_cast<ScalarType>(i);
    if (c10::isQIntType(dtype) || dtype == ScalarType::QUInt4x2 || dtype == ScalarType::QUInt2x4) continue;
    at::Tensor bytes = at::empty_contiguous({static_cast<int64_t>(3 * c10::elementSize(dtype))}, ScalarType::Byte);
    for (int64_t k = 0; k < bytes.numel(); ++k) bytes.data_ptr<uint8_t>()[k] = static_cast<uint8_t>(k % 2);
    const at::Tensor t(
        at::TensorImpl::strided(bytes.storage().impl(), dtype, c10::Device(c10::kCPU), {2}, {2}, int64_t{0}));
    const at::Tensor u(
        at::TensorImpl::strided(bytes.storage().impl(), dtype, c10::Device(c10::kCPU), {1}, {1}, int64_t{1}));
    c10::List<c10::IValue> list;
    list.push_back(c10::IValue(t));
    list.push_back(c10::IValue(u));
    const c10::IValue read = pickle_load(pickle_save(c10::IValue(list)));
    const at::Tensor x = read.toList().get(0).toTensor(), y = read.toList().get(1).toTensor();
    EXPECT_EQ(x.scalar_type(), dtype);
    EXPECT_EQ(x.strides().vec(), (std::vector<int64_t>{2}));
    EXPECT_EQ(y.storage_offset(), 1);
    EXPECT_TRUE(x.storage().is_alias_of(y.storage()));
    EXPECT_EQ(std::memcmp(x.storage().data(), bytes.storage().data(), bytes.nbytes()), 0);
  }
  const at::Tensor t = floats({1});
  const at::Tensor other(
      at::TensorImpl::strided(t.storage().impl(), ScalarType::Int, c10::Device(c10::kCPU), {1}, {1}, int64_t{0}));
  EXPECT_THROW(pickle_save(c10::IValue(std::vector<at::Tensor>{t, other})), c10::ValueError);
}

at::Tensor sparse_diagonal() {
  at::Tensor indices = at::empty_contiguous({2, 3}, ScalarType::Long);
  for (int64_t i = 0; i < 6; ++i) indices.data_ptr<int64_t>()[i] = i % 3;
  return at::sparse::make_sparse({3, 3}, indices, floats({1, 2, 3}), /*coalesced=*/true);
}

TEST(Archive, SparseTensorsInPyTorchsFormatOnly) {
  OutputArchive out;
  out.write("buffer", sparse_diagonal(), /*is_buffer=*/true);
  at::Tensor back;
  reread(out).read("buffer", back, /*is_buffer=*/true);
  const at::SparseTensorImpl& parts = at::sparse::impl_of("test", back);
  EXPECT_EQ(back.sizes(), c10::IntArrayRef({3, 3}));
  EXPECT_TRUE(parts.coalesced());
  EXPECT_EQ(parts.indices().data_ptr<int64_t>()[5], 2);
  EXPECT_EQ(parts.values().data_ptr<float>()[2], 3);
  EXPECT_THROW(out.save_to(fresh_folder() + "/a.safetensors"), c10::TypeError);
}

// All names of what holds itself are without end, those of what holds a long name many times without measure.
TEST(Archive, NamesAreNoMoreThanMemoryBears) {
  c10::Dict<c10::IValue, c10::IValue> itself, holder, held;
  itself.insert("a", itself);
  for (int64_t i = 0; i < 200'000; ++i) held.insert(i, int64_t{0});
  holder.insert(std::string(1 << 20, 'k'), held);
  for (const auto& dict : {itself, holder}) {
    const std::vector<char> bytes = torch::pickle_save(dict);
    InputArchive in;
    in.load_from(bytes.data(), bytes.size());
    const size_t before = testing::reset_allocation_counts();
    EXPECT_THROW(in.tensor_names(), FormatError);
    EXPECT_LT(testing::allocation_counts().peak - before, size_t{300} << 20);
    c10::IValue whole;
    in >> whole;
    whole.toGenericDict().clear();
  }
  itself.clear();
}

}  // namespace
}  // namespace torch::serialize
