#include "c10/core/storage.h"

#include <gtest/gtest.h>

#include <cstring>

#include "c10/memory/cpu_allocator.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

// Counts what it gives and what comes back, and fails at the allocation it is told to.
class CountingAllocator : public Allocator {
 public:
  DataPtr allocate(size_t n) override {
    ++calls;
    if (calls == fail_at) TORCH_CHECK_WITH(OutOfMemoryError, false, "allocation ", calls, " was told to fail");
    if (calls == null_at) return DataPtr(nullptr, Device(DeviceType::CPU));
    ++held;
    bytes += n;
    char* const data = new char[n];
    return DataPtr(data, data, &give_back, Device(DeviceType::CPU));
  }

  int calls = 0;
  int fail_at = 0;
  int null_at = 0;
  size_t bytes = 0;
  static inline int held = 0;

 private:
  static void give_back(void* data) {
    --held;
    delete[] static_cast<char*>(data);
  }
};

class ReplacedAllocator : public ::testing::Test {
 protected:
  void SetUp() override {
    CountingAllocator::held = 0;
    SetCPUAllocator(&allocator);
  }
  void TearDown() override {
    SetCPUAllocator(GetDefaultCPUAllocator());
    EXPECT_EQ(CountingAllocator::held, 0);
  }
  CountingAllocator allocator;
};

TEST_F(ReplacedAllocator, GivesTheDataOfEveryStorage) {
  size_t total = 0;
  for (size_t n : {size_t{0}, size_t{1}, size_t{64}, size_t{4096}, size_t{4097}, size_t{1} << 20}) {
    auto storage = StorageImpl::allocate_cpu(n);
    total += n;
    EXPECT_EQ(CountingAllocator::held, 1);
    EXPECT_EQ(allocator.bytes, total);
    EXPECT_EQ(storage->nbytes(), n);
    EXPECT_EQ(storage->allocator(), &allocator);
    EXPECT_EQ(storage->data_ptr().get(), storage->data());
    std::memset(storage->data(), 1, n);
  }
  EXPECT_EQ(allocator.calls, 6);
}

TEST_F(ReplacedAllocator, IsWhatAStorageGrowsBy) {
  auto storage = StorageImpl::allocate_cpu(4);
  std::memcpy(storage->data(), "abcd", 4);
  storage->resize(5000);
  EXPECT_EQ(allocator.calls, 2);
  EXPECT_EQ(CountingAllocator::held, 1);
  EXPECT_EQ(std::memcmp(storage->data(), "abcd", 4), 0);
  // It stays the storage's own when another one is set.
  SetCPUAllocator(GetDefaultCPUAllocator());
  storage->resize(2);
  EXPECT_EQ(allocator.calls, 3);
  EXPECT_EQ(std::memcmp(storage->data(), "ab", 2), 0);
}

TEST_F(ReplacedAllocator, MayFail) {
  auto storage = StorageImpl::allocate_cpu(4);
  void* const data = storage->data();
  std::memcpy(data, "abcd", 4);
  allocator.fail_at = 2;
  EXPECT_THROW(StorageImpl::allocate_cpu(8), OutOfMemoryError);
  allocator.fail_at = 3;
  EXPECT_THROW(storage->resize(5000), OutOfMemoryError);
  allocator.null_at = 4;
  EXPECT_THROW(StorageImpl::allocate_cpu(8), OutOfMemoryError) << "a null pointer is no memory";
  allocator.null_at = 5;
  EXPECT_THROW(storage->resize(5000), OutOfMemoryError);
  EXPECT_EQ(storage->nbytes(), 4u);
  EXPECT_EQ(storage->data(), data);
  EXPECT_EQ(std::memcmp(data, "abcd", 4), 0);
  EXPECT_EQ(CountingAllocator::held, 1);
}

TEST_F(ReplacedAllocator, LeavesEarlierStoragesAlone) {
  SetCPUAllocator(GetDefaultCPUAllocator());
  auto small = StorageImpl::allocate_cpu(8);
  auto large = StorageImpl::allocate_cpu(100000);
  EXPECT_EQ(small->allocator(), nullptr);
  SetCPUAllocator(&allocator);
  small->resize(9000);
  large->resize(10);
  small.reset();
  large.reset();
  EXPECT_EQ(allocator.calls, 0);
  SetCPUAllocator(GetDefaultCPUAllocator());
  auto after = StorageImpl::allocate_cpu(8);
  EXPECT_EQ(allocator.calls, 0);
}

TEST(Storage, FreesWhatItHeldWhereTheHeaderCannotBeMade) {
  const int64_t before = cpu_memory_stats().allocated_bytes;
  fail_nth_cpu_allocation(2);
  EXPECT_THROW(StorageImpl::allocate_cpu(100000), OutOfMemoryError);
  fail_nth_cpu_allocation(0);
  EXPECT_EQ(cpu_memory_stats().allocated_bytes, before);
}

}  // namespace
}  // namespace c10
