// Collectives and messages of values: numbers, texts, tensors, and lists, tuples and dicts of them.
//
//   std::vector<c10::IValue> all;
//   torch::distributed::all_gather_object(all, c10::IValue(loss));  // all[r] is rank r's
//
// Values travel as torch::pickle_save writes them; what it does not take is a c10::TypeError. A value of more than
// kMaxObjectBytes is a c10::ValueError on the rank that has it; on a rank that is to receive more, or bytes that are no
// such value, a c10::DistBackendError that names the rank they came from. Tensors arrive on the device they were on.
// Groups and ranks are as in collectives.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "c10/value/ivalue.h"
#include "distributed/process_group/init.h"

namespace torch::distributed {

inline constexpr int64_t kMaxObjectBytes = int64_t{1} << 30;

/// `objects` becomes each rank's.
void all_gather_object(std::vector<c10::IValue>& objects, const c10::IValue& object,
                       const c10d::GroupArg& group = std::nullopt);
/// The same on rank `dst`; elsewhere `objects` stays as it is.
void gather_object(const c10::IValue& object, std::vector<c10::IValue>& objects, int64_t dst = 0,
                   const c10d::GroupArg& group = std::nullopt);
/// `objects` becomes that of rank `src`; each rank has as many.
void broadcast_object_list(std::vector<c10::IValue>& objects, int64_t src = 0,
                           const c10d::GroupArg& group = std::nullopt);
/// One for each rank, of those that rank `src` has; `objects` elsewhere does not matter.
c10::IValue scatter_object_list(const std::vector<c10::IValue>& objects, int64_t src = 0,
                                const c10d::GroupArg& group = std::nullopt);
void send_object_list(const std::vector<c10::IValue>& objects, int64_t dst, const c10d::GroupArg& group = std::nullopt);
/// As many as `objects` has. Returns who sent.
int64_t recv_object_list(std::vector<c10::IValue>& objects, std::optional<int64_t> src = std::nullopt,
                         const c10d::GroupArg& group = std::nullopt);

}  // namespace torch::distributed
