// A run of several processes, each with a part of every batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "examples/gpt/trainer.h"

namespace gpt {

// The processes that this one was started with, by torchrun or the like: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
// Null where it was started alone. Throws c10::Error where there are not `expected` (0: any number), or where they do
// not find each other. `parallel` says how they train together: "ddp", "fsdp" (fully_sharded.h), "tp"
// (tensor_parallel.h), "pp" (pipeline.h) or "2d" (two_dimensional.h), for which `tensor` is how many ranks compute each
// layer together.
std::unique_ptr<Ranks> start_ranks(int64_t expected, const std::string& parallel, int64_t tensor);

// Throws c10::ValueError where nobody trains so.
void check_parallel(const std::string& parallel);

}  // namespace gpt
