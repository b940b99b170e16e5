#include "distributed/process_group/types.h"

#include "c10/util/exception.h"

namespace c10d {

ReduceOp::ReduceOp(RedOpType op) : op_(op) {
  TORCH_CHECK(op != PREMUL_SUM, "ReduceOp: PREMUL_SUM needs a factor: use makePreMulSum");
}

ReduceOp::ReduceOp(RedOpType op, c10::intrusive_ptr<PreMulSumSupplement> supplement)
    : op_(op), supplement_(std::move(supplement)) {
  TORCH_CHECK((op == PREMUL_SUM) == static_cast<bool>(supplement_), "ReduceOp: PREMUL_SUM, and no other, has a factor");
  TORCH_CHECK(!supplement_ || !supplement_->tensor_factor.defined() || supplement_->tensor_factor.numel() == 1,
              "ReduceOp: the factor of PREMUL_SUM must have one element");
}

const char* name_of(ReduceOp::RedOpType op) {
  static constexpr const char* kNames[] = {"SUM",  "AVG", "PRODUCT", "MIN",        "MAX",
                                           "BAND", "BOR", "BXOR",    "PREMUL_SUM", "UNUSED"};
  return kNames[op];
}

}  // namespace c10d
