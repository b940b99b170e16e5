// Trees of nested values as .pt2 files write them: JSON in a text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "export/pt2/document.h"
#include "export/tree_spec.h"

namespace torch::pt2 {

/// `named`: the fields of named tuples by name; may be null. What is wrong fails through the document.
TreeSpec tree_of(const Document& doc, const std::string& text, const json* named);

/// The text of a tree. The fields of its named tuples come to `named`. Throws ValueError for a key that is neither a
/// text nor a whole number.
std::string text_of(const TreeSpec& spec, json& named);

}  // namespace torch::pt2
