// The recorded cases of one family, e.g. "nn_modules": FAMILY.jsonl with one case a line, and FAMILY.safetensors with
// the tensors that they name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "tests/conformance/case_set.h"
#include "tests/recorded/fields.h"
#include "utils/serialize/safetensors.h"

namespace recorded {

class Recordings {
 public:
  // Throws conformance::BadSet where the family's files are missing or damaged.
  Recordings(const conformance::CaseSet& set, const std::string& family);

  // In the order of the file, each with an "id".
  const std::vector<Json>& cases() const { return cases_; }

  // A tensor of its own, as recorded. One marked "planted" has another first element: what a replay must notice.
  at::Tensor tensor(const Json& value) const;

 private:
  std::vector<Json> cases_;
  std::optional<torch::safetensors::File> blobs_;  // of a family with tensors
};

// The leaves of nested lists in order. A list of numbers is one leaf.
std::vector<Json> flatten(const Json& nested);

// What the k-th differentiable result is multiplied with before gradients are taken: element i has
// ((7i + 3k + 3) mod 11 - 5) / 8, in complex numbers i + 4 in place of i for the imaginary part.
at::Tensor cotangent(const at::Tensor& like, int64_t k);

}  // namespace recorded
