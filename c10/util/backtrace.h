// Where the program is: the addresses of the running calls, and their names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace c10 {

/// The return addresses of the calling function and of those that called it, without the innermost `skip`. Cheap beside
/// describe_frames: names are looked up there.
std::vector<void*> capture_frames(size_t skip = 0, size_t maximum = 64);

/// A line a frame: "frame #0: train(at::Tensor const&) + 0x1c (bin/train + 0x5a21c)". Names come from the symbol tables of
/// the program and its shared libraries, as long as they are not stripped; what stands in brackets gives file and line to
/// `addr2line -e bin/train 0x5a21c` where the program was built with -g.
std::string describe_frames(const std::vector<void*>& frames);

}  // namespace c10
