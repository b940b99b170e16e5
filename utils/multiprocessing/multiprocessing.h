// torch::multiprocessing: tensors that processes share, queues of them, worker processes.
#pragma once

#include "utils/multiprocessing/queue.h"    // IWYU pragma: export
#include "utils/multiprocessing/sharing.h"  // IWYU pragma: export
#include "utils/multiprocessing/spawn.h"    // IWYU pragma: export
