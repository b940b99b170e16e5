// What samplers share. Not for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "c10/core/generator.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace torch::data::samplers::detail {

/// The order that randperm(n) gives with this generator.
std::vector<int64_t> random_order(int64_t n, const at::Generator& generator);
/// A number of 63 bits, as an int64 tensor's random_() draws it from the default generator.
uint64_t random_seed();

/// The next piece of an order, and how far that is.
std::optional<std::vector<size_t>> take(const std::vector<int64_t>& order, size_t& position, size_t batch_size);

void write_indices(serialize::OutputArchive& archive, const std::vector<int64_t>& indices);
/// None is below 0.
std::vector<int64_t> read_indices(serialize::InputArchive& archive);
void write_number(serialize::OutputArchive& archive, const char* key, size_t value);
/// A number in [0, bound]; else ValueError.
size_t read_number(serialize::InputArchive& archive, const char* key, size_t bound);
void write_generator(serialize::OutputArchive& archive, const at::Generator& generator);
void read_generator(serialize::InputArchive& archive, at::Generator generator);

}  // namespace torch::data::samplers::detail
