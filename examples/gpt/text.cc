#include "examples/gpt/text.h"

#include <algorithm>

namespace gpt {

Text::Text(std::string bytes, int64_t context) : bytes_(std::move(bytes)), context_(context) {
  const int64_t piece = context + 1;
  TORCH_CHECK(size() / 2 >= piece, "a context of ", context, " needs a text of at least ", 2 * piece,
              " bytes; this one has ", size());
  training_size_ = size() - std::max(size() / 10, piece);
}

Batch Text::batch_at(const std::vector<int64_t>& places) const {
  const int64_t count = static_cast<int64_t>(places.size());
  torch::Tensor tokens = torch::empty({count, context_}, torch::kLong);
  torch::Tensor targets = torch::empty({count, context_}, torch::kLong);
  int64_t* x = tokens.data_ptr<int64_t>();
  int64_t* y = targets.data_ptr<int64_t>();
  for (const int64_t place : places) {
    const auto* p = reinterpret_cast<const unsigned char*>(bytes_.data()) + place;
    for (int64_t i = 0; i < context_; ++i) {
      *x++ = p[i];
      *y++ = p[i + 1];
    }
  }
  return {tokens, targets};
}

Batch Text::training_batch(int64_t batch) const {
  const torch::Tensor drawn = torch::randint(training_size_ - context_, {batch}, torch::kLong);
  const int64_t* p = drawn.data_ptr<int64_t>();
  return batch_at(std::vector<int64_t>(p, p + batch));
}

int64_t Text::validation_pieces() const { return (size() - training_size_ - 1) / context_; }

Batch Text::validation_batch(int64_t begin, int64_t end, int64_t limit) const {
  const int64_t pieces = validation_pieces(), used = std::min(limit, pieces);
  std::vector<int64_t> places;
  for (int64_t i = begin; i < end; ++i) places.push_back(training_size_ + i * pieces / used * context_);
  return batch_at(places);
}

}  // namespace gpt
