// Reads files that four versions of PyTorch wrote and compares them with what their descriptions say, and files that
// are damaged or hostile. KINDLING_PICKLE_FILES names a folder with more of them (subfolders save and hostile).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/quantized/quantized_tensor_impl.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/core/grad_mode.h"
#include "utils/pickle/bare_pickle.h"
#include "utils/pickle/file.h"
#include "utils/pickle/names.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/counting_allocator.h"
#include "utils/serialize/safetensors.h"

namespace torch::pickle {
namespace {

using c10::IValue;
using nlohmann::json;
namespace fs = std::filesystem;

std::string folder() {
  const char* given = std::getenv("KINDLING_PICKLE_FILES");
  return given != nullptr ? given : "utils/pickle/testdata";
}

std::string bytes_of(const IValue& value) { return value.isString() ? value.toStringRef() : "<no bytes>"; }

std::string unhex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

// Numbers that JSON cannot hold are objects.
double number_of(const json& j) {
  if (j.is_object()) return std::strtod(j.at("float").get<std::string>().c_str(), nullptr);
  return j.get<double>();
}

class Comparison {
 public:
  explicit Comparison(const std::string& tensors) {
    if (fs::exists(tensors)) file_.emplace(tensors);
  }
  // Integers beyond 64 bits: what is not supported.
  void compare(const json& want, const IValue& got, const std::string& at);
  static bool unsupported(const json& want);

 private:
  void tensor(const json& want, const IValue& got, const std::string& at);
  void numbers(const json& want, const at::Tensor& got, const std::string& at);
  void quantized(const json& want, const IValue& got, const std::string& at);
  void sparse(const json& want, const IValue& got, const std::string& at);
  void items(const json& want, const std::vector<IValue>& got, const std::string& at);

  std::optional<safetensors::File> file_;
  std::map<int64_t, const void*> storages_;
};

bool Comparison::unsupported(const json& want) {
  if (want.is_object()) {
    if (want.contains("int")) {
      const std::string text = want["int"];
      errno = 0;
      if (text[0] == '-') {
        std::strtoll(text.c_str(), nullptr, 10);
      } else {
        std::strtoull(text.c_str(), nullptr, 10);
      }
      return errno != 0;
    }
  }
  if (want.is_structured()) {
    for (const auto& item : want) {
      if (unsupported(item)) return true;
    }
  }
  return false;
}

void Comparison::items(const json& want, const std::vector<IValue>& got, const std::string& at) {
  ASSERT_EQ(want.size(), got.size()) << at;
  for (size_t i = 0; i < got.size(); ++i) compare(want[i], got[i], at + "[" + std::to_string(i) + "]");
}

void Comparison::tensor(const json& want, const IValue& got, const std::string& at) {
  ASSERT_TRUE(got.isTensor()) << at;
  const at::Tensor t = got.toTensor();
  EXPECT_EQ(name_of_dtype(t.scalar_type()), want["dtype"].get<std::string>()) << at;
  EXPECT_EQ(t.sizes().vec(), want["size"].get<std::vector<int64_t>>()) << at;
  EXPECT_EQ(t.requires_grad(), want.value("requires_grad", false)) << at;
  if (want.value("device", "") == "meta") {
    EXPECT_TRUE(t.device().is_meta()) << at;
    return;
  }
  const bool lazy = want.value("conj", false) || want.value("neg", false);
  if (want.contains("stride") && !lazy) EXPECT_EQ(t.strides().vec(), want["stride"].get<std::vector<int64_t>>()) << at;
  if (!lazy) {
    EXPECT_EQ(t.storage_offset(), want.value("storage_offset", int64_t{0})) << at;
    if (want.contains("storage_bytes")) EXPECT_EQ(t.storage().nbytes(), want["storage_bytes"].get<size_t>()) << at;
    if (want.contains("storage") && t.storage().nbytes() > 0) {
      const auto [found, fresh] = storages_.emplace(want["storage"].get<int64_t>(), t.storage().data());
      EXPECT_EQ(found->second, t.storage().data()) << at << ": memory is not shared";
    }
  }
  if (want.contains("tensor") && !want["tensor"].is_null()) numbers(want, t, at);
}

void Comparison::numbers(const json& want, const at::Tensor& t, const std::string& at) {
  const c10::NoGradGuard no_grad;
  at::Tensor rows = at::empty_contiguous(t.sizes(), t.scalar_type());
  at::copy_(rows, t);
  const at::Tensor wanted = file_->get(want["tensor"].get<std::string>());
  ASSERT_EQ(rows.nbytes(), wanted.nbytes()) << at;
  if (rows.nbytes() > 0) EXPECT_EQ(std::memcmp(rows.data_ptr(), wanted.data_ptr(), rows.nbytes()), 0) << at;
}

void Comparison::quantized(const json& want, const IValue& got, const std::string& at) {
  ASSERT_TRUE(got.isTensor() && got.toTensor().is_quantized()) << at;
  const at::Tensor t = got.toTensor();
  EXPECT_EQ(name_of_dtype(t.scalar_type()), want["dtype"].get<std::string>()) << at;
  EXPECT_EQ(t.sizes().vec(), want["size"].get<std::vector<int64_t>>()) << at;
  numbers(want["int_repr"], at::quantized::integers("test", t), at);
  const at::Quantizer& quantizer = at::quantized::impl_of("test", t).quantizer();
  if (want["qscheme"] == "per_tensor_affine") {
    ASSERT_TRUE(quantizer.per_tensor()) << at;
    EXPECT_EQ(quantizer.scale, want["scale"].get<double>()) << at;
    EXPECT_EQ(quantizer.zero_point, want["zero_point"].get<int64_t>()) << at;
  } else {
    ASSERT_EQ(quantizer.scheme, c10::kPerChannelAffine) << at;
    EXPECT_EQ(quantizer.axis, want["axis"].get<int64_t>()) << at;
    numbers(want["scales"], quantizer.scales, at);
    numbers(want["zero_points"], quantizer.zero_points, at);
  }
}

void Comparison::sparse(const json& want, const IValue& got, const std::string& at) {
  ASSERT_TRUE(got.isTensor()) << at;
  const at::Tensor t = got.toTensor();
  EXPECT_EQ(name_of_dtype(t.scalar_type()), want["dtype"].get<std::string>()) << at;
  EXPECT_EQ(t.sizes().vec(), want["size"].get<std::vector<int64_t>>()) << at;
  ASSERT_EQ(name_of_layout(t.layout()), "torch." + want["layout"].get<std::string>()) << at;
  if (t.layout() == c10::Layout::Sparse) {
    const at::SparseTensorImpl& parts = at::sparse::impl_of("test", t);
    // PyTorch 1.13 does not write it.
    if (at.find("@1.13") == std::string::npos) EXPECT_EQ(parts.coalesced(), want["coalesced"].get<bool>()) << at;
    tensor(want["indices"], parts.indices(), at);
    return tensor(want["values"], parts.values(), at);
  }
  const at::SparseCsrTensorImpl& parts = at::sparse::compressed_impl_of("test", t);
  tensor(want["compressed_indices"], parts.compressed(), at);
  tensor(want["plain_indices"], parts.plain(), at);
  tensor(want["values"], parts.values(), at);
}

void Comparison::compare(const json& want, const IValue& got, const std::string& at) {
  if (want.is_null()) {
    EXPECT_TRUE(got.isNone()) << at;
  } else if (want.is_boolean()) {
    ASSERT_TRUE(got.isBool()) << at;
    EXPECT_EQ(got.toBool(), want.get<bool>()) << at;
  } else if (want.is_number_integer()) {
    ASSERT_TRUE(got.isInt()) << at;
    EXPECT_EQ(got.toInt(), want.get<int64_t>()) << at;
  } else if (want.is_number()) {
    ASSERT_TRUE(got.isDouble()) << at;
    EXPECT_EQ(got.toDouble(), want.get<double>()) << at;
  } else if (want.is_string()) {
    ASSERT_TRUE(got.isString()) << at;
    EXPECT_EQ(got.toStringRef(), want.get<std::string>()) << at;
  } else if (want.is_array()) {
    ASSERT_TRUE(got.isList()) << at;
    items(want, got.toListRef().vec(), at);
  } else if (want.contains("qscheme")) {
    quantized(want, got, at);
  } else if (want.contains("layout") && want.contains("values")) {
    sparse(want, got, at);
  } else if (want.contains("tensor") || want.contains("same_as")) {
    tensor(want, got, at);
  } else if (want.contains("float")) {
    ASSERT_TRUE(got.isDouble()) << at;
    const double number = number_of(want);
    EXPECT_TRUE(number == got.toDouble() || (number != number && got.toDouble() != got.toDouble())) << at;
  } else if (want.contains("int")) {
    const std::string text = want["int"];
    EXPECT_EQ(got.isInt() ? std::to_string(got.toInt()) : std::to_string(got.toUInt()), text) << at;
  } else if (want.contains("complex")) {
    ASSERT_TRUE(got.isComplexDouble()) << at;
    EXPECT_EQ(got.toComplexDouble().real(), number_of(want["complex"][0])) << at;
    EXPECT_EQ(got.toComplexDouble().imag(), number_of(want["complex"][1])) << at;
  } else if (want.contains("tuple")) {
    ASSERT_TRUE(got.isTuple()) << at;
    items(want["tuple"], got.toTupleRef().elementsArrayRef().vec(), at);
  } else if (want.contains("values") && want.contains("namedtuple")) {
    ASSERT_TRUE(got.isTuple()) << at;
  } else if (want.contains("bytes") || want.contains("bytearray")) {
    EXPECT_EQ(bytes_of(got), unhex(want.contains("bytes") ? want["bytes"] : want["bytearray"])) << at;
  } else if (want.contains("set")) {
    ASSERT_TRUE(got.isList()) << at;
    EXPECT_EQ(got.toListRef().size(), want["set"].size()) << at;
  } else if (want.contains("size")) {
    EXPECT_EQ(got.toIntVector(), want["size"].get<std::vector<int64_t>>()) << at;
  } else if (want.contains("dtype")) {
    EXPECT_EQ(name_of_dtype(static_cast<c10::ScalarType>(got.toInt())), want["dtype"].get<std::string>()) << at;
  } else if (want.contains("device")) {
    ASSERT_TRUE(got.isDevice()) << at;
    EXPECT_EQ(got.toDevice().str(), want["device"].get<std::string>()) << at;
  } else if (want.contains("layout")) {
    EXPECT_TRUE(got.isInt()) << at;
  } else {
    const char* kinds[] = {"dict", "ordered_dict", "counter"};
    for (const char* kind : kinds) {
      if (!want.contains(kind)) continue;
      ASSERT_TRUE(got.isGenericDict()) << at;
      std::vector<IValue> flat;
      for (const auto& entry : got.toGenericDict()) {
        flat.push_back(entry.key());
        flat.push_back(entry.value());
      }
      json pairs = json::array();
      for (const json& pair : want[kind]) {
        pairs.push_back(pair[0]);
        pairs.push_back(pair[1]);
      }
      return items(pairs, flat, at + "." + kind);
    }
    ADD_FAILURE() << at << ": cannot compare with " << want.dump().substr(0, 200);
  }
}

json description(const fs::path& path) { return json::parse(std::ifstream(path)); }

TEST(SavedFiles, HoldWhatTheirDescriptionsSay) {
  size_t read = 0, refused = 0;
  for (const auto& entry : fs::directory_iterator(folder() + "/save")) {
    if (entry.path().extension() != ".json") continue;
    const json described = description(entry.path());
    const std::string stem = entry.path().string().substr(0, entry.path().string().size() - 5);
    for (const auto& name : described["files"]) {
      const std::string path = folder() + "/save/" + name.get<std::string>();
      if (!fs::exists(path)) continue;
      const std::string what = name.get<std::string>();
      const bool elsewhere = what.rfind("location_", 0) == 0;
      LoadOptions options;
      if (elsewhere) options.map_location = c10::Device(c10::kCPU);
      IValue value;
      try {
        value = load(path, options);
      } catch (const c10::NotImplementedError& e) {
        EXPECT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr(path), ::testing::HasSubstr("at byte")));
        EXPECT_TRUE(!described.contains("value") || Comparison::unsupported(described["value"]))
            << what << ": " << e.msg();
        EXPECT_GT(inspect(path).size(), 10u) << what;
        ++refused;
        continue;
      } catch (const serialize::FormatError& e) {
        EXPECT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr(path), ::testing::HasSubstr("at byte")));
        EXPECT_EQ(described["weights_only"], false) << what << ": " << e.msg();
        ++refused;
        continue;
      }
      ++read;
      if (described.contains("value")) {
        Comparison(stem + ".io.safetensors").compare(described["value"], value, what);
      }
      if (elsewhere) EXPECT_THROW(load(path), c10::NotImplementedError) << what;
      testing::take_apart(std::move(value));
    }
  }
  std::printf("%zu files read, %zu refused\n", read, refused);
  EXPECT_GE(read, 40u);
}

TEST(HostileFiles, AreRefusedByNameAndByte) {
  const json manifest = description(folder() + "/hostile/manifest.json");
  size_t refused = 0, accepted = 0;
  const json& files = manifest.contains("files") ? manifest["files"] : manifest;
  for (const auto& [key, entry] : files.items()) {
    const std::string name = files.is_array() ? entry["file"].get<std::string>() : key;
    if (fs::path(name).extension() != ".pt") continue;
    const std::string path = folder() + "/hostile/" + name;
    if (!fs::exists(path)) continue;
    const std::string expect = entry["expect"];
    const auto size = static_cast<size_t>(fs::file_size(path));
    const size_t before = serialize::testing::reset_allocation_counts();
    bool ok = false;
    std::string message;
    try {
      IValue value = load(path);
      ok = true;
      testing::take_apart(std::move(value));
    } catch (const c10::Error& e) {
      message = e.msg();
      const bool typed = dynamic_cast<const serialize::FormatError*>(&e) != nullptr ||
                         dynamic_cast<const c10::NotImplementedError*>(&e) != nullptr;
      EXPECT_TRUE(typed) << name << ": " << message;
      EXPECT_THAT(message, ::testing::AllOf(::testing::HasSubstr(path), ::testing::HasSubstr("at byte"))) << name;
    }
    const size_t peak = serialize::testing::allocation_counts().peak - before;
    if (std::getenv("KINDLING_PICKLE_VERBOSE") != nullptr) {
      std::printf("%-40s %-7s %s size %zu peak %zu  %s\n", name.c_str(), expect.c_str(), ok ? "READ" : "refused", size,
                  peak, message.c_str());
    }
    ok ? ++accepted : ++refused;
    if (expect == "refuse") EXPECT_FALSE(ok) << name << ": " << entry["why"];
    if (expect == "accept" && !ok) {
      EXPECT_THAT(message, ::testing::HasSubstr("beyond 64 bits")) << name;
    }
  }
  std::printf("%zu refused, %zu accepted\n", refused, accepted);
  EXPECT_GE(refused, 100u);
  EXPECT_FALSE(fs::exists("/tmp/kindling_owned"));
}

TEST(BarePickles, ComeBackAsTheyWere) {
  const c10::List<int64_t> list({1, 2});
  const IValue value = c10::ivalue::Tuple::create({IValue(2.5), IValue("text"), IValue(list), IValue()});
  const std::vector<char> bytes = jit::pickle(value);
  EXPECT_EQ(bytes[0], '\x80');
  const IValue back = jit::unpickle(bytes.data(), bytes.size());
  EXPECT_EQ(back.toTupleRef().elements()[0].toDouble(), 2.5);
  EXPECT_EQ(back.toTupleRef().elements()[2].toIntVector(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(back.toTupleRef().elements()[3].isNone());
  EXPECT_THROW(jit::pickle(at::empty_contiguous({2}, c10::kFloat)), c10::NotImplementedError);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_THROW(jit::unpickle(bytes.data(), size), c10::Error);
}

// Both say the same, from the names of functions to the keys of storages.
TEST(SavedFiles, SparseTensorsAreWrittenAsPythonDoes) {
  const std::string python = folder() + "/save/sparse@2.15.0.pt";
  testing::StringSink sink;
  save(load(python), sink);
  const auto ours = std::make_shared<serialize::FileBytes>(std::move(sink.text), "ours.pt");
  EXPECT_EQ(inspect(ours), inspect(python));
  Comparison(folder() + "/save/sparse@2.15.0.io.safetensors")
      .compare(description(folder() + "/save/sparse@2.15.0.json")["value"], load(ours), "ours");
}

IValue unpickled(const std::string& pickle) { return jit::unpickle(pickle.data(), pickle.size()); }

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string sized(char op, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  return op + std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

TEST(Pickle, TextsOfAnyBytesComeBack) {
  const c10::List<std::string> texts({"\xff\xfe", "\xed\xa0\x80", "\xff\xfe", std::string("\0x", 2), "\xc3\xa9"});
  const at::Tensor t = at::empty_contiguous({0}, c10::kFloat);
  const std::string like_a_global("\0ccollections\nOrderedDict\n", 26);
  const auto spelled = c10::ivalue::Tuple::create({IValue(like_a_global), IValue(t)});
  testing::StringSink sink;
  save(c10::ivalue::Tuple::create({IValue(texts), IValue(spelled)}), sink);
  const IValue back = load(std::make_shared<serialize::FileBytes>(std::move(sink.text), "texts.pt"));
  const auto& parts = back.toTupleRef().elements();
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(parts[0].toListRef()[i].toStringRef(), texts.get(i)) << i;
  EXPECT_TRUE(parts[1].toTupleRef().elements()[1].isTensor());
}

// The argument is in the pickle once, each call copies it.
TEST(Pickle, CopiesOfOneArgumentAreLimited) {
  const std::string list = "]q\x01(" + repeated("K\x05", 2000) + "e0";
  const std::string text = sized('X', std::string(2000, 'x')) + "q\x01" + "0" + sized('X', "latin1") + "q\x02" + "0";
  const std::string dict = "}q\x01(" + repeated("K\x05K\x06", 2000) + "u0";
  const std::string bytes = sized('B', std::string(2000, 'x')) + "q\x01" + "0";
  const std::string start = "\x80\x02";
  const struct {
    std::string argument, callable, call;
  } cases[] = {{list, "cbuiltins\nset\n", "h\1\x85R"},
               {list, "ctorch.jit._pickle\nbuild_intlist\n", "h\1\x85R"},
               {dict, "ccollections\nOrderedDict\n", "h\1\x85R"},
               {bytes, "cbuiltins\nbytearray\n", "h\1\x85R"},
               {text, "c_codecs\nencode\n", "h\1h\2\x86R"},
               {"(" + repeated("K\x05", 2000) + "tq\x01" + "0", "ctorch\nSize\n", "h\1\x85R"}};
  for (const auto& c : cases) {
    const auto calls = [&](int times) {
      return start + c.argument + c.callable + "q\x03" + "0](" + repeated("h\3" + c.call, times) + "e.";
    };
    EXPECT_EQ(unpickled(calls(1)).toListRef().size(), 1u) << c.callable;
    try {
      unpickled(calls(2000));
      ADD_FAILURE() << c.callable;
    } catch (const serialize::FormatError& e) {
      EXPECT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr("copies"), ::testing::HasSubstr("at byte")));
    }
  }
}

TEST(Pickle, ConjugateCopiesOfOneStorageAreLimited) {
  const auto with_tensors = [](int times) {
    testing::StringSink sink;
    ZipWriter zip(sink, "archive");
    std::string pickle = "\x80\x02(" + sized('X', "storage") + "ctorch\nComplexFloatStorage\n" + sized('X', "0") +
                         sized('X', "cpu") + "M\xe8\x03tQq\1" + "0";
    const std::string make = "ctorch._utils\n_rebuild_tensor_v2\n(h\1K" + std::string(1, '\0') +
                             "M\xe8\x03\x85K\1\x85\x89N}" + sized('X', "conj") + "\x88stR";
    pickle += "](" + repeated(make, times) + "e.";
    zip.add_copy("data.pkl", pickle);
    zip.add_copy("data/0", std::string(8000, '\1'));
    zip.add_copy("version", "3\n");
    zip.finish();
    return std::make_shared<serialize::FileBytes>(std::move(sink.text), "conj.pt");
  };
  EXPECT_EQ(load(with_tensors(10)).toListRef().size(), 10u);
  EXPECT_THROW(load(with_tensors(100)), serialize::FormatError);
}

// Lists that are filled after they were put into others.
TEST(Pickle, DepthIsThatOfTheFinishedValue) {
  const auto nested = [](uint32_t lists) {
    const auto number = [](char op, uint32_t i) { return op + std::string(reinterpret_cast<const char*>(&i), 4); };
    std::string pickle = "\x80\x02";
    for (uint32_t i = 0; i < lists; ++i) pickle += "]" + number('r', i) + "0";
    for (uint32_t i = 0; i + 1 < lists; ++i) pickle += number('j', i) + number('j', i + 1) + "a0";
    return pickle + number('j', 0) + ".";
  };
  EXPECT_TRUE(unpickled(nested(9000)).isList());
  EXPECT_THROW(unpickled(nested(10002)), serialize::FormatError);
}

TEST(Pickle, ComplexKeysAreRefusedByTheirByte) {
  const std::string zero(8, '\0');
  try {
    unpickled("\x80\x02}cbuiltins\ncomplex\nG" + zero + "G" + zero + "\x86RK\1s.");
    ADD_FAILURE();
  } catch (const serialize::FormatError& e) {
    EXPECT_THAT(e.msg(), ::testing::AllOf(::testing::HasSubstr("complex"), ::testing::HasSubstr("at byte")));
  }
}

TEST(OldestFiles, QuantizedClassesAreRefused) {
  std::string file = serialize::read_file(folder() + "/save/oldest_tar@2.15.0.pt");
  size_t changed = 0;
  for (size_t at; (at = file.find("torch\nFloatStorage")) != std::string::npos; ++changed) {
    file.replace(at + 6, 5, "QInt8");
  }
  ASSERT_GT(changed, 0u);
  try {
    load(std::make_shared<serialize::FileBytes>(std::move(file), "old.pt"));
    ADD_FAILURE();
  } catch (const serialize::FormatError& e) {
    EXPECT_THAT(e.msg(), ::testing::HasSubstr("quantizer"));
  }
}

}  // namespace
}  // namespace torch::pickle
