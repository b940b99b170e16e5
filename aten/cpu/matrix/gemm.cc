#include "aten/cpu/matrix/gemm.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "aten/cpu/matrix/internal.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/parallel/parallel.h"
#include "c10/macros/macros.h"

namespace at::matrix {
namespace internal {

Scratch::Scratch(size_t bytes) : data_(c10::cpu_alloc(bytes)), bytes_(bytes) {}
Scratch::~Scratch() { c10::cpu_free(data_, bytes_); }

double work(const Gemm& g) {
  return static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) *
         static_cast<double>(g.batch[0]) * static_cast<double>(g.batch[1]);
}

namespace {

const void* advance(const void* p, int64_t elements, int64_t size) {
  return p == nullptr ? nullptr : static_cast<const char*>(p) + elements * size;
}

Operand moved(const Operand& o, int64_t elements, int64_t size) {
  Operand r = o;
  r.data = advance(o.data, elements, size);
  return r;
}

}  // namespace

Gemm batch_entry(const Gemm& g, int64_t i) {
  const int64_t size = type_size(g.type), p = i / g.batch[1], q = i % g.batch[1];
  Gemm r = g;
  r.a = moved(g.a, p * g.a.batch[0] + q * g.a.batch[1], size);
  r.b = moved(g.b, p * g.b.batch[0] + q * g.b.batch[1], size);
  r.add = moved(g.add, p * g.add.batch[0] + q * g.add.batch[1], size);
  r.c = const_cast<void*>(advance(g.c, p * g.c_batch[0] + q * g.c_batch[1], size));
  r.batch[0] = r.batch[1] = 1;
  return r;
}

Gemm part(const Gemm& g, int64_t m0, int64_t m, int64_t n0, int64_t n) {
  const int64_t size = type_size(g.type);
  Gemm r = g;
  r.m = m;
  r.n = n;
  r.a = moved(g.a, m0 * g.a.row, size);
  r.b = moved(g.b, n0 * g.b.col, size);
  r.add = moved(g.add, m0 * g.add.row + n0 * g.add.col, size);
  r.c = const_cast<void*>(advance(g.c, m0 * g.c_row + n0 * g.c_col, size));
  return r;
}

Gemm transposed(const Gemm& g) {
  auto turn = [](const Operand& o) { return Operand{o.data, o.col, o.row, {o.batch[0], o.batch[1]}}; };
  Gemm r = g;
  r.m = g.n;
  r.n = g.m;
  r.a = turn(g.b);
  r.b = turn(g.a);
  r.add = turn(g.add);
  r.c_row = g.c_col;
  r.c_col = g.c_row;
  return r;
}

void run_in_parts(const Gemm& g, int64_t row_unit, int64_t col_unit, void (*serial)(const Gemm&)) {
  constexpr double kWorthAThread = 64.0 * 64 * 64;
  const int64_t batches = g.batch[0] * g.batch[1];
  const double worth = work(g) / kWorthAThread;
  if (worth < 2 && batches == 1) return serial(g);
  int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  if (worth < static_cast<double>(threads)) threads = worth < 2 ? 1 : static_cast<int64_t>(worth);
  if (threads == 1 && batches == 1) return serial(g);

  // Cut each matrix into row_parts x col_parts so that all threads have work and the parts' outlines are short.
  int64_t row_parts = 1, col_parts = 1;
  if (batches < threads) {
    const int64_t wanted = at::divup(threads, batches);
    double best = -1;
    for (int64_t r = 1; r <= wanted; ++r) {
      const int64_t c = wanted / r;
      if (r > at::divup(g.m, row_unit) || c > at::divup(g.n, col_unit)) continue;
      const double used = static_cast<double>(r * c);
      const double outline = static_cast<double>(g.m) / static_cast<double>(r) + static_cast<double>(g.n) / static_cast<double>(c);
      const double score = used * 1e6 / (1 + outline / static_cast<double>(g.m + g.n));
      if (score > best) best = score, row_parts = r, col_parts = c;
    }
  }
  const int64_t rows = at::divup(at::divup(g.m, row_parts), row_unit) * row_unit;
  const int64_t cols = at::divup(at::divup(g.n, col_parts), col_unit) * col_unit;
  row_parts = at::divup(g.m, rows);
  col_parts = at::divup(g.n, cols);
  const int64_t parts = row_parts * col_parts;
  const int64_t total = batches * parts;
  at::parallel_for(0, total, at::divup(total, threads), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Gemm entry = batch_entry(g, i / parts);
      if (parts == 1) {
        serial(entry);
        continue;
      }
      const int64_t m0 = i % parts / col_parts * rows, n0 = i % col_parts * cols;
      serial(part(entry, m0, g.m - m0 < rows ? g.m - m0 : rows, n0, g.n - n0 < cols ? g.n - n0 : cols));
    }
  });
}

}  // namespace internal

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

int64_t type_size(Type type) {
  constexpr int64_t kSizes[] = {4, 8, 2, 2, 1, 1, 2, 4, 8, 8, 16};
  return kSizes[static_cast<int>(type)];
}

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
