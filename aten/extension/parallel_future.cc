#include "aten/extension/parallel_future.h"

#include <exception>

#include "aten/core/interop.h"

namespace at {

c10::intrusive_ptr<c10::ivalue::Future> intraop_launch_future(const std::function<void()>& task) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
  intraop_launch([&] {
    try {
      task();
    } catch (...) {
      future->setError(std::current_exception());
      return;
    }
    future->markCompleted();
  });
  return future;
}

}  // namespace at
