// The batching rules that the tables name.
#pragma once

#include <string_view>
#include <utility>

#include "c10/util/array_ref.h"
#include "func/batching.h"

namespace torch::func::detail {

struct NamedRule {
  std::string_view name;
  BatchingRule rule = nullptr;
  // Whether the rule also serves in-place forms: it hands what is written to on to the operator, as a view.
  bool in_place = false;
  Batching::Kind kind = Batching::Kind::kRule;
};
/// Null where there is none.
const NamedRule* named_rule(std::string_view name);
/// Splits "along(dim)" into the name and what stands in parentheses.
std::pair<std::string_view, std::string_view> words_of(std::string_view text);

// One list a file.
c10::ArrayRef<NamedRule> pointwise_rules();
c10::ArrayRef<NamedRule> dimension_rules();
c10::ArrayRef<NamedRule> sample_rules();
c10::ArrayRef<NamedRule> product_rules();
c10::ArrayRef<NamedRule> index_rules();
c10::ArrayRef<NamedRule> layer_rules();
c10::ArrayRef<NamedRule> value_rules();

/// Sample by sample; warns once an operator.
void loop_rule(BatchedCall& call);

/// Makes vmap known to Functions of one's own.
void install_function_batching();

}  // namespace torch::func::detail
