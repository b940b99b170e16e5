#include "utils/tensorboard/record.h"

#include "c10/util/exception.h"
#include "utils/serialize/crc32c.h"

namespace torch::utils::tensorboard {
namespace {

void append_little_endian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

uint32_t masked_crc32c(std::string_view data) {
  const uint32_t c = serialize::crc32c(data);
  return (c >> 15 | c << 17) + 0xa282ead8u;
}

void append_record(std::string& out, std::string_view payload) {
  const size_t begin = out.size();
  append_little_endian(out, payload.size(), 8);
  append_little_endian(out, masked_crc32c(std::string_view(out).substr(begin)), 4);
  out += payload;
  append_little_endian(out, masked_crc32c(payload), 4);
}

bool next_record(std::string_view& file, std::string_view* payload) {
  if (file.empty()) return false;
  TORCH_CHECK(file.size() >= 12, "record file: cut short within a record's length");
  TORCH_CHECK(little_endian(file.substr(8, 4)) == masked_crc32c(file.substr(0, 8)),
              "record file: the checksum of a record's length does not match");
  const uint64_t length = little_endian(file.substr(0, 8));
  TORCH_CHECK(file.size() - 12 >= 4 && length <= file.size() - 16, "record file: cut short within a record of ", length,
              " bytes");
  *payload = file.substr(12, length);
  TORCH_CHECK(little_endian(file.substr(12 + length, 4)) == masked_crc32c(*payload),
              "record file: the checksum of a record does not match");
  file.remove_prefix(16 + length);
  return true;
}

}  // namespace torch::utils::tensorboard
