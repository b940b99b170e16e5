// Apart from archive.cc, so that a program that uses no streams links none.
#include <algorithm>
#include <cstring>
#include <istream>
#include <list>
#include <ostream>

#include "utils/serialize/archive.h"

namespace torch::serialize {

constexpr size_t kPiece = size_t{1} << 20;

void OutputArchive::save_to(std::ostream& stream) const {
  save_to([&](const void* data, size_t bytes) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    TORCH_CHECK(stream.good(), "archive: writing to the stream failed");
    return bytes;
  });
}

void InputArchive::load_from(std::istream& stream, std::optional<c10::Device> device) {
  // In pieces that are freed as they are put together: twice the file at most.
  std::list<std::string> pieces;
  size_t total = 0;
  while (stream.good()) {
    std::string piece(std::min<size_t>(std::max<size_t>(total, 4096), kPiece), '\0');
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    piece.resize(static_cast<size_t>(stream.gcount()));
    total += piece.size();
    pieces.push_back(std::move(piece));
  }
  // The end was meant to be found: the caller may go back and read again.
  if (!stream.bad()) stream.clear();
  size_t used = 0;  // of the first piece
  load_from(
      [&](uint64_t, void* out, size_t wanted) {
        const size_t n = std::min(wanted, pieces.front().size() - used);
        std::memcpy(out, pieces.front().data() + used, n);
        used += n;
        if (used == pieces.front().size()) pieces.pop_front(), used = 0;
        return n;
      },
      [&] { return total; }, device);
}

}  // namespace torch::serialize
