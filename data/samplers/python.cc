#include "data/samplers/python.h"

#include <numeric>
#include <string>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "c10/core/cpu_generator.h"
#include "data/samplers/detail.h"
#include "utils/serialize/archive.h"

namespace torch::data::samplers {

namespace detail {

void OrderedSampler::reset(std::optional<size_t> new_size) {
  if (new_size) resize(*new_size);
  drawn_ = false;
  index_ = 0;
}

std::optional<std::vector<size_t>> OrderedSampler::next(size_t batch_size) {
  if (!drawn_) order_ = draw();
  drawn_ = true;
  return take(order_, index_, batch_size);
}

void OrderedSampler::save(serialize::OutputArchive& archive) const {
  write_number(archive, "index", index_);
  if (drawn_) write_indices(archive, order_);
  if (const std::optional<at::Generator>* own = generator(); own != nullptr && *own) write_generator(archive, **own);
}

void OrderedSampler::load(serialize::InputArchive& archive) {
  at::Tensor indices;
  drawn_ = archive.try_read("indices", indices, /*is_buffer=*/true);
  if (drawn_) order_ = read_indices(archive);
  index_ = read_number(archive, "index", drawn_ ? order_.size() : 0);
  if (const std::optional<at::Generator>* own = generator(); own != nullptr && *own) read_generator(archive, **own);
}

}  // namespace detail

namespace {

void check_size(const char* sampler, size_t has, size_t new_size) {
  TORCH_CHECK_VALUE(has == new_size, sampler, ": its indices are given, reset() can't make ", new_size, " of ", has);
}

}  // namespace

void IndexSampler::resize(size_t new_size) { check_size("IndexSampler", indices_.size(), new_size); }
void SubsetRandomSampler::resize(size_t new_size) { check_size("SubsetRandomSampler", indices_.size(), new_size); }

std::vector<int64_t> SubsetRandomSampler::draw() {
  std::vector<int64_t> order = detail::random_order(static_cast<int64_t>(indices_.size()),
                                                    generator_ ? *generator_ : at::detail::getDefaultCPUGenerator());
  for (int64_t& i : order) i = static_cast<int64_t>(indices_[static_cast<size_t>(i)]);
  return order;
}

WeightedRandomSampler::WeightedRandomSampler(
    const std::vector<double>& weights, int64_t num_samples, bool replacement, std::optional<at::Generator> generator)
    : num_samples_(num_samples), replacement_(replacement), generator_(std::move(generator)) {
  TORCH_CHECK_VALUE(num_samples > 0,
                    "num_samples should be a positive integer value, but got num_samples=", num_samples);
  weights_ = at::empty({static_cast<int64_t>(weights.size())}, at::kDouble);
  std::copy(weights.begin(), weights.end(), weights_.mutable_data_ptr<double>());
}

WeightedRandomSampler::WeightedRandomSampler(
    const at::Tensor& weights, int64_t num_samples, bool replacement, std::optional<at::Generator> generator)
    : num_samples_(num_samples), replacement_(replacement), generator_(std::move(generator)) {
  TORCH_CHECK_VALUE(num_samples > 0,
                    "num_samples should be a positive integer value, but got num_samples=", num_samples);
  if (weights.dim() != 1) {
    std::string shape;
    for (const int64_t size : weights.sizes()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    TORCH_CHECK_VALUE(false, "weights should be a 1d sequence but given weights have shape (", shape, ")");
  }
  weights_ = at::_to_copy(weights, at::TensorOptions(at::kDouble).device(at::kCPU));
}

void WeightedRandomSampler::resize(size_t new_size) {
  check_size("WeightedRandomSampler", static_cast<size_t>(weights_.size(0)), new_size);
}

std::vector<int64_t> WeightedRandomSampler::draw() {
  const at::Tensor drawn = at::multinomial(weights_, num_samples_, replacement_, generator_);
  const int64_t* const data = drawn.data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + drawn.numel());
}

DistributedIndexSampler::DistributedIndexSampler(size_t size, const DistributedIndexSamplerOptions& options)
    : size_(size), options_(options) {
  TORCH_CHECK_VALUE(options.num_replicas() > 0,
                    "DistributedIndexSampler: expected a positive number of replicas, but got ",
                    options.num_replicas());
  TORCH_CHECK_VALUE(options.rank() >= 0 && options.rank() < options.num_replicas(), "Invalid rank ", options.rank(),
                    ", rank should be in the interval [0, ", options.num_replicas() - 1, "]");
}

size_t DistributedIndexSampler::num_samples() const noexcept {
  const size_t replicas = static_cast<size_t>(options_.num_replicas());
  return size_ / replicas + (!options_.drop_last() && size_ % replicas != 0);
}

std::vector<int64_t> DistributedIndexSampler::draw() {
  std::vector<int64_t> all(size_);
  if (options_.shuffle()) {
    all = detail::random_order(static_cast<int64_t>(size_),
                               at::make_generator<at::CPUGeneratorImpl>(options_.seed() + epoch_));
  } else {
    std::iota(all.begin(), all.end(), int64_t{0});
  }
  const size_t replicas = static_cast<size_t>(options_.num_replicas());
  std::vector<int64_t> mine(num_samples());
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = all[(static_cast<size_t>(options_.rank()) + i * replicas) % size_];
  return mine;
}

void DistributedIndexSampler::save(serialize::OutputArchive& archive) const {
  OrderedSampler::save(archive);
  detail::write_number(archive, "epoch", epoch_);
}
void DistributedIndexSampler::load(serialize::InputArchive& archive) {
  const size_t epoch = detail::read_number(archive, "epoch", INT64_MAX);
  OrderedSampler::load(archive);
  epoch_ = epoch;
}

void FixedBatchSampler::reset(std::optional<size_t> new_size) {
  if (new_size) check_size("FixedBatchSampler", batches_.size(), *new_size);
  index_ = 0;
}
std::optional<std::vector<size_t>> FixedBatchSampler::next(size_t) {
  if (index_ >= batches_.size()) return std::nullopt;
  return batches_[index_++];
}
void FixedBatchSampler::save(serialize::OutputArchive& archive) const {
  detail::write_number(archive, "index", index_);
}
void FixedBatchSampler::load(serialize::InputArchive& archive) {
  index_ = detail::read_number(archive, "index", batches_.size());
}

}  // namespace torch::data::samplers
