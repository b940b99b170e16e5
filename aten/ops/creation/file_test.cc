#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::values;
using c10::testing::message_of;
using Numbers = std::vector<double>;

// A file of the bytes 0, 1, 2..., or none; gone at the end.
class File {
 public:
  explicit File(int bytes) : path_(::testing::TempDir() + "from_file_" + std::to_string(++count_)) {
    std::remove(path_.c_str());
    if (bytes < 0) return;
    std::ofstream file(path_, std::ios::binary);
    for (int i = 0; i < bytes; ++i) file << static_cast<char>(i);
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

TEST(FromFile, IsTheFirstElementsOfTheFile) {
  const File file(40);
  const Tensor bytes = at::from_file(file.path(), false, 3, at::kByte);
  EXPECT_EQ(values(bytes), (Numbers{0, 1, 2}));
  EXPECT_EQ(values(at::from_file(file.path(), std::nullopt, 2, at::kInt)), (Numbers{50462976, 117835012}));
  EXPECT_EQ(at::from_file(file.path(), false, 10).scalar_type(), at::kFloat);
  EXPECT_EQ(at::from_file(file.path()).numel(), 0);
  EXPECT_EQ(at::from_file(file.path(), false, std::nullopt, at::kByte).numel(), 0);
  EXPECT_EQ(values(at::from_file(file.path(), false, 3, at::kBool)), (Numbers{0, 1, 1}));
}

TEST(FromFile, ChangesReachASharedFileOnly) {
  const File file(8);
  Tensor own = at::from_file(file.path(), false, 2, at::kInt);
  at::fill_(own, -1);
  EXPECT_EQ(file.content(), std::string("\0\1\2\3\4\5\6\7", 8));
  Tensor shared = at::from_file(file.path(), true, 1, at::kInt);
  at::fill_(shared, -1);
  EXPECT_EQ(file.content(), std::string("\xff\xff\xff\xff\4\5\6\7", 8));
  EXPECT_EQ(values(own), (Numbers{-1, -1}));
}

TEST(FromFile, ASharedFileIsMadeAsLongAsItIsAskedFor) {
  const File none(-1), brief(3);
  Tensor t = at::from_file(none.path(), true, 2, at::kShort);
  EXPECT_EQ(values(t), (Numbers{0, 0}));
  at::fill_(t, 1);
  EXPECT_EQ(none.content(), std::string("\1\0\1\0", 4));
  EXPECT_EQ(values(at::from_file(brief.path(), true, 5, at::kByte)), (Numbers{0, 1, 2, 0, 0}));
  EXPECT_EQ(brief.content().size(), 5u);
}

TEST(FromFile, OutIsACopyInItsDtype) {
  const File file(40);
  Tensor out = at::empty({0}, at::kShort);
  at::from_file_out(out, file.path(), true, 2);
  EXPECT_EQ(values(out), (Numbers{256, 770}));
  at::fill_(out, 9);
  EXPECT_EQ(file.content()[0], 0);
}

TEST(FromFile, BadArguments) {
  const File file(40), none(-1);
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(message_of([&] { at::from_file(file.path(), false, 11, at::kInt); }), "has 40 bytes, 44 are asked for");
  has(message_of([&] { at::from_file(none.path(), false, 1); }), "No such file");
  has(message_of([&] { at::from_file(::testing::TempDir(), false, 1); }), "unable to map file");
  has(message_of([&] { at::from_file(file.path(), false, -1); }),
      "from_file: expected a size of at least 0, but got -1");
  has(message_of([&] { at::from_file(file.path(), false, INT64_MAX / 2); }), "overflow");
  has(message_of([&] { at::from_file(file.path(), false, 1, at::TensorOptions().pinned_memory(true)); }),
      "cannot be pinned");
  has(message_of([&] { at::from_file(file.path(), false, 1, at::TensorOptions().layout(at::kSparse)); }),
      "Could not run 'from_file'");
  has(message_of([&] { at::from_file(std::string_view("a\0b", 3), true, 1); }), "zero byte");
  EXPECT_NE(message_of<c10::NotImplementedError>([&] { at::from_file(file.path(), false, 1, at::kMeta); }), "no error");
  EXPECT_TRUE(none.content().empty());
}

TEST(FromFile, ItsMemoryCannotBeResized) {
  const File file(8);
  const Tensor t = at::from_file(file.path(), false, 2, at::kByte);
  EXPECT_FALSE(t.storage().resizable());
}

}  // namespace
