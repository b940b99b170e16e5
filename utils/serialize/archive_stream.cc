// Apart from archive.cc, so that a program that uses no streams links none.
#include <istream>
#include <iterator>
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
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  load_from(bytes.data(), bytes.size(), device);
}

}  // namespace torch::serialize
