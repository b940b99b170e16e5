#include "c10/core/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "c10/core/accelerator.h"
#include "c10/core/device_guard_impl.h"
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

// A device whose memory is the heap; it says on which device it allocated and whether it copied.
struct HeapGuard final : impl::DeviceGuardImplInterface {
  static inline DeviceIndex current = 0;
  DeviceType type() const override { return DeviceType::PrivateUse1; }
  Device exchangeDevice(Device device) const override {
    return Device(type(), std::exchange(current, device.index()));
  }
  Device getDevice() const override { return Device(type(), current); }
  void setDevice(Device device) const override { current = device.index(); }
  void uncheckedSetDevice(Device device) const noexcept override { current = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return 2; }
  Stream getStream(Device device) const override { return Stream(Stream::DEFAULT, device); }
  Stream exchangeStream(Stream stream) const override { return stream; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, HeapGuard);

struct HeapAllocator : Allocator {
  DataPtr allocate(size_t n) override {
    char* const data = new char[n];
    return DataPtr(data, data, raw_deleter(), Device(DeviceType::PrivateUse1, HeapGuard::current));
  }
  DeleterFnPtr raw_deleter() const override {
    return [](void* data) { delete[] static_cast<char*>(data); };
  }
};
struct CopyingHeapAllocator final : HeapAllocator {
  void copy_data(void* dest, const void* src, size_t count) const override {
    copied += count;
    default_copy_data(dest, src, count);
  }
  mutable size_t copied = 0;
};

TEST(StorageOnADevice, ComesFromTheAllocatorOfItsType) {
  EXPECT_THROW(StorageImpl::allocate(8, Device(kXPU, 0)), Error);
  EXPECT_THROW(StorageImpl::allocate(8, Device(kPrivateUse1, 1)), Error);
  CopyingHeapAllocator allocator;
  SetAllocator(kPrivateUse1, &allocator);
  auto storage = StorageImpl::allocate(8, Device(kPrivateUse1, 1));
  EXPECT_EQ(storage->device(), Device(kPrivateUse1, 1));
  EXPECT_EQ(HeapGuard::current, 0);
  EXPECT_EQ(StorageImpl::allocate(8, Device(kPrivateUse1))->device(), Device(kPrivateUse1, 0));
  EXPECT_TRUE(allocator.is_simple_data_ptr(storage->data_ptr()));
  EXPECT_EQ(StorageImpl::allocate(8, Device(kMeta))->data(), nullptr);
  SetAllocator(kPrivateUse1, nullptr);
}

TEST(StorageOnADevice, GrowsByItsAllocatorsCopy) {
  CopyingHeapAllocator allocator;
  auto storage = StorageImpl::allocate_from(&allocator, 4);
  std::memcpy(storage->data(), "abcd", 4);
  storage->resize(100);
  EXPECT_EQ(allocator.copied, 4u);
  EXPECT_EQ(std::memcmp(storage->data(), "abcd", 4), 0);
  storage->resize(2);
  EXPECT_EQ(allocator.copied, 6u);
  EXPECT_EQ(storage->nbytes(), 2u);

  HeapAllocator cannot_copy;
  auto fixed = StorageImpl::allocate_from(&cannot_copy, 4);
  void* const data = fixed->data();
  EXPECT_THROW(fixed->resize(8), NotImplementedError);
  EXPECT_EQ(fixed->data(), data);
  EXPECT_EQ(fixed->nbytes(), 4u);

  char bytes[4];
  StorageImpl borrowed(4, DataPtr(bytes, Device(kPrivateUse1, 0)), nullptr, /*resizable=*/false);
  EXPECT_THROW(borrowed.resize(8), Error);
  StorageImpl without_allocator(4, DataPtr(bytes, Device(kPrivateUse1, 0)), nullptr, /*resizable=*/true);
  EXPECT_THROW(without_allocator.resize(8), Error);
}

TEST(StorageOnADevice, HooksMayResize) {
  struct Hooks final : at::PrivateUse1HooksInterface {
    mutable int calls = 0;
    void resizePrivateUse1Bytes(const Storage& storage, size_t new_bytes) const override {
      ++calls;
      PrivateUse1HooksInterface::resizePrivateUse1Bytes(storage, new_bytes);
    }
  };
  CopyingHeapAllocator allocator;
  auto storage = StorageImpl::allocate_from(&allocator, 4);
  Hooks hooks;
  EXPECT_THROW(at::detail::getPrivateUse1Hooks(), Error);
  at::RegisterPrivateUse1HooksInterface(&hooks);
  EXPECT_THROW(at::RegisterPrivateUse1HooksInterface(&hooks), Error);
  storage->resize(40);
  EXPECT_EQ(hooks.calls, 1);
  EXPECT_EQ(allocator.copied, 4u);
  EXPECT_THROW(hooks.getPinnedMemoryAllocator(), NotImplementedError);
  EXPECT_EQ(at::getAccelerator(), kPrivateUse1);
  EXPECT_EQ(at::accelerator::deviceCount(), 2);
  at::accelerator::setDeviceIndex(1);
  EXPECT_EQ(torch::accelerator::current_device_index(), 1);
  EXPECT_EQ(at::accelerator::exchangeDevice(0), 1);
  EXPECT_EQ(torch::accelerator::current_stream(1).device(), Device(kPrivateUse1, 1));
  at::detail::registerAcceleratorHooks(kPrivateUse1, nullptr);
}

TEST(Storage, SaysWhereItsDataIs) {
  auto small = StorageImpl::allocate_cpu(8);
  auto large = StorageImpl::allocate_cpu(100000);
  EXPECT_EQ(small->data_ptr().get(), small->data());
  EXPECT_EQ(large->data_ptr().get(), large->data());
  EXPECT_NE(large->data(), nullptr);
  Storage owned(Storage::use_byte_size_t(), 16);
  EXPECT_EQ(owned.nbytes(), 16u);
  EXPECT_EQ(owned.device_type(), kCPU);
  EXPECT_FALSE(owned.resizable());
}

}  // namespace
}  // namespace c10
