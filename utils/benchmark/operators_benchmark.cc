// One row for each line of operator_rows.inc, called by name. Written against libtorch's C++ API, as overhead_benchmark.cc.
#include <torch/torch.h>

#include "utils/benchmark/operator_rows.h"
#include "utils/benchmark/program.h"

int main(int argc, char** argv) {
  torch::utils::benchmark::Program program("operators");
  torch::utils::benchmark::add_operator_rows(program);
  return program.run(argc, argv);
}
