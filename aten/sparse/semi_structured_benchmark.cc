// Products with a matrix of two of four elements, and the dense ones that they stand for.
//
//   ./bazelw run //aten/sparse:semi_structured_benchmark
#include <memory>
#include <string>
#include <utility>

#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/semi_structured_tensor.h"
#include "c10/core/grad_mode.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

// Every second element, which suits all formats.
at::Tensor pruned(int64_t size, at::ScalarType dtype) {
  at::Tensor t = at::randn({size, size}).to(dtype);
  t.slice(1, 0, std::nullopt, 2).zero_();
  return t;
}

void add_rows(bench::Program& p, const std::string& name, at::ScalarType dtype, int64_t size, int64_t columns) {
  const std::string sizes =
      "(" + name + ", " + std::to_string(size) + " x " + std::to_string(size) + " x " + std::to_string(columns) + ")";
  const bench::Work work{.flops = 2.0 * static_cast<double>(size * size * columns)};
  p.row("mm" + sizes, work, [=] {
    return [guard = std::make_shared<c10::InferenceMode>(), a = pruned(size, dtype),
            b = at::randn({size, columns}).to(dtype)] { return at::mm(a, b); };
  });
  p.row("sparse::mm" + sizes, work, [=] {
    return [guard = std::make_shared<c10::InferenceMode>(),
            a = torch::sparse::to_sparse_semi_structured(pruned(size, dtype)),
            b = at::randn({size, columns}).to(dtype)] { return torch::sparse::mm(a, b); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program p("semi_structured");
  for (const auto& [size, columns] : {std::pair<int64_t, int64_t>{1024, 1024}, {1024, 1}, {4096, 16}}) {
    add_rows(p, "float32", at::kFloat, size, columns);
    add_rows(p, "bfloat16", at::kBFloat16, size, columns);
  }
  return p.run(argc, argv);
}
