#include "utils/package/package.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/message_of.h"
#include "c10/value/dict.h"
#include "utils/pickle/testing.h"

namespace torch::package {
namespace {

using c10::testing::message_of;
using pickle::testing::StringSink;

constexpr char kOfPython[] = "utils/package/testdata/python@2.15.0.pt";

std::vector<float> values_of(const at::Tensor& t) {
  return std::vector<float>(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel());
}
at::Tensor tensor_at(const c10::IValue& dict, const char* key) {
  return dict.toGenericDict().at(c10::IValue(key)).toTensor();
}
std::shared_ptr<serialize::FileBytes> bytes_of(const std::string& text) {
  return std::make_shared<serialize::FileBytes>(text, "memory");
}

TEST(Package, ReadsWhatPythonWrote) {
  const PackageImporter importer(kOfPython);
  EXPECT_EQ(importer.file_structure(),
            (std::vector<std::string>{"code.py", "config/a.txt", "config/b.bin", "model/object.pkl",
                                      "model/sub/state.pkl", "model/weights.pkl"}));
  EXPECT_EQ(importer.python_version().rfind("3.", 0), 0u);
  const c10::IValue weights = importer.load_pickle("model", "weights.pkl");
  const at::Tensor w = tensor_at(weights, "w");
  EXPECT_EQ(values_of(w), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of(tensor_at(weights, "row")), (std::vector<float>{3, 4, 5}));
  EXPECT_TRUE(w.is_alias_of(tensor_at(weights, "row")));
  EXPECT_EQ(weights.toGenericDict().at(c10::IValue("n")).toInt(), 3);
  const c10::IValue state = importer.load_pickle("model.sub", "state.pkl");
  EXPECT_EQ(tensor_at(state, "a").scalar_type(), at::kLong);
  w.data_ptr<float>()[0] = 9;
  EXPECT_EQ(values_of(tensor_at(state, "same"))[0], 0);
  EXPECT_TRUE(tensor_at(importer.load_pickle("model", "weights.pkl", c10::Device(c10::kMeta)), "w").is_meta());
  EXPECT_EQ(importer.load_text("config", "a.txt"), "hello");
  EXPECT_EQ(importer.load_binary("config", "b.bin"), std::string("\0\xff", 2));
  EXPECT_THROW(importer.load_text("config", "b.bin"), serialize::FormatError);
  EXPECT_TRUE(importer.has("config", "a.txt"));
  EXPECT_FALSE(importer.has("config", "c.txt"));
  // Objects would take code.
  EXPECT_NE(message_of<serialize::FormatError>([&] { importer.load_pickle("model", "object.pkl"); }).find("fractions"),
            std::string::npos);
  EXPECT_EQ(message_of<c10::ValueError>([&] { importer.load_text("config", "c.txt"); }),
            std::string("package: ") + kOfPython + " has no resource config/c.txt");
}

TEST(Package, WritesWhatItReads) {
  StringSink sink;
  const at::Tensor w = at::ones({2, 3});
  {
    PackageExporter exporter(sink);
    c10::Dict<std::string, at::Tensor> first, second;
    first.insert("w", w);
    second.insert("row", at::select(w, 0, 1));
    second.insert("other", at::zeros({1000}));
    exporter.save_pickle("model", "first.pkl", first);
    exporter.save_pickle("model.parts", "second.pkl", second);
    exporter.save_text("model", "notes/a.txt", "grüße");
    exporter.save_binary("model", "b", std::string("\0\1", 2));
    EXPECT_EQ(exporter.get_unique_id(), "0");
    EXPECT_EQ(exporter.get_unique_id(), "1");
    for (const char* name : {"", "a..b", "a/b", ".a", "a."}) {
      EXPECT_THROW(exporter.save_text(name, "x", ""), c10::ValueError) << name;
    }
    for (const char* name : {"", "../x", "a//b", "/a", "a/", "a\\b", "a\nb", ".."}) {
      EXPECT_THROW(exporter.save_text("m", name, ""), c10::ValueError) << name;
    }
    EXPECT_EQ(message_of<c10::ValueError>([&] { exporter.save_text("model", "b", ""); }),
              "package: model/b is there already");
    w.data_ptr<float>()[5] = 7;
    EXPECT_TRUE(sink.text.empty());
    exporter.close();
    EXPECT_EQ(message_of([&] { exporter.save_text("model", "c", ""); }), "package: the exporter is closed");
    EXPECT_EQ(message_of([&] { exporter.close(); }), "package: the exporter is closed");
  }
  const PackageImporter importer(bytes_of(sink.text));
  EXPECT_EQ(importer.file_structure(),
            (std::vector<std::string>{"model/b", "model/first.pkl", "model/notes/a.txt", "model/parts/second.pkl"}));
  EXPECT_EQ(values_of(tensor_at(importer.load_pickle("model", "first.pkl"), "w")),
            (std::vector<float>{1, 1, 1, 1, 1, 7}));
  EXPECT_EQ(values_of(tensor_at(importer.load_pickle("model.parts", "second.pkl"), "row")),
            (std::vector<float>{1, 1, 7}));
  EXPECT_EQ(importer.load_text("model", "notes/a.txt"), "grüße");
  EXPECT_EQ(importer.load_binary("model", "b"), std::string("\0\1", 2));
  EXPECT_EQ(importer.python_version(), "");
  // A storage that both mention is there once.
  size_t storages = 0;
  for (size_t at = 0; (at = sink.text.find("archive/.data/", at)) != std::string::npos; ++at) {
    storages += sink.text.compare(sink.text.find_first_not_of("0123456789", at + 14), 8, ".storage") == 0;
  }
  EXPECT_EQ(storages, 4u);  // two, each in its header and in the directory
}

TEST(Package, FilesAppearWhenTheyAreClosed) {
  const std::string path = ::testing::TempDir() + "/package.pt";
  ::remove(path.c_str());
  { PackageExporter(path).save_text("a", "b", "c"); }
  EXPECT_THROW(PackageImporter{path}, serialize::IoError);
  PackageExporter exporter(path);
  exporter.save_text("a", "b", "c");
  exporter.close();
  EXPECT_EQ(PackageImporter(path).load_text("a", "b"), "c");
}

TEST(Package, DamagedFilesAreRefused) {
  StringSink sink;
  PackageExporter exporter(sink);
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("w", at::ones({4}));
  exporter.save_pickle("a", "w.pkl", dict);
  exporter.close();
  EXPECT_THROW(PackageImporter(bytes_of("nothing of the kind")), serialize::FormatError);
  // Every byte changed: read as it was, or refused.
  size_t refused = 0;
  for (size_t i = 0; i < sink.text.size(); ++i) {
    std::string text = sink.text;
    text[i] = static_cast<char>(text[i] ^ 0x11);
    try {
      PackageImporter(bytes_of(text)).load_pickle("a", "w.pkl");
    } catch (const c10::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace torch::package
