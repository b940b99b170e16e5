// Record files: length, masked CRC of the length, payload, masked CRC of the payload, little-endian
// (https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace torch::utils::tensorboard {

// The CRC-32C as record files store it: rotated right by 15 bits plus 0xa282ead8.
uint32_t masked_crc32c(std::string_view data);

// Appends one record.
void append_record(std::string& out, std::string_view payload);

// Takes the first record off `file` and returns true, false at the end. Throws c10::Error where the bytes are damaged or
// cut short; `payload` is a view into `file`.
bool next_record(std::string_view& file, std::string_view* payload);

}  // namespace torch::utils::tensorboard
