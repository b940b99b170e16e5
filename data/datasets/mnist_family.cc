#include "data/datasets/mnist_family.h"

#include <algorithm>
#include <array>

#include "c10/util/exception.h"

namespace torch::data::datasets {

namespace {

std::string prefix_of(MNIST::Mode mode) { return mode == MNIST::Mode::kTrain ? "train" : "t10k"; }

std::string emnist_prefix(const std::string& split, MNIST::Mode mode) {
  constexpr std::array<const char*, 6> kSplits = {"byclass", "bymerge", "balanced", "letters", "digits", "mnist"};
  TORCH_CHECK_VALUE(std::find(kSplits.begin(), kSplits.end(), split) != kSplits.end(),
                    "EMNIST: expected the split byclass, bymerge, balanced, letters, digits or mnist, but got ", split);
  return "emnist-" + split + (mode == MNIST::Mode::kTrain ? "-train" : "-test");
}

}  // namespace

FashionMNIST::FashionMNIST(const std::string& root, Mode mode)
    : MNIST(root, mode, prefix_of(mode), "FashionMNIST (https://github.com/zalandoresearch/fashion-mnist)") {}

const std::vector<std::string>& FashionMNIST::classes() {
  static const std::vector<std::string> names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return names;
}

KMNIST::KMNIST(const std::string& root, Mode mode)
    : MNIST(root, mode, prefix_of(mode), "KMNIST (http://codh.rois.ac.jp/kmnist/)") {}

EMNIST::EMNIST(const std::string& root, const std::string& split, Mode mode)
    : MNIST(root, mode, emnist_prefix(split, mode),
            "EMNIST (https://www.nist.gov/itl/products-and-services/emnist-dataset, gzip.zip)") {}

}  // namespace torch::data::datasets
