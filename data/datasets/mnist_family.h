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

/// MNIST made again from the same sources, with 60,000 images to test on instead of 10,000, and what is known of each.
/// Files qmnist-{train,test}-images-idx3-ubyte and qmnist-{train,test}-labels-idx2-int, for "nist"
/// xnist-images-idx3-ubyte and xnist-labels-idx2-int.
class QMNIST : public MNIST {
 public:
  /// `what`: "train", "test", "test10k" (the first 10,000 of them, MNIST's), "test50k" (the others) or "nist" (all of
  /// NIST's digits); ValueError for another one. Targets are the classes, int64; without `compat` rows of 8 numbers:
  /// class, NIST's HSF series, writer, number in the writer's set, NIST's class, number in NIST's set, two unused.
  QMNIST(const std::string& root, const std::string& what, bool compat = true);
  explicit QMNIST(const std::string& root, Mode mode = Mode::kTrain, bool compat = true)
      : QMNIST(root, mode == Mode::kTrain ? "train" : "test", compat) {}

 private:
  static Files files_of(const std::string& what);
};

}  // namespace torch::data::datasets
