#include "tests/conformance/needs_elements.h"

#include <algorithm>
#include <iterator>

namespace conformance {
namespace {

constexpr const char* kNumber = "a number of the program is read";
constexpr const char* kDistinct = "as many results as there are distinct elements";
constexpr const char* kNonzero = "a row for each element that is not zero";
constexpr const char* kMasked = "as many results as the mask has true elements";
constexpr const char* kRepeats = "as many results as the repeats add up to, where no argument says it";

// In alphabetical order.
constexpr NeedsElements kAll[] = {
    {"_choose_qparams_per_tensor", true, kNumber},
    {"_ctc_loss@Tensor", true, "the table is as long as the longest target"},
    {"_local_scalar_dense", true, kNumber},
    {"_nested_tensor_from_mask_left_aligned", true, kNumber},
    {"_padded_dense_to_jagged_forward", false, "as many rows as the last offset says, where no argument says it"},
    {"_reshape_from_tensor", true, "the sizes are the elements"},
    {"_rowwise_prune", true, kMasked},
    {"_unique", true, kDistinct},
    {"_unique2", true, kDistinct},
    {"allclose", true, kNumber},
    {"argwhere", true, kNonzero},
    {"bincount", true, "as many results as the greatest element says"},
    {"ctc_loss@Tensor", true, "the table is as long as the longest target"},
    {"equal", false, kNumber},
    {"index@Tensor", false, kMasked},
    {"index@Tensor_out", false, kMasked},
    {"is_nonzero", true, kNumber},
    {"item", true, kNumber},
    {"masked_select", true, kMasked},
    {"masked_select@out", true, kMasked},
    {"narrow@Tensor", true, "a view begins where the element says"},
    {"nonzero", true, kNonzero},
    {"nonzero@out", true, kNonzero},
    {"nonzero_numpy", true, kNonzero},
    {"one_hot", false, "as many classes as the greatest element says, where no argument says it"},
    {"repeat_interleave@Tensor", false, kRepeats},
    {"repeat_interleave@self_Tensor", false, kRepeats},
    {"unique_consecutive", true, kDistinct},
    {"unique_dim", true, kDistinct},
    {"unique_dim_consecutive", true, kDistinct},
    {"where", true, kNonzero},
};

}  // namespace

const NeedsElements* needs_elements(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kAll), std::end(kAll), [&](const NeedsElements& e) { return e.name == name; });
  return found == std::end(kAll) ? nullptr : found;
}

}  // namespace conformance
