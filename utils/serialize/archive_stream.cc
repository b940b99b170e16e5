// Apart from archive.cc, so that a program that uses no streams links none.
#include <istream>
#include <ostream>

#include "utils/serialize/archive.h"

namespace torch::serialize {

void OutputArchive::save_to(std::ostream& stream) const {
  save_to([&](const void* data, size_t bytes) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    TORCH_CHECK(stream.good(), "archive: writing to the stream failed");
    return bytes;
  });
}

void InputArchive::load_from(std::istream& stream, std::optional<c10::Device> device) {
  std::string bytes;
  const std::istream::pos_type begin = stream.tellg();
  if (begin != std::istream::pos_type(-1) && stream.seekg(0, std::ios::end)) {
    bytes.reserve(static_cast<size_t>(stream.tellg() - begin));
    stream.seekg(begin);
  }
  stream.clear();
  char piece[1 << 14];
  while (stream.read(piece, sizeof piece) || stream.gcount() > 0)
    bytes.append(piece, static_cast<size_t>(stream.gcount()));
  load_bytes(std::move(bytes), device);
}

}  // namespace torch::serialize
