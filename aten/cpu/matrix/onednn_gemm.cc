// float32 and bfloat16 products with oneDNN.
#include "oneapi/dnnl/dnnl.h"

#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/matrix/onednn_primitives.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"

namespace at::matrix::internal {
namespace {

const char* refusal(const Gemm& g) {
  if (g.type != Type::kFloat32 && g.type != Type::kBFloat16) return "only float32 and bfloat16";
  if (g.type == Type::kBFloat16 && !onednn_has_avx512()) return "the processor has no AVX-512 for bfloat16";
  if (g.m == 1 || g.n == 1) return "a matrix times a vector";
  const bool adds = g.add.data != nullptr && !g.beta.is_zero();
  const bool in_place = g.add.data == g.c && g.add.row == g.c_row && g.add.col == g.c_col;
  if (g.type == Type::kFloat32 && adds && !in_place) return "its float32 product adds nothing but the result itself";
  const double flops = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  if (flops < 64.0 * 64 * 64) return "too small for its cost a call";
  if (g.type == Type::kFloat32 && g.k * g.n <= 8 * 1024 && g.a.col == 1 && g.c_col == 1)
    return "the first cache holds the second matrix";
  if (g.type == Type::kFloat32 && has_few_lines(g)) return "it would pack a large matrix for few rows or columns";
  const int64_t same_sets = onednn_has_avx512() ? 4096 : 512;  // bytes
  if (g.type == Type::kFloat32 && g.a.col * type_size(g.type) % same_sets == 0 && g.k >= 128)
    return "it reads columns that few sets of the first cache hold at half the speed";
  if (g.type == Type::kFloat32 && g.k <= 384 && onednn_has_avx512()) return "the caches hold all of the depth";
  if (!is_row_major(g.a.row, g.a.col, g.m, g.k) && !is_row_major(g.a.col, g.a.row, g.k, g.m))
    return "neither stride of the first matrix is 1";
  if (!is_row_major(g.b.row, g.b.col, g.k, g.n) && !is_row_major(g.b.col, g.b.row, g.n, g.k))
    return "neither stride of the second matrix is 1";
  if (!is_row_major(g.c_row, g.c_col, g.m, g.n) && !is_row_major(g.c_col, g.c_row, g.n, g.m))
    return "neither stride of the result is 1";
  return nullptr;
}

bool addend_is_result(const Gemm& g) {
  return g.add.data == g.c && g.add.row == g.c_row && g.add.col == g.c_col;
}

void multiply_float(const Gemm& g) {
  float beta = 0;
  if (g.add.data != nullptr) {
    if (!addend_is_result(g)) {
      fill_with_addend(g);
      beta = 1;
    } else {
      beta = static_cast<float>(g.beta.real);
    }
  }
  const bool a_rows = is_row_major(g.a.row, g.a.col, g.m, g.k);
  const bool b_rows = is_row_major(g.b.row, g.b.col, g.k, g.n);
  const dnnl_dim_t lda = a_rows ? leading(g.a.row, g.m, g.k) : leading(g.a.col, g.k, g.m);
  const dnnl_dim_t ldb = b_rows ? leading(g.b.row, g.k, g.n) : leading(g.b.col, g.n, g.k);
  const dnnl_status_t status =
      dnnl_sgemm(a_rows ? 'N' : 'T', b_rows ? 'N' : 'T', g.m, g.n, g.k, static_cast<float>(g.alpha.real),
                 static_cast<const float*>(g.a.data), lda, static_cast<const float*>(g.b.data), ldb, beta,
                 static_cast<float*>(g.c), leading(g.c_row, g.m, g.n));
  onednn_check(status, "product");
}

void run_batches(const Gemm& given) {
  Gemm g = given;
  if (g.add.data == nullptr || g.beta.is_zero()) g.add = Operand{};
  if (!is_row_major(g.c_row, g.c_col, g.m, g.n)) g = transposed(g);
  const auto one = g.type == Type::kFloat32 ? multiply_float : onednn_multiply_bfloat16;
  const int64_t batches = g.batch[0] * g.batch[1];
  if (batches >= at::get_num_threads() && batches > 1) {
    at::parallel_for(0, batches, at::divup(batches, at::get_num_threads()), [&](int64_t begin, int64_t end) {
      at::internal::ThreadLease lease(1);
      for (int64_t i = begin; i < end; ++i) one(batch_entry(g, i));
    });
    return;
  }
  at::internal::ThreadLease lease;
  for (int64_t i = 0; i < batches; ++i) one(batch_entry(g, i));
}

void run(const Gemm& g) {
  with_memory_errors([&] { run_batches(g); });
}

}  // namespace

constinit const Candidate kOneDnn{"onednn", refusal, run};

}  // namespace at::matrix::internal
