#include "utils/memory/segments.h"

namespace torch::memory::detail {

std::vector<Segment> (*segments)() = nullptr;
std::atomic<void (*)(const SegmentEvent&)> segment_listener{nullptr};

}  // namespace torch::memory::detail
