#pragma once

// torch::headeronly: the names of c10 that need no library, as <torch/headeronly/...> has them. Whoever includes this includes
// the headers of the names it uses.

namespace at {
enum class Tag;
}  // namespace at
namespace c10 {}

namespace torch::headeronly {

using namespace c10;  // NOLINT: it is this that the namespace is for
using at::Tag;

}  // namespace torch::headeronly
