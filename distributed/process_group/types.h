// What collectives are asked for: how elements are reduced, and the options of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/ivalue_class.h"
#include "distributed/store/store.h"

namespace c10d {

/// In options: the timeout that the backend has.
constexpr std::chrono::milliseconds kUnsetTimeout(-1);
/// To Work::wait: as long as the operation itself may take.
constexpr std::chrono::milliseconds kNoTimeout(0);
/// Of backends, where nothing else is said.
constexpr std::chrono::milliseconds kBackendDefaultTimeout(30 * 60 * 1000);

/// The factor of ReduceOp::PREMUL_SUM: a number, or a tensor of one element.
struct PreMulSumSupplement : torch::CustomClassHolder {
  explicit PreMulSumSupplement(double factor) : double_factor(factor) {}
  explicit PreMulSumSupplement(at::Tensor factor) : tensor_factor(std::move(factor)) {}
  double double_factor = 0;
  at::Tensor tensor_factor;
};

/// How the elements that the ranks give become one.
///
/// SUM, PRODUCT, MIN and MAX are of all dtypes but complex ones for the last two; of bool they are or, and, and, or.
/// NaN wins in MIN and MAX. AVG, the sum divided by the number of ranks, is of floating and complex dtypes; BAND, BOR
/// and BXOR of integers and bool. PREMUL_SUM is the sum of what the ranks give times a factor (makePreMulSum), each
/// rank's own, of floating and complex dtypes. Half and BFloat16 are added two at a time in float32 and rounded.
struct ReduceOp : torch::CustomClassHolder {
  enum RedOpType : uint8_t { SUM = 0, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED };

  ReduceOp() = default;
  ReduceOp(RedOpType op);  // NOLINT(google-explicit-constructor): libtorch's
  ReduceOp(RedOpType op, c10::intrusive_ptr<PreMulSumSupplement> supplement);
  operator RedOpType() const { return op_; }  // NOLINT(google-explicit-constructor): libtorch's

  RedOpType op_ = SUM;
  c10::intrusive_ptr<PreMulSumSupplement> supplement_;
};

/// `factor`: a floating number, or a tensor of one element.
template <class T>
ReduceOp makePreMulSum(const T& factor) {
  return ReduceOp(ReduceOp::PREMUL_SUM, c10::make_intrusive<PreMulSumSupplement>(factor));
}

/// "SUM", "AVG", ...
const char* name_of(ReduceOp::RedOpType op);

struct BroadcastOptions {
  int64_t rootRank = 0;
  int64_t rootTensor = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct AllreduceOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  std::optional<at::Tensor> sparseIndices = std::nullopt;
  bool asyncOp = true;
};

struct AllreduceCoalescedOptions : AllreduceOptions {};

struct ReduceOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  int64_t rootRank = 0;
  int64_t rootTensor = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct AllgatherOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct GatherOptions {
  int64_t rootRank = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct ScatterOptions {
  int64_t rootRank = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct ReduceScatterOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct AllToAllOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

struct BarrierOptions {
  std::vector<int64_t> device_ids;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  std::optional<at::Device> device = std::nullopt;
  bool asyncOp = true;
};

/// What an engine is told of the group that a backend is made for.
struct DistributedBackendOptions {
  c10::intrusive_ptr<Store> store;
  int group_rank;
  int group_size;
  std::chrono::duration<float> timeout;
  std::string group_id;
  std::vector<int64_t> global_ranks_in_group;
  std::string group_desc = {};
};

}  // namespace c10d
