#include "utils/benchmark/operator_rows.h"

#include <torch/torch.h>

#include "gtest/gtest.h"

namespace torch::utils::benchmark {
namespace {

using Rows = std::vector<std::string>;

int run(Program& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"program", "--threads=1", "--min_time=0.000001"});
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  return program.run(static_cast<int>(argv.size()), argv.data());
}

TEST(OperatorRows, BracesStandForEachAndAnglesChooseAlike) {
  EXPECT_EQ(expand_row("{sin,cos}(rand(<8|16>))"),
            (Rows{"sin(rand(8))", "sin(rand(16))", "cos(rand(8))", "cos(rand(16))"}));
  EXPECT_EQ(expand_row("add.Tensor(rand(<8|16>), rand(<8|16>))"),
            (Rows{"add.Tensor(rand(8), rand(8))", "add.Tensor(rand(16), rand(16))"}));
  EXPECT_EQ(expand_row("mm(a<|.t>(), b)"), (Rows{"mm(a(), b)", "mm(a.t(), b)"}));
  EXPECT_THROW(expand_row("{sin,cos(rand(8))"), c10::Error);
  EXPECT_THROW(expand_row("f(<1|2>, <1|2|3>)"), c10::Error);
}

TEST(OperatorRows, ArgumentsAreReadBySchema) {
  Program program("rows");
  for (const char* row : {
           "add.Tensor(ones(2, 3), ones(3), alpha=2)", "cat([ones(2), ones(3)], 0)", "to.dtype(rand(4), float64)",
           "index.Tensor(rand(4, 4), opt[none, arange(2)])", "_foreach_add.List(repeat(3, rand(4)), repeat(3, rand(4)))",
           "gelu(randn(4), approximate='tanh')", "grad mul.Tensor(rand(4), rand(4).t())", "sum.dim_IntList(rand(2, 2), [-1])",
           "mm(rand(2, 2), rand(2, 2)) flops=2*2*2*2"}) {
    add_operator_row(program, row);
  }
  EXPECT_EQ(run(program, {}), 0);
}

TEST(OperatorRows, ARowThatCannotRunFailsTheProgram) {
  for (const char* row : {"no_such_operator(rand(4))", "sin(rand(4), 1, 2)", "sin(nonsense(4))", "add.Tensor(rand(4))",
                          "sin(rand(4)", "sin(rand(4), other=1)"}) {
    Program program("rows");
    add_operator_row(program, row);
    EXPECT_EQ(run(program, {}), 1) << row;
  }
}

TEST(OperatorRows, AFilterThatNoRowMatchesIsAnError) {
  Program program("rows");
  add_operator_row(program, "sin(rand(4))");
  EXPECT_EQ(run(program, {"--filter=cos"}), 2);
}

// Those of small tensors; large ones take minutes.
TEST(OperatorRows, TheRowsRun) {
  Program program("rows");
  add_operator_rows(program);
  EXPECT_EQ(run(program, {"--filter=^(?!.*([0-9]{5,}|[0-9]{3,}, [0-9]{3,}|[0-9]{2,}, [0-9]{2,}, [0-9]{2,}))"}), 0);
}

}  // namespace
}  // namespace torch::utils::benchmark
