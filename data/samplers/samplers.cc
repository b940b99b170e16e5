#include "data/samplers/samplers.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>

#include "aten/ops/creation/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/util/exception.h"
#include "data/samplers/detail.h"
#include "utils/serialize/archive.h"

namespace torch::data::samplers {

namespace {

// The order that randperm(n) gives with this generator.
std::vector<int64_t> random_order(int64_t n, at::CPUGeneratorImpl& generator) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t j = i + static_cast<int64_t>(generator.random() % static_cast<uint64_t>(n - i));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  return order;
}

std::vector<int64_t> random_order(int64_t n) {
  TORCH_CHECK_VALUE(n >= 0 && n < (int64_t{1} << 32), "RandomSampler: expected a size below 2^32, but got ", n);
  const at::Generator& generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return random_order(n, *static_cast<at::CPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl()));
}

// The next piece of an order, and how far that is.
template <class Index>
std::optional<std::vector<size_t>> take(const std::vector<Index>& order, size_t& position, size_t batch_size) {
  const size_t left = order.size() - position;
  if (left == 0) return std::nullopt;
  const size_t count = std::min(batch_size, left);
  std::vector<size_t> batch(count);
  for (size_t i = 0; i < count; ++i) batch[i] = static_cast<size_t>(order[position + i]);
  position += count;
  return batch;
}

}  // namespace

namespace detail {

std::vector<int64_t> random_order(int64_t n, const at::Generator& generator) {
  TORCH_CHECK_VALUE(n >= 0 && n < (int64_t{1} << 32), "sampler: expected a size below 2^32, but got ", n);
  std::lock_guard<std::mutex> lock(generator.mutex());
  return samplers::random_order(n, *at::check_generator<at::CPUGeneratorImpl>(generator));
}

uint64_t random_seed() {
  const at::Generator& generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return static_cast<at::CPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl())->random64() & (~uint64_t{0} >> 1);
}

void write_indices(serialize::OutputArchive& archive, const std::vector<int64_t>& indices) {
  at::Tensor t = at::empty({static_cast<int64_t>(indices.size())}, at::kLong);
  if (!indices.empty()) std::memcpy(t.mutable_data_ptr(), indices.data(), indices.size() * sizeof(int64_t));
  archive.write("indices", t, /*is_buffer=*/true);
}

std::vector<int64_t> read_indices(serialize::InputArchive& archive) {
  at::Tensor indices;
  archive.read("indices", indices, /*is_buffer=*/true);
  TORCH_CHECK_VALUE(indices.scalar_type() == at::kLong && indices.dim() == 1 && indices.is_contiguous(),
                    "loading a sampler: the indices are not one row of int64");
  const int64_t* const data = indices.data_ptr<int64_t>();
  std::vector<int64_t> order(data, data + indices.numel());
  for (const int64_t i : order) TORCH_CHECK_VALUE(i >= 0, "loading a sampler: index ", i, " is below 0");
  return order;
}

void write_number(serialize::OutputArchive& archive, const char* key, size_t value) {
  archive.write(key, static_cast<int64_t>(value));
}

size_t read_number(serialize::InputArchive& archive, const char* key, size_t bound) {
  int64_t value = 0;
  archive.read(key, value);
  TORCH_CHECK_VALUE(value >= 0 && static_cast<uint64_t>(value) <= bound, "loading a sampler: ", key, " is ", value,
                    ", expected at most ", bound);
  return static_cast<size_t>(value);
}

void write_generator(serialize::OutputArchive& archive, const at::Generator& generator) {
  std::lock_guard<std::mutex> lock(generator.mutex());
  archive.write("generator", generator.get_state(), /*is_buffer=*/true);
}

void read_generator(serialize::InputArchive& archive, at::Generator generator) {
  at::Tensor state;
  archive.read("generator", state, /*is_buffer=*/true);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

std::optional<std::vector<size_t>> take(const std::vector<int64_t>& order, size_t& position, size_t batch_size) {
  return samplers::take(order, position, batch_size);
}

}  // namespace detail

using detail::random_seed;
using detail::read_generator;
using detail::read_indices;
using detail::read_number;
using detail::write_generator;
using detail::write_indices;
using detail::write_number;

RandomSampler::RandomSampler(int64_t size, at::ScalarType index_dtype)
    : indices_(random_order(size)), size_(size), drawn_(true) {
  TORCH_CHECK_TYPE(c10::isIntegralType(index_dtype, /*includeBool=*/false),
                   "RandomSampler: expected an integer type, but got ", c10::toString(index_dtype));
  const int bits = 8 * static_cast<int>(c10::elementSize(index_dtype)) - (index_dtype == at::kByte ? 0 : 1);
  TORCH_CHECK_VALUE(bits >= 63 || size <= int64_t{1} << bits, "RandomSampler: indices below ", size, " do not fit ",
                    c10::toString(index_dtype));
}

RandomSampler::RandomSampler(int64_t size, RandomSamplerOptions options)
    : size_(size), drawn_(false), options_(std::move(options)) {
  const int64_t num_samples = options_->num_samples().value_or(size);
  TORCH_CHECK_VALUE(num_samples > 0,
                    "num_samples should be a positive integer value, but got num_samples=", num_samples);
  TORCH_CHECK_VALUE(size > 0 && size < (int64_t{1} << 32),
                    "RandomSampler: expected a size from 1 to 2^32 - 1, but got ", size);
}

size_t RandomSampler::num_samples() const noexcept {
  return static_cast<size_t>(options_ ? options_->num_samples().value_or(size_) : size_);
}

void RandomSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = static_cast<int64_t>(*new_size);
  index_ = 0;
  drawn_ = false;
  if (!options_) draw();
}

void RandomSampler::draw() {
  drawn_ = true;
  if (!options_) {
    indices_ = random_order(size_);
    return;
  }
  at::Generator generator =
      options_->generator() ? *options_->generator() : at::make_generator<at::CPUGeneratorImpl>(random_seed());
  std::lock_guard<std::mutex> lock(generator.mutex());
  at::CPUGeneratorImpl& from = *at::check_generator<at::CPUGeneratorImpl>(generator);
  const size_t count = num_samples();
  indices_.clear();
  if (options_->replacement()) {
    while (indices_.size() < count)
      indices_.push_back(static_cast<int64_t>(from.random() % static_cast<uint64_t>(size_)));
    return;
  }
  // As in Python, an order is drawn for the rest, too, where none is left.
  for (size_t orders = count / static_cast<size_t>(size_) + 1; orders > 0; --orders) {
    const std::vector<int64_t> order = random_order(size_, from);
    indices_.insert(indices_.end(), order.begin(), order.end());
  }
  indices_.resize(count);
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  if (!drawn_) draw();
  if (index_ > indices_.size()) index_ = indices_.size();
  return take(indices_, index_, batch_size);
}

void RandomSampler::save(serialize::OutputArchive& archive) const {
  write_number(archive, "index", index_);
  if (options_ && options_->generator()) write_generator(archive, *options_->generator());
  if (!drawn_) return;
  write_indices(archive, indices_);
}

void RandomSampler::load(serialize::InputArchive& archive) {
  at::Tensor indices;
  // Absent where nothing was drawn yet; libtorch's sampler always has them.
  drawn_ = !options_ || archive.try_read("indices", indices, /*is_buffer=*/true);
  if (drawn_) {
    std::vector<int64_t> order = read_indices(archive);
    for (int64_t i : order) {
      const int64_t bound = options_ ? size_ : static_cast<int64_t>(order.size());
      TORCH_CHECK_VALUE(i < bound, "loading a sampler: index ", i, " is out of range for ", bound, " examples");
    }
    if (!options_) size_ = static_cast<int64_t>(order.size());
    indices_ = std::move(order);
  }
  index_ = read_number(archive, "index", drawn_ ? indices_.size() : 0);
  if (options_ && options_->generator()) read_generator(archive, *options_->generator());
}

void SequentialSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  if (index_ >= size_) return std::nullopt;
  std::vector<size_t> batch(std::min(batch_size, size_ - index_));
  for (size_t& i : batch) i = index_++;
  return batch;
}

void SequentialSampler::save(serialize::OutputArchive& archive) const { write_number(archive, "index", index_); }
void SequentialSampler::load(serialize::InputArchive& archive) { index_ = read_number(archive, "index", INT64_MAX); }

void StreamSampler::reset(std::optional<size_t> new_size) {
  if (new_size) epoch_size_ = *new_size;
  examples_retrieved_so_far_ = 0;
}

std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  if (examples_retrieved_so_far_ >= epoch_size_) return std::nullopt;
  const size_t size = std::min(batch_size, epoch_size_ - examples_retrieved_so_far_);
  examples_retrieved_so_far_ += size;
  return BatchSize(size);
}

void StreamSampler::save(serialize::OutputArchive& archive) const {
  write_number(archive, "examples_retrieved_so_far", examples_retrieved_so_far_);
}
void StreamSampler::load(serialize::InputArchive& archive) {
  examples_retrieved_so_far_ = read_number(archive, "examples_retrieved_so_far", epoch_size_);
}

template <typename BatchRequest>
DistributedSampler<BatchRequest>::DistributedSampler(size_t size, size_t num_replicas, size_t rank,
                                                     bool allow_duplicates)
    : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
  TORCH_CHECK_VALUE(num_replicas > 0, "DistributedSampler: expected a positive number of replicas, but got 0");
  TORCH_CHECK_VALUE(rank < num_replicas, "DistributedSampler: expected a rank below ", num_replicas, ", but got ",
                    rank);
}

template <typename BatchRequest>
size_t DistributedSampler<BatchRequest>::local_sample_count() const {
  return (size_ + (allow_duplicates_ ? num_replicas_ - 1 : 0)) / num_replicas_;
}

template class DistributedSampler<std::vector<size_t>>;

namespace {

// How many of a rank's `count` samples, which begin at `first`, had been given.
size_t read_index(serialize::InputArchive& archive, size_t first, size_t count) {
  const size_t index = read_number(archive, "sample_index_", first + count);
  TORCH_CHECK_VALUE(index >= first, "loading a sampler: sample_index_ is ", index, ", expected at least ", first);
  return index - first;
}

}  // namespace

DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  reset(size_);
}

void DistributedRandomSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  populate_indices();
  index_ = 0;
}

void DistributedRandomSampler::populate_indices() {
  const size_t count = local_sample_count();
  const size_t total = count * num_replicas_;
  TORCH_CHECK_VALUE(total < (size_t{1} << 32), "DistributedRandomSampler: expected a size below 2^32, but got ", size_);
  // libtorch's numbers: std::shuffle by the epoch, of which each rank has a contiguous part.
  std::vector<size_t> all(total);
  for (size_t i = 0; i < total; ++i) all[i] = i % size_;
  std::mt19937 random(static_cast<std::mt19937::result_type>(epoch_));
  std::shuffle(all.begin(), all.end(), random);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(first_sample());
  indices_.assign(first, first + static_cast<std::ptrdiff_t>(count));
}

size_t DistributedRandomSampler::index() const noexcept {
  return first_sample() + index_;
}

std::optional<std::vector<size_t>> DistributedRandomSampler::next(size_t batch_size) {
  return take(indices_, index_, batch_size);
}

void DistributedRandomSampler::save(serialize::OutputArchive& archive) const {
  write_number(archive, "sample_index_", index());
  write_number(archive, "epoch_", epoch_);
}

void DistributedRandomSampler::load(serialize::InputArchive& archive) {
  const size_t epoch = read_number(archive, "epoch_", INT64_MAX);
  const size_t index = read_index(archive, first_sample(), indices_.size());
  set_epoch(epoch);
  populate_indices();
  index_ = index;
}

DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas, size_t rank,
                                                           bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  populate_indices();
}

void DistributedSequentialSampler::reset(std::optional<size_t> new_size) {
  if (new_size && *new_size != size_) {
    size_ = *new_size;
    populate_indices();
  }
  index_ = 0;
}

void DistributedSequentialSampler::populate_indices() {
  indices_.resize(local_sample_count());
  for (size_t i = 0; i < indices_.size(); ++i) indices_[i] = (first_sample() + i) % size_;
}

std::optional<std::vector<size_t>> DistributedSequentialSampler::next(size_t batch_size) {
  return take(indices_, index_, batch_size);
}

void DistributedSequentialSampler::save(serialize::OutputArchive& archive) const {
  write_number(archive, "sample_index_", index());
}
void DistributedSequentialSampler::load(serialize::InputArchive& archive) {
  index_ = read_index(archive, first_sample(), indices_.size());
}
size_t DistributedSequentialSampler::index() const noexcept {
  return first_sample() + index_;
}

}  // namespace torch::data::samplers
