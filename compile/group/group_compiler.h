// What runs groups on devices other than the CPU. A device's library registers it; nothing here knows of any.
#pragma once

#include <cstddef>
#include <memory>

#include "c10/core/device.h"
#include "c10/util/array_ref.h"
#include "compile/group/group.h"

namespace torch::compiler {

struct Lowered;

/// A group that is ready to run, for one set of sizes and strides.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Puts the group's work on the current stream of its device. Memory of the inputs that are no constants, and of the
  /// outputs, in the group's order, aligned to their elements. No output may share memory with an input or another
  /// output. Any number of threads may run one group.
  virtual void run(c10::ArrayRef<const void*> inputs, c10::ArrayRef<void*> outputs) const = 0;
  /// What it holds in the host's memory beside what groups share.
  virtual size_t bytes() const = 0;
};

class GroupCompiler {
 public:
  virtual ~GroupCompiler() = default;
  /// Whether groups may have it. What they do not have runs by its operator.
  virtual bool takes(const Lowered& lowered) const = 0;
  /// For tensors of `device`; the group's sizes are numbers. Throws c10::Error with the reason where it cannot be.
  virtual std::unique_ptr<DeviceGroup> compile(const Group& group, c10::Device device) const = 0;
};

/// `compiler` lives as long as the process does.
void register_group_compiler(c10::DeviceType type, const GroupCompiler& compiler);
/// Null where none is registered.
const GroupCompiler* group_compiler(c10::DeviceType type);

}  // namespace torch::compiler
