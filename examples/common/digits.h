// Digits to learn from: MNIST where it is at hand, else digits that the program draws.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>

namespace examples {

// Images [N, 1, 28, 28] with values in [0, 1] and the digits [N] they show.
class Digits : public torch::data::datasets::Dataset<Digits> {
 public:
  Digits() = default;
  Digits(torch::Tensor images_, torch::Tensor targets_) : images(std::move(images_)), targets(std::move(targets_)) {}

  torch::data::Example<> get(size_t i) override {
    return {images[static_cast<int64_t>(i)], targets[static_cast<int64_t>(i)]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(images.size(0)); }

  torch::Tensor images, targets;
};

struct DigitSets {
  Digits train, test;
};

// `count` digits, strokes of random place, slant, size and thickness, the same for the same seed.
Digits draw_digits(int64_t count, uint64_t seed);

// MNIST from the folder --data. Without training files all but the last tenth of the test files is to train on and the
// rest to test on; without either 9,000 and 1,000 are drawn. Of the training images at most --images are taken (0:
// all). Prints which they are.
DigitSets load_digits();

}  // namespace examples
