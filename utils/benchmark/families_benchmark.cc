// Reductions, sorting, indexing, joining and scans on data larger than the caches, with fresh results. Written against
// libtorch's C++ API, as overhead_benchmark.cc.
#include <torch/torch.h>

#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

constexpr int64_t kElements = 16 << 20;
constexpr int64_t kRows = 4096, kWidth = kElements / kRows;

// `streams` operands and results of kElements float32.
bench::Work streams(int count) { return {.bytes = 4.0 * count * kElements}; }

at::Tensor matrix() { return torch::rand({kRows, kWidth}); }
at::Tensor rows_index(int64_t n) { return torch::randint(kRows, {n}, torch::kLong); }

void add_rows(bench::Program& p) {
  p.row("sum_inner", streams(1), [] {
    return [a = matrix()] { return at::sum(a, {1}); };
  });
  p.row("sum_short_rows", streams(1), [] {
    return [a = torch::rand({kElements / 8, 8})] { return at::sum(a, {1}); };
  });
  p.row("sum_channels", streams(1), [] {
    return [a = torch::rand({16, 64, 128, 128})] { return at::sum(a, {0, 2, 3}); };
  });
  p.row("max_inner", streams(1), [] {
    return [a = matrix()] { return at::amax(a, {1}); };
  });
  p.row("max_dim_inner", streams(1), [] {
    return [a = matrix()] { return std::get<1>(at::max(a, 1)); };
  });
  p.row("var_inner", streams(1), [] {
    return [a = matrix()] { return at::var(a, at::OptionalIntArrayRef({1}), true, false); };
  });
  p.row("log_softmax", streams(2), [] {
    return [a = torch::randn({kElements / 256, 256})] { return at::log_softmax(a, -1); };
  });
  p.row("softmax_outer", streams(2), [] {
    return [a = torch::randn({16, 1024, 1024})] { return at::softmax(a, 1); };
  });
  p.row("sort_rows", {}, [] {
    return [a = torch::rand({64, 1 << 14})] { return std::get<0>(at::sort(a)); };
  });
  p.row("sort_one", {}, [] {
    return [a = torch::rand({1 << 20})] { return std::get<0>(at::sort(a)); };
  });
  p.row("topk_rows", streams(1), [] {
    return [a = matrix()] { return std::get<0>(at::topk(a, 50)); };
  });
  p.row("gather_rows", {.bytes = 16.0 * kElements / 4}, [] {
    return [a = matrix(), index = torch::randint(kWidth, {kRows, kWidth / 4}, torch::kLong)] {
      return at::gather(a, 1, index);
    };
  });
  p.row("index_select_rows", streams(2), [] {
    return [a = matrix(), index = rows_index(kRows)] { return at::index_select(a, 0, index); };
  });
  p.row("index_add_rows", {.bytes = 12.0 * kElements / 2}, [] {
    return [a = matrix(), index = rows_index(kRows / 2), source = torch::rand({kRows / 2, kWidth})]() mutable {
      return a.index_add_(0, index, source);
    };
  });
  p.row("cat_rows", streams(2), [] {
    return [a = torch::rand({kRows, kWidth / 2}), b = torch::rand({kRows, kWidth / 2})] {
      return at::cat({a, b}, 1);
    };
  });
  p.row("cumsum_inner", streams(2), [] {
    return [a = matrix()] { return at::cumsum(a, 1); };
  });
  p.row("cumsum_outer", streams(2), [] {
    return [a = matrix()] { return at::cumsum(a, 0); };
  });
  p.row("embedding_lookup", {.bytes = 4.0 * kElements}, [] {
    return [w = torch::rand({kRows, 256}), index = rows_index(kElements / 256)] { return at::embedding(w, index); };
  });
}

// A sparse matrix by rows, of `per_row` elements in each around its diagonal, so that each row of the other factor is
// read from memory once.
constexpr int64_t kLines = 1 << 17, kPerRow = 8;
at::Tensor band() {
  const at::Tensor first = torch::arange(kLines).clamp_max(kLines - kPerRow).unsqueeze(1);
  return torch::sparse_csr_tensor(torch::arange(kLines + 1) * kPerRow, (first + torch::arange(kPerRow)).reshape({-1}),
                                  torch::rand({kLines * kPerRow}), {kLines, kLines}, torch::kFloat);
}
// `columns` of both dense matrices, and the elements with int64 places.
bench::Work band_product(int64_t columns) { return {.bytes = kLines * (8.0 * columns + 12.0 * kPerRow)}; }

void add_sparse_rows(bench::Program& p) {
  p.row("csr_times_dense", band_product(128), [] {
    return [a = band(), b = torch::rand({kLines, 128})] { return at::mm(a, b); };
  });
  p.row("csr_times_narrow", band_product(16), [] {
    return [a = band(), b = torch::rand({kLines, 16})] { return at::mm(a, b); };
  });
  p.row("csr_times_vector", band_product(1), [] {
    return [a = band(), b = torch::rand({kLines})] { return at::mv(a, b); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode guard;
  bench::Program program("families");
  add_rows(program);
  add_sparse_rows(program);
  return program.run(argc, argv);
}
