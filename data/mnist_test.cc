#include "data/datasets/mnist.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "c10/memory/cpu_allocator.h"
#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "data/datasets/mnist_family.h"
#include "data/transforms/transforms.h"
#include "utils/serialize/file_error.h"

namespace torch::data::datasets {
namespace {

using c10::testing::fresh_folder;
using c10::testing::write_file;

std::string idx(uint32_t magic, std::initializer_list<uint32_t> sizes, const std::string& data) {
  std::string bytes;
  auto put = [&](uint32_t x) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(x >> shift & 255);
  };
  put(magic);
  for (uint32_t s : sizes) put(s);
  return bytes + data;
}

void write_gz(const std::string& path, const std::string& bytes) {
  gzFile f = gzopen(path.c_str(), "wb1");
  ASSERT_EQ(gzwrite(f, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  gzclose(f);
}

std::string pixels(int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += static_cast<char>(i * 37);
  return s;
}

std::string message(const std::string& root, MNIST::Mode mode = MNIST::Mode::kTest) {
  try {
    MNIST set(root, mode);
  } catch (const c10::Error& e) {
    return e.msg();
  }
  return "nothing was thrown";
}

TEST(MNIST, ReadsPlainAndCompressedFiles) {
  const std::string root = fresh_folder();
  write_file(root + "/t10k-images-idx3-ubyte", idx(2051, {3, 4, 5}, pixels(60)));
  write_gz(root + "/t10k-labels-idx1-ubyte.gz", idx(2049, {3}, std::string("\x07\x00\x09", 3)));
  for (const std::string& path : {root, root + "/"}) {
    MNIST set(path, MNIST::Mode::kTest);
    EXPECT_FALSE(set.is_train());
    EXPECT_EQ(*set.size(), 3u);
    EXPECT_EQ(set.images().sizes(), (at::IntArrayRef{3, 1, 4, 5}));
    EXPECT_EQ(set.images().scalar_type(), at::kFloat);
    EXPECT_EQ(set.targets().scalar_type(), at::kLong);
    Example<> e = set.get(1);
    EXPECT_EQ(e.data.sizes(), (at::IntArrayRef{1, 4, 5}));
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(e.data.data_ptr<float>()[i], static_cast<float>((20 + i) * 37 % 256) / 255.0f);
    EXPECT_EQ(set.get(0).target.data_ptr<int64_t>()[0], 7);
    EXPECT_EQ(set.get(2).target.data_ptr<int64_t>()[0], 9);
    EXPECT_EQ(set.get_batch({2, 0}).size(), 2u);
    EXPECT_THROW(set.get(3), c10::IndexError);
  }
}

TEST(MNIST, SaysWhatIsWrong) {
  const std::string root = fresh_folder();
  const std::string missing = message(root, MNIST::Mode::kTrain);
  EXPECT_EQ(missing.rfind("Error opening images file at " + root +
                              "/train-images-idx3-ubyte: fetch train-images-idx3-ubyte.gz of MNIST",
                          0),
            0u)
      << missing;
  EXPECT_NE(missing.find("put it into " + root), std::string::npos) << missing;
  const std::string images = root + "/t10k-images-idx3-ubyte", labels = root + "/t10k-labels-idx1-ubyte";
  write_file(images, idx(2051, {2, 2, 2}, pixels(8)));
  EXPECT_EQ(message(root).rfind("Error opening targets file at " + labels, 0), 0u);
  write_file(labels, idx(2049, {3}, pixels(3)));
  EXPECT_EQ(message(root), images + " holds 2 images, but " + labels + " holds 3 labels");
  write_file(labels, idx(2051, {2}, pixels(2)));
  EXPECT_EQ(
      message(root),
      labels + " is not an IDX file of bytes in 1 dimension(s): expected magic number 2049, but got 2051 (byte 0)");
  write_file(labels, "abc");
  EXPECT_EQ(message(root), labels + " is too short to be an IDX file of 1 dimension(s) (byte 3)");
  write_file(images, idx(2051, {2, 2, 2}, pixels(9)));
  EXPECT_EQ(message(root), images + " is longer than its header says, 8 bytes of data (byte 24)");
  write_file(images, idx(2051, {2, 2, 2}, pixels(7)));
  EXPECT_EQ(message(root), images + " is too short: its header promises 8 bytes of data, but it has 7 (byte 23)");
  write_file(images, idx(2051, {0xffffffff, 0xffffffff, 0xffffffff}, pixels(7)));
  EXPECT_NE(message(root).find("more than this reader takes"), std::string::npos) << message(root);
  EXPECT_NE(message(root + "/nowhere").find("Error opening"), std::string::npos);
}

TEST(MnistFamily, HasItsOwnFiles) {
  const std::string root = fresh_folder();
  const auto write = [&](const std::string& prefix, const std::string& labels) {
    write_file(root + "/" + prefix + "-images-idx3-ubyte", idx(2051, {3, 2, 2}, pixels(12)));
    write_file(root + "/" + prefix + "-labels-idx1-ubyte", idx(2049, {3}, labels));
  };
  write("train", {4, 0, 9});
  write("t10k", {1, 2, 3});
  write("emnist-letters-test", {26, 1, 2});
  EXPECT_EQ(FashionMNIST(root).get(0).target.data_ptr<int64_t>()[0], 4);
  EXPECT_EQ(KMNIST(root, MNIST::Mode::kTest).get(0).target.data_ptr<int64_t>()[0], 1);
  EMNIST letters(root, "letters", MNIST::Mode::kTest);
  EXPECT_EQ(letters.get(0).target.data_ptr<int64_t>()[0], 26);
  EXPECT_EQ(*letters.size(), 3u);
  auto mapped = letters.map(transforms::Stack<>());
  EXPECT_EQ(mapped.get_batch({0, 1}).data.sizes(), (at::IntArrayRef{2, 1, 2, 2}));
  EXPECT_EQ(FashionMNIST::classes().size(), 10u);
  EXPECT_THROW(EMNIST(root, "runes"), c10::ValueError);
  try {
    EMNIST balanced(root, "balanced");
    FAIL();
  } catch (const c10::Error& e) {
    EXPECT_NE(e.msg().find("fetch emnist-balanced-train-images-idx3-ubyte.gz of EMNIST"), std::string::npos) << e.msg();
  }
}

TEST(MnistFamily, QmnistTellsWhereDigitsComeFrom) {
  const std::string root = fresh_folder();
  const auto message = [&](const std::string& what) {
    try {
      QMNIST set(root, what);
    } catch (const c10::Error& e) {
      return e.msg();
    }
    return std::string();
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(message("train"), "fetch qmnist-train-images-idx3-ubyte.gz of QMNIST (https://github.com/facebookresearch");
  contains(message("nist"), "fetch xnist-images-idx3-ubyte.xz of QMNIST");
  contains(message("nist"), ", and put it into " + root + ", unpacked");
  EXPECT_THROW(QMNIST(root, "test60k"), c10::ValueError);
  // 10,002 images of one pixel; the label of the i-th is i / 256, and the last of its numbers i.
  std::string rows;
  for (int i = 0; i < 10002; ++i)
    for (int k = 0; k < 8; ++k)
      rows += {0, 0, k == 7 ? static_cast<char>(i >> 8) : '\0', static_cast<char>(k == 7 ? i : k == 0 ? i / 256 : k)};
  write_file(root + "/qmnist-test-images-idx3-ubyte", idx(2051, {10002, 1, 1}, pixels(10002)));
  write_gz(root + "/qmnist-test-labels-idx2-int.gz", idx(0x0c02, {10002, 8}, rows));
  QMNIST test(root, MNIST::Mode::kTest), first(root, "test10k"), others(root, "test50k", /*compat=*/false);
  EXPECT_EQ(*test.size(), 10002u);
  EXPECT_EQ(*first.size(), 10000u);
  EXPECT_EQ(*others.size(), 2u);
  EXPECT_FALSE(first.is_train());
  EXPECT_EQ(first.targets().sizes(), (at::IntArrayRef{10000}));
  EXPECT_EQ(test.get(10001).target.item<int64_t>(), 39);
  const at::Tensor known = others.get(1).target;
  EXPECT_EQ(known.sizes(), (at::IntArrayRef{8}));
  EXPECT_EQ(known.data_ptr<int64_t>()[0], 39);
  EXPECT_EQ(known.data_ptr<int64_t>()[7], 10001);
  EXPECT_THROW(read_idx(root + "/qmnist-test-labels-idx2-int", 2), serialize::FormatError);
  EXPECT_THROW(read_idx(root + "/qmnist-test-labels-idx2-int", 2, at::kFloat), c10::ValueError);
}

TEST(MNIST, AHeaderThatPromisesTooMuchCostsNothing) {
  const std::string root = fresh_folder();
  write_file(root + "/t10k-images-idx3-ubyte", idx(2051, {50000, 200, 400}, pixels(100)));
  c10::reset_peak_cpu_memory_stats();
  struct rlimit old_limit, limit;
  getrlimit(RLIMIT_AS, &old_limit);
  limit = old_limit;
#if !C10_SANITIZED_ALLOCATION
  limit.rlim_cur = rlim_t{2} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
#endif
  EXPECT_NE(message(root).find("too short"), std::string::npos) << message(root);
  setrlimit(RLIMIT_AS, &old_limit);
  EXPECT_LT(c10::cpu_memory_stats().peak_allocated_bytes, 1 << 20);
}

TEST(MNIST, DamagedCompressedFilesAreErrors) {
  const std::string root = fresh_folder();
  const std::string path = root + "/t10k-images-idx3-ubyte.gz";
  write_gz(path, idx(2051, {10, 20, 20}, pixels(4000)));
  write_file(root + "/t10k-labels-idx1-ubyte", idx(2049, {10}, pixels(10)));
  ASSERT_EQ(message(root), "nothing was thrown");
  const std::string good = c10::testing::read_file(path);
  std::mt19937 random(5);
  int failures = 0;
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    if (i % 2) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    }
    write_file(path, bad);
    // Any outcome but a crash; nearly all must be noticed (some bytes of a gzip header mean nothing).
    if (message(root) != "nothing was thrown") ++failures;
  }
  EXPECT_GT(failures, 450);
}

TEST(ReadIdx, WhatIsNoRegularFileIsRefused) {
  const std::string root = fresh_folder();
  ASSERT_EQ(mkfifo((root + "/fifo").c_str(), 0600), 0);
  ASSERT_EQ(mkdir((root + "/folder").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo((root + "/packed.gz").c_str(), 0600), 0);
  alarm(20);  // a reader that waits for the other end of a FIFO never ends
  for (const char* name : {"/fifo", "/folder", "/packed"}) {
    try {
      read_idx(root + name, 1);
      ADD_FAILURE() << name;
    } catch (const c10::Error& e) {
      EXPECT_NE(e.msg().find("it is no regular file"), std::string::npos) << e.msg();
    }
  }
  EXPECT_THROW(read_idx("/dev/zero", 1), c10::Error);
  alarm(0);
  write_file(root + "/a", idx(2049, {1}, "x"));
  EXPECT_THROW(read_idx(root + "/a" + std::string(1, '\0') + "b", 1), c10::Error);
}

TEST(ReadIdx, TheDataIsThereOnce) {
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "sanitizers reserve more";
  const std::string path = fresh_folder() + "/zeros";
  constexpr uint32_t kBytes = 128 << 20;
  write_gz(path + ".gz", idx(2049, {kBytes}, std::string(kBytes, '\0')));
  const auto read_within = [&](rlim_t beyond) {
    // Pages: size, resident, shared, text, library, data.
    long long pages[6] = {};
    FILE* const sizes = std::fopen("/proc/self/statm", "r");
    for (long long& n : pages) {
      if (std::fscanf(sizes, "%lld", &n) != 1) std::_Exit(3);
    }
    std::fclose(sizes);
    const rlim_t bytes = static_cast<rlim_t>(pages[5]) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + beyond;
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) std::_Exit(4);
    const at::Tensor t = read_idx(path, 1);
    std::_Exit(t.numel() == kBytes && t.data_ptr<uint8_t>()[kBytes - 1] == 0 ? 0 : 5);
  };
  EXPECT_EXIT(read_within(rlim_t{kBytes} + (32 << 20)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace torch::data::datasets
