#include "c10/core/thread_state.h"

namespace c10::detail {

thread_local constinit ThreadState thread_state_storage{};

}  // namespace c10::detail
