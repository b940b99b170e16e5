// torch::multiprocessing: tensors that processes share, queues and pipes of them, worker processes, pools.
#pragma once

#include "utils/multiprocessing/function.h"  // IWYU pragma: export
#include "utils/multiprocessing/pool.h"      // IWYU pragma: export
#include "utils/multiprocessing/queue.h"     // IWYU pragma: export
#include "utils/multiprocessing/sharing.h"  // IWYU pragma: export
#include "utils/multiprocessing/spawn.h"    // IWYU pragma: export
