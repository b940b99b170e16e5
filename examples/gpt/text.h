// The text to learn, as bytes, and the pieces of it that a training step sees.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpt {

// tokens and the tokens that follow them: int64 (batch, context) each.
using Batch = std::pair<torch::Tensor, torch::Tensor>;

class Text {
 public:
  // The last tenth is for validation, or as much more as one context needs. Throws c10::Error where the text is shorter
  // than two contexts.
  Text(std::string bytes, int64_t context);

  // Random pieces of the training part, their places drawn with the default generator.
  Batch training_batch(int64_t batch) const;
  // How many pieces lie end to end in the validation part.
  int64_t validation_pieces() const;
  // The pieces [begin, end) when at most `limit` are spread evenly over the validation part.
  Batch validation_batch(int64_t begin, int64_t end, int64_t limit) const;

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& bytes() const { return bytes_; }

 private:
  Batch batch_at(const std::vector<int64_t>& places) const;

  std::string bytes_;
  int64_t context_, training_size_;
};

}  // namespace gpt
