// What the instructions of c10/cuda/ptx.h do, which device.h has no function for. Those of a warp are collectives: a
// lane that is missing, or that is elsewhere, ends the launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_host/simt/simt.h"

namespace simt {

// ldmatrix of `count` (1, 2 or 4) matrices of 8 x 8 elements of 16 bits: lane 8 * m + i has the address of row i of
// matrix m, other lanes' addresses do not count. to[m] is the lane's part of matrix m: two neighbours of row lane / 4,
// or, transposed, of column lane / 4.
void load_matrices(int count, bool transposed, const void* row, uint32_t* to, Site site);

// mma of a 16 x k matrix by rows and a k x 8 matrix by columns: d += a * b in float.
enum class Multiplied { kHalf, kBFloat16, kTf32 };  // k is 16, 16 and 8
void multiply_matrices(Multiplied type, float* d, const uint32_t* a, const uint32_t* b, Site site);

// cp.async to shared memory of `bytes` and zeros up to `size`, of which addresses are multiples. What is copied is
// there when the thread has waited for it: until then there is poison, and who touches it ends the launch.
void start_copy(void* to, const void* from, unsigned bytes, unsigned size, Site site);
void commit_copies();
void wait_for_copies(int groups_left);

namespace copies {

// For the executor.
void start_block();
bool is_any_pending();
bool is_pending(const void* address, size_t bytes);

}  // namespace copies

namespace watch {

// A copy of the current thread has written; `code` waited for it.
void arrived(const void* address, size_t bytes, const void* code);
bool is_shared_memory(const void* address);

}  // namespace watch
}  // namespace simt
