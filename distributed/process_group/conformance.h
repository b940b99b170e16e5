// What every backend must do, of CPU tensors or of those of its bound device: each operation by reduction, dtype,
// count, layout and number of ranks against a plain loop, and what happens when ranks disagree, come late, or are gone.
#pragma once

#include <functional>

#include "c10/core/scalar_type.h"
#include "distributed/process_group/backend.h"

namespace c10d::testing {

/// A rank's backend in a new group; called in the rank's own thread.
using BackendOfRank = std::function<c10::intrusive_ptr<Backend>(int rank, std::chrono::milliseconds timeout)>;
using MakeGroup = std::function<BackendOfRank(int size)>;

/// `reduces` says which reductions of which dtypes the backend has; all, where nothing is given.
void expect_collectives(const MakeGroup& make, int size,
                        const std::function<bool(ReduceOp::RedOpType op, c10::ScalarType dtype)>& reduces = nullptr);
void expect_messages(const MakeGroup& make, int size);
/// Mismatches, late and missing ranks, abort: every rank throws in time, and says which rank and which operation.
void expect_errors(const MakeGroup& make);
void expect_argument_checks(const MakeGroup& make);

}  // namespace c10d::testing
