// oneDNN without memory: products and convolutions where the C library has little left to lend. The call works or throws
// OutOfMemoryError.
#include <gtest/gtest.h>

#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aten/cpu/matrix/convolution.h"
#include "aten/cpu/matrix/gemm.h"
#include "aten/cpu/matrix/primitive_cache.h"
#include "c10/util/exception.h"

namespace {

// What the C library has lent out, and how much of it it may; counted over all threads.
int64_t lent = 0, most_lent = 0, limit = INT64_MAX;

void* count(void* p) {
  if (p == nullptr) return p;
  const int64_t now = __atomic_add_fetch(&lent, static_cast<int64_t>(malloc_usable_size(p)), __ATOMIC_RELAXED);
  if (now > most_lent) most_lent = now;
  return p;
}
// Small blocks are there still: the text of an error is one, and what a thread registers when it starts.
constexpr size_t kSmall = 4096;
bool refuse(size_t bytes) {
  if (bytes < kSmall) return false;
  if (__atomic_load_n(&lent, __ATOMIC_RELAXED) + static_cast<int64_t>(bytes) <= __atomic_load_n(&limit, __ATOMIC_RELAXED)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
void* malloc(size_t bytes) { return refuse(bytes) ? nullptr : count(__libc_malloc(bytes)); }
void* calloc(size_t n, size_t bytes) { return refuse(n * bytes) ? nullptr : count(__libc_calloc(n, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return refuse(bytes) ? nullptr : count(__libc_memalign(alignment, bytes)); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = aligned_alloc(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* p) {
  if (p != nullptr) __atomic_sub_fetch(&lent, static_cast<int64_t>(malloc_usable_size(p)), __ATOMIC_RELAXED);
  __libc_free(p);
}
}

namespace at::matrix {
namespace {

enum class Kind { kProduct, kBatchedProduct, kBfloat16Product, kForward, kBackwardInput, kBackwardWeight };

void run(Kind kind) {
  constexpr int64_t kSide = 96;
  static std::vector<float> a(4 * kSide * kSide * kSide, 1.0f), b(a), c(a);
  clear_primitive_cache();
  if (kind < Kind::kForward) {
    Gemm g;
    g.type = kind == Kind::kBfloat16Product ? Type::kBFloat16 : Type::kFloat32;
    g.m = g.n = g.k = kSide;
    g.batch[1] = kind == Kind::kBatchedProduct ? 8 : 1;
    g.a = {a.data(), kSide, 1, {0, kSide * kSide}};
    g.b = {b.data(), 1, kSide, {0, kSide * kSide}};
    g.c = c.data();
    g.c_row = kSide;
    g.c_col = 1;
    g.c_batch[1] = kSide * kSide;
    gemm_with("onednn", g);
    return;
  }
  Convolution v;
  v.batch = 4;
  v.in_channels = v.out_channels = 32;
  for (int d : {1, 2}) v.input[d] = v.output[d] = 24, v.kernel[d] = 3, v.padding[d] = 1;
  if (kind == Kind::kForward) convolution_forward(v, a.data(), b.data(), b.data(), c.data());
  if (kind == Kind::kBackwardInput) convolution_backward_input(v, a.data(), b.data(), c.data());
  if (kind == Kind::kBackwardWeight) convolution_backward_weight(v, a.data(), b.data(), c.data());
}

TEST(OneDnnMemory, WorksOrThrowsUnderEveryLimit) {
  for (const Kind kind : {Kind::kProduct, Kind::kBatchedProduct, Kind::kBfloat16Product, Kind::kForward, Kind::kBackwardInput,
                          Kind::kBackwardWeight}) {
    run(kind);  // what is made once is
    clear_primitive_cache();
    const int64_t before = most_lent = lent;
    run(kind);
    const int64_t needed = most_lent - before;
    const auto works_with = [&](int64_t room) {
      clear_primitive_cache();
      limit = lent + room;
      bool works = false;
      try {
        run(kind);
        works = true;
      } catch (const c10::OutOfMemoryError&) {
      } catch (const std::exception& e) {
        limit = INT64_MAX;
        ADD_FAILURE() << e.what() << ", room " << room << ", kind " << static_cast<int>(kind);
      }
      limit = INT64_MAX;
      return works;
    };
    for (int64_t room = 8192; room <= needed; room += 24000) works_with(room);
    // Threads lend at other moments in other runs.
    EXPECT_TRUE(works_with(2 * needed + (1 << 20))) << "with all the room it needs, kind " << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace at::matrix
