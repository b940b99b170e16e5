#include "c10/memory/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "c10/memory/cpu_allocator.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

int g_deleted = 0;
void count_deletion(void*) { ++g_deleted; }

TEST(DataPtr, FreesItsContextOnce) {
  int data = 0, context = 0;
  g_deleted = 0;
  {
    DataPtr p(&data, &context, &count_deletion, Device(DeviceType::CPU));
    EXPECT_EQ(p.get(), &data);
    EXPECT_EQ(p.get_context(), &context);
    EXPECT_EQ(p.get_deleter(), &count_deletion);
    EXPECT_EQ(p.cast_context<int>(&count_deletion), &context);
    EXPECT_EQ(p.cast_context<int>([](void*) {}), nullptr);
    DataPtr q(std::move(p));
    EXPECT_FALSE(p);
    EXPECT_TRUE(q);
    DataPtr r;
    r = std::move(q);
    EXPECT_EQ(g_deleted, 0);
    r = DataPtr();
    EXPECT_EQ(g_deleted, 1);
  }
  EXPECT_EQ(g_deleted, 1);
  DataPtr p(&data, &context, &count_deletion, Device(DeviceType::CPU));
  EXPECT_EQ(p.release_context(), &context);
  p.clear();
  EXPECT_EQ(g_deleted, 1);
  EXPECT_TRUE(p == nullptr);
}

TEST(DataPtr, DeleterCanBeExchanged) {
  int context = 0;
  g_deleted = 0;
  {
    DataPtr p(&context, &context, [](void*) {}, Device(DeviceType::CPU));
    EXPECT_FALSE(p.compare_exchange_deleter(&count_deletion, &count_deletion));
    EXPECT_TRUE(p.compare_exchange_deleter(p.get_deleter(), &count_deletion));
  }
  EXPECT_EQ(g_deleted, 1);
}

TEST(Allocator, GivesAlignedMemoryAndTakesItBack) {
  const int64_t before = cpu_memory_stats().allocated_bytes;
  for (size_t n : {size_t{0}, size_t{1}, size_t{1000}, size_t{100000}, size_t{5 << 20}}) {
    DataPtr p = GetCPUAllocator()->allocate(n);
    ASSERT_NE(p.get(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p.get()) % 64, 0u);
    EXPECT_EQ(p.device(), Device(DeviceType::CPU));
    std::memset(p.get(), 1, n);
    void* raw = GetCPUAllocator()->raw_allocate(n);
    std::memset(raw, 2, n);
    GetCPUAllocator()->raw_deallocate(raw);
  }
  EXPECT_EQ(cpu_memory_stats().allocated_bytes, before);
  EXPECT_THROW(GetCPUAllocator()->allocate(SIZE_MAX), OutOfMemoryError);
  EXPECT_THROW(GetCPUAllocator()->allocate(SIZE_MAX / 2), OutOfMemoryError);
}

class CountingAllocator : public Allocator {
 public:
  DataPtr allocate(size_t n) override {
    ++calls;
    return GetDefaultCPUAllocator()->allocate(n);
  }
  int calls = 0;
};

TEST(Allocator, CanBeReplaced) {
  static CountingAllocator counting;
  EXPECT_EQ(replaced_cpu_allocator(), nullptr);
  EXPECT_EQ(GetAllocator(DeviceType::CPU), GetDefaultCPUAllocator());
  SetCPUAllocator(&counting);
  EXPECT_EQ(replaced_cpu_allocator(), &counting);
  EXPECT_EQ(GetCPUAllocator(), &counting);
  GetCPUAllocator()->allocate(8);
  EXPECT_EQ(counting.calls, 1);
  EXPECT_THROW(counting.raw_allocate(8), Error) << "its deleter is not known";
  SetCPUAllocator(GetDefaultCPUAllocator());
  EXPECT_EQ(replaced_cpu_allocator(), nullptr);
  // A lower priority does not replace a higher one.
  SetCPUAllocator(nullptr, 1);
  SetCPUAllocator(&counting, 0);
  EXPECT_EQ(GetCPUAllocator(), GetDefaultCPUAllocator());
  EXPECT_EQ(GetAllocator(DeviceType::CUDA), nullptr);
}

}  // namespace
}  // namespace c10
