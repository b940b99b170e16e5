#pragma once

#include <string>
#include <vector>

#include "data/datasets/mnist.h"

namespace torch::data::datasets {

/// Articles of clothing in MNIST's form and under its file names: keep each set in a folder of its own.
class FashionMNIST : public MNIST {
 public:
  explicit FashionMNIST(const std::string& root, Mode mode = Mode::kTrain);
  static const std::vector<std::string>& classes();
};

/// Japanese letters (Kuzushiji) in MNIST's form and under its file names.
class KMNIST : public MNIST {
 public:
  explicit KMNIST(const std::string& root, Mode mode = Mode::kTrain);
};

/// Handwritten letters and digits. Images are as the files hold them, mirrored on their diagonal; targets, too:
/// "letters" counts from 1.
class EMNIST : public MNIST {
 public:
  /// `split`: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist"; ValueError for another one.
  EMNIST(const std::string& root, const std::string& split, Mode mode = Mode::kTrain);
};

}  // namespace torch::data::datasets
