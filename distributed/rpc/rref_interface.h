// A reference to a value of another worker, for code that holds one without calling through it.
#pragma once

#include <cstdint>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "c10/value/type.h"

namespace c10 {

/// A worker's rank.
using worker_id_t = int16_t;

/// What torch::distributed::rpc::RRef (rref.h) is to code that does not link RPC.
class RRefInterface : public intrusive_ptr_target {
 public:
  ~RRefInterface() override = default;

  /// The rank of the worker that has the value, its name, and whether that is this worker.
  virtual worker_id_t owner() const = 0;
  virtual std::string ownerName() const = 0;
  virtual bool isOwner() const = 0;
  /// Whether the owner is known to know of this reference.
  virtual bool confirmedByOwner() const = 0;
  /// Of the value.
  virtual const TypePtr type() const = 0;
};

}  // namespace c10
