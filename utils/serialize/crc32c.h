// CRC-32C (Castagnoli polynomial; RFC 3720, appendix B.4): "123456789" gives 0xe3069283.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace torch::serialize {

// Continues a checksum: crc32c(crc32c(0, a), b) is that of a followed by b.
uint32_t crc32c(uint32_t crc, const void* data, size_t bytes);
inline uint32_t crc32c(std::string_view data) { return crc32c(0, data.data(), data.size()); }

}  // namespace torch::serialize
