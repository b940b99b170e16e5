#pragma once

// Rows of calls by name, as text: what every operator takes is in its schema, so a line is all that a row needs.
//
//   {sin,cos}(randn(<1000|16777216>))                            four rows, of two operators at two sizes
//   add.Tensor(rand(<8|4096>), rand(<8|4096>))                   two rows: all <> of a line choose alike
//   grad gelu(randn(4096, 1024))                                 forward and backward
//   mm(randn(512, 512), randn(512, 512)) flops=2*512*512*512     beside the peak of multiply-adds
//
// Arguments are numbers, true, false, none, dtypes (float16), 'strings', lists, and calls: of the makers below, or of operators,
// `aten::name.overload(…)` or `x.name.overload(…)`; missing ones have the schema's defaults, `name=value` gives those after them.
// Lists of optional tensors are written opt[…]. Makers: randn(sizes…), rand(sizes…), ones(sizes…), zeros(sizes…), arange(n),
// randperm(n), randint(high, sizes…), repeat(n, value), a list of n.
//
// A row's bytes are those of its tensor arguments and results, unless `bytes=` says otherwise; views move none.

#include <string>
#include <vector>

#include "utils/benchmark/program.h"

namespace torch::utils::benchmark {

/// The rows that a line stands for, each as it is named: {a,b} and <a|b> written out. Throws c10::Error where one is not closed.
std::vector<std::string> expand_row(const std::string& line);

/// Adds the rows of operator_rows.inc.
void add_operator_rows(Program& program);

/// Adds one row. An operator or argument that is unknown is an error when the row's turn comes.
void add_operator_row(Program& program, const std::string& row);

}  // namespace torch::utils::benchmark
