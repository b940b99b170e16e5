#pragma once

#include <cstdint>

/// Nodes of the graph are numbered, in each thread by itself: operators recorded later have higher numbers, so the engine runs
/// them first. A profiler finds by it the node that belongs to an operator's range, RecordFunction::seqNr():
///
///   const uint64_t number = at::sequence_number::peek();
///   auto y = x * x;                                       // y.grad_fn()->sequence_nr() == number
namespace at::sequence_number {

namespace detail {
extern thread_local constinit uint64_t next
#if defined(__PIC__) && !defined(__PIE__)
    __attribute__((tls_model("initial-exec")))
#endif
    ;
}  // namespace detail

/// The number that the next node of this thread gets.
inline uint64_t peek() noexcept { return detail::next; }
inline uint64_t get_and_increment() noexcept { return detail::next++; }

}  // namespace at::sequence_number
