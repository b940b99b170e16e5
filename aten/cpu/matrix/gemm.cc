#include "aten/cpu/matrix/gemm.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "aten/cpu/matrix/internal.h"
#include "c10/macros/macros.h"

namespace at::matrix {
namespace {

bool read_verbose_from_environment() {
  const char* value = std::getenv("KINDLING_MATRIX_VERBOSE");
  return value != nullptr && std::strcmp(value, "0") != 0;
}

// -1: the environment has not been asked.
constinit int verbose_state = -1;

constexpr const Candidate* kCandidates[] = {
#if KINDLING_HAVE_ONEDNN
    &internal::kOneDnn,
#endif
    &internal::kBuiltinVector,
    &internal::kConverting,
    &internal::kComplex,
    &internal::kPlain,
};
constexpr int kCandidateCount = sizeof(kCandidates) / sizeof(kCandidates[0]);

constexpr const char* kTypeNames[] = {"float32", "float64", "float16", "bfloat16", "uint8",     "int8",
                                      "int16",   "int32",   "int64",   "complex64", "complex128"};

void print_choice(const Gemm& g, int chosen, const char* const* refusals) {
  char line[512];
  int used = std::snprintf(line, sizeof line, "matrix: %s m=%lld n=%lld k=%lld batch=%lld: %s",
                           kTypeNames[static_cast<int>(g.type)], static_cast<long long>(g.m), static_cast<long long>(g.n),
                           static_cast<long long>(g.k), static_cast<long long>(g.batch[0] * g.batch[1]),
                           kCandidates[chosen]->name);
  for (int i = 0; i < chosen && used < static_cast<int>(sizeof line); ++i)
    used += std::snprintf(line + used, sizeof line - used, "%s%s: %s", i == 0 ? " (" : "; ", kCandidates[i]->name, refusals[i]);
  std::fprintf(stderr, "%s%s\n", line, chosen > 0 ? ")" : "");
}

}  // namespace

const Candidate* candidate(int i) { return kCandidates[i]; }
int candidate_count() { return kCandidateCount; }

void set_verbose(bool verbose) { __atomic_store_n(&verbose_state, verbose ? 1 : 0, __ATOMIC_RELAXED); }

bool verbose() {
  int state = __atomic_load_n(&verbose_state, __ATOMIC_RELAXED);
  if (state < 0) {
    state = read_verbose_from_environment() ? 1 : 0;
    __atomic_store_n(&verbose_state, state, __ATOMIC_RELAXED);
  }
  return state != 0;
}

namespace {

// Handles what needs no product; true if done.
bool trivial(const Gemm& g) {
  if (g.m <= 0 || g.n <= 0 || g.batch[0] <= 0 || g.batch[1] <= 0) return true;
  if (g.k > 0 && !g.alpha.is_zero()) return false;
  internal::fill_with_addend(g);
  return true;
}

}  // namespace

namespace {

// Moves an m x n matrix of each batch between strided memory of any address and a dense block.
void move_block(const Gemm& g, int64_t rows, int64_t cols, char* strided, const Operand& o, char* dense, bool to_dense) {
  const int64_t item = type_size(g.type);
  for (int64_t p = 0; p < g.batch[0]; ++p) {
    for (int64_t q = 0; q < g.batch[1]; ++q) {
      for (int64_t i = 0; i < rows; ++i) {
        char* at = strided + (p * o.batch[0] + q * o.batch[1] + i * o.row) * item;
        for (int64_t j = 0; j < cols; ++j, at += o.col * item, dense += item) {
          std::memcpy(to_dense ? dense : at, to_dense ? at : dense, static_cast<size_t>(item));
        }
      }
    }
  }
}

// Foreign memory that is no multiple of the element's size: everything by way of dense copies.
void gemm_of_misaligned(const Gemm& given) {
  Gemm g = given;
  const auto size = [&](int64_t rows, int64_t cols) {
    return static_cast<size_t>(g.batch[0] * g.batch[1] * rows * cols * type_size(g.type));
  };
  const auto dense = [&](int64_t rows, int64_t cols, void* data) {
    return Operand{data, cols, 1, {g.batch[1] * rows * cols, rows * cols}};
  };
  const auto copy_in = [&](const Operand& from, int64_t rows, int64_t cols, const internal::Scratch& block) {
    move_block(g, rows, cols, static_cast<char*>(const_cast<void*>(from.data)), from, block.as<char>(), true);
    return dense(rows, cols, block.as<char>());
  };
  const internal::Scratch a(size(g.m, g.k)), b(size(g.k, g.n)), add(size(g.m, g.n)), c(size(g.m, g.n));
  g.a = g.b = g.add = Operand{};
  if (g.k > 0 && !g.alpha.is_zero()) {
    g.a = copy_in(given.a, g.m, g.k, a);
    g.b = copy_in(given.b, g.k, g.n, b);
  }
  if (given.add.data != nullptr && !g.beta.is_zero()) g.add = copy_in(given.add, g.m, g.n, add);
  const Operand result = dense(g.m, g.n, c.as<char>());
  g.c = c.as<char>();
  g.c_row = result.row;
  g.c_col = result.col;
  g.c_batch[0] = result.batch[0];
  g.c_batch[1] = result.batch[1];
  gemm(g);
  const Operand to{given.c, given.c_row, given.c_col, {given.c_batch[0], given.c_batch[1]}};
  move_block(given, g.m, g.n, static_cast<char*>(given.c), to, c.as<char>(), false);
}

bool is_aligned(const Gemm& g) {
  uintptr_t bits = 0;
  for (const void* p : {g.a.data, g.b.data, g.add.data, static_cast<const void*>(g.c)}) bits |= reinterpret_cast<uintptr_t>(p);
  return (bits & static_cast<uintptr_t>(type_size(g.type) - 1)) == 0;
}

}  // namespace

void gemm(const Gemm& given) {
  if (C10_UNLIKELY(!is_aligned(given)) && given.m > 0 && given.n > 0 && given.batch[0] > 0 && given.batch[1] > 0) {
    return gemm_of_misaligned(given);
  }
  if (trivial(given)) return;
  const char* refusals[kCandidateCount];
  for (int i = 0; i < kCandidateCount; ++i) {
    refusals[i] = kCandidates[i]->refusal(given);
    if (refusals[i] != nullptr) continue;
    if (verbose()) print_choice(given, i, refusals);
    return kCandidates[i]->run(given);
  }
}

const char* gemm_with(const char* name, const Gemm& g) {
  for (const Candidate* c : kCandidates) {
    if (std::strcmp(c->name, name) != 0) continue;
    const char* refusal = c->refusal(g);
    if (refusal == nullptr && !trivial(g)) c->run(g);
    return refusal;
  }
  return "there is no such candidate";
}

}  // namespace at::matrix
