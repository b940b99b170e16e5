#include "tests/cuda_on_host/simt/instructions.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <unordered_set>
#include <vector>

#include "tests/cuda_on_host/simt/fiber.h"

namespace simt {
namespace {

constexpr unsigned kLanes = 32, kAllLanes = 0xffffffffu;
constexpr size_t kMostCopied = 16, kWord = 4;

void check_address(const char* what, const void* address, size_t alignment, Site site) {
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    fault(std::string(what) + ": an address is not a multiple of " + std::to_string(alignment), site);
}
void check_shared(const char* what, const void* address, size_t alignment, Site site) {
  check_address(what, address, alignment, site);
  if (!kSanitized && !watch::is_shared_memory(address))
    fault(std::string(what) + ": an address is not in shared memory", site);
}

struct LoadedParts {
  uint32_t part[4];
};

template <int kCount, bool kTransposed>
void load_of_all(const Lanes& lanes) {
  using Matrix = uint16_t[8][8];
  Matrix matrices[kCount];
  for (int lane = 0; lane < 8 * kCount; ++lane) {
    const void* row = *static_cast<const void* const*>(lanes.in[lane]);
    std::memcpy(matrices[lane / 8][lane % 8], row, sizeof matrices[0][0]);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    auto& to = *static_cast<LoadedParts*>(lanes.out[lane]);
    const unsigned i = lane / 4, k = lane % 4 * 2;
    for (int m = 0; m < kCount; ++m) {
      const Matrix& from = matrices[m];
      const uint32_t low = kTransposed ? from[k][i] : from[i][k], high = kTransposed ? from[k + 1][i] : from[i][k + 1];
      to.part[m] = low | high << 16;
    }
  }
}

float half_of(uint32_t bits) {
  static const auto table = [] {
    auto numbers = std::vector<float>(1 << 16);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto raw = static_cast<unsigned short>(i);
      numbers[i] = __half2float(std::bit_cast<__half>(raw));
    }
    return numbers;
  }();
  return table[bits];
}

struct Fragments {
  uint32_t a[4], b[2];
  float c[4];
};
struct Products {
  float d[4];
};

// Element `which` of the word: two numbers, the lower column first, or one.
template <Multiplied kType>
float number_of(uint32_t word, int which) {
  if constexpr (kType == Multiplied::kTf32) {
    constexpr uint32_t kUsed = 0xffffe000u;
    return std::bit_cast<float>(word & kUsed);
  } else if constexpr (kType == Multiplied::kHalf) {
    return half_of(which != 0 ? word >> 16 : word & 0xffffu);
  } else {
    return std::bit_cast<float>(which != 0 ? word & 0xffff0000u : word << 16);
  }
}

template <Multiplied kType>
void multiply_of_all(const Lanes& lanes) {
  constexpr int kEach = kType == Multiplied::kTf32 ? 1 : 2, kHalfDepth = 4 * kEach, kDepth = 2 * kHalfDepth;
  float a[16][kDepth], b[kDepth][8], d[16][8];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto& in = *static_cast<const Fragments*>(lanes.in[lane]);
    const unsigned group = lane / 4, place = lane % 4;
    for (unsigned r = 0; r < 4; ++r) {
      for (int which = 0; which < kEach; ++which)
        a[group + 8 * (r % 2)][kEach * place + which + kHalfDepth * (r / 2)] = number_of<kType>(in.a[r], which);
      d[group + 8 * (r / 2)][2 * place + r % 2] = in.c[r];
    }
    for (unsigned r = 0; r < 2; ++r) {
      for (int which = 0; which < kEach; ++which)
        b[kEach * place + which + kHalfDepth * r][group] = number_of<kType>(in.b[r], which);
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < kDepth; ++k) {
      for (int column = 0; column < 8; ++column) d[row][column] += a[row][k] * b[k][column];
    }
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    auto& out = *static_cast<Products*>(lanes.out[lane]);
    for (unsigned r = 0; r < 4; ++r) out.d[r] = d[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2];
  }
}

struct Copy {
  void* to;
  size_t size;
  std::array<unsigned char, kMostCopied> data;
};
using Group = std::vector<Copy>;
struct ThreadCopies {
  Group open;
  std::deque<Group> committed;
};
struct {
  std::vector<ThreadCopies> threads;
  std::unordered_set<uintptr_t> pending;  // words
} g;

ThreadCopies& own_copies() {
  const size_t number = current->warp * kLanes + current->lane;
  if (g.threads.size() <= number) g.threads.resize(number + 1);
  return g.threads[number];
}

}  // namespace

void load_matrices(int count, bool transposed, const void* row, uint32_t* to, Site site) {
  if (current->lane < 8u * static_cast<unsigned>(count)) check_shared("ldmatrix", row, 16, site);
  struct Variant {
    const char* name;
    void (*resolve)(const Lanes&);
  };
  static constexpr Variant kVariants[] = {
      {"ldmatrix.x1", load_of_all<1, false>}, {"ldmatrix.x1.trans", load_of_all<1, true>},
      {"ldmatrix.x2", load_of_all<2, false>}, {"ldmatrix.x2.trans", load_of_all<2, true>},
      {"ldmatrix.x4", load_of_all<4, false>}, {"ldmatrix.x4.trans", load_of_all<4, true>}};
  const Variant& variant = kVariants[(count / 2) * 2 + (transposed ? 1 : 0)];
  LoadedParts parts{};
  collective(variant.name, kAllLanes, &row, &parts, variant.resolve, false, site);
  std::copy_n(parts.part, count, to);
}

void multiply_matrices(Multiplied type, float* d, const uint32_t* a, const uint32_t* b, Site site) {
  const Fragments in{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {d[0], d[1], d[2], d[3]}};
  Products out{};
  switch (type) {
    case Multiplied::kHalf:
      collective("mma.m16n8k16.f16", kAllLanes, &in, &out, multiply_of_all<Multiplied::kHalf>, false, site);
      break;
    case Multiplied::kBFloat16:
      collective("mma.m16n8k16.bf16", kAllLanes, &in, &out, multiply_of_all<Multiplied::kBFloat16>, false, site);
      break;
    case Multiplied::kTf32:
      collective("mma.m16n8k8.tf32", kAllLanes, &in, &out, multiply_of_all<Multiplied::kTf32>, false, site);
      break;
  }
  std::copy_n(out.d, 4, d);
}

void start_copy(void* to, const void* from, unsigned bytes, unsigned size, Site site) {
  check_shared("cp.async", to, size, site);
  check_address("cp.async", from, size, site);
  if (bytes > size) fault("cp.async: more than " + std::to_string(size) + " bytes", site);
  Copy copy{to, size, {}};
  if (bytes > 0) std::memcpy(copy.data.data(), from, bytes);
  if (options().poison_shared) std::memset(to, 0xFF, size);
  for (size_t i = 0; i < size; i += kWord) g.pending.insert((reinterpret_cast<uintptr_t>(to) + i) / kWord);
  own_copies().open.push_back(copy);
}

void commit_copies() {
  ThreadCopies& own = own_copies();
  own.committed.push_back(std::move(own.open));
  own.open.clear();
}

void wait_for_copies(int groups_left) {
  ThreadCopies& own = own_copies();
  while (own.committed.size() > static_cast<size_t>(groups_left)) {
    for (const Copy& copy : own.committed.front()) {
      std::memcpy(copy.to, copy.data.data(), copy.size);
      for (size_t i = 0; i < copy.size; i += kWord) g.pending.erase((reinterpret_cast<uintptr_t>(copy.to) + i) / kWord);
      watch::arrived(copy.to, copy.size, __builtin_return_address(0));
    }
    own.committed.pop_front();
  }
}

namespace copies {

void start_block() {
  if (!g.threads.empty()) g.threads.clear();
  g.pending.clear();
}

bool is_any_pending() {
  return !g.pending.empty();
}

bool is_pending(const void* address, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t word = first / kWord; word <= (first + bytes - 1) / kWord; ++word) {
    if (g.pending.count(word) != 0) return true;
  }
  return false;
}

}  // namespace copies
}  // namespace simt
