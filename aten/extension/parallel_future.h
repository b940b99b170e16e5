#pragma once

#include <functional>

#include "c10/util/intrusive_ptr.h"
#include "c10/value/future.h"

namespace at {

/// Runs `task` as at::intraop_launch does, and returns a future of nothing that is completed when it has ended, with
/// the error that it threw if it did.
c10::intrusive_ptr<c10::ivalue::Future> intraop_launch_future(const std::function<void()>& task);

}  // namespace at
