// Collects what differs from a recording while one case is replayed.
#pragma once

#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "tests/recorded/recordings.h"

namespace recorded {

class Check {
 public:
  explicit Check(const Recordings& recordings) : recordings_(recordings) {}

  // Everything noted in the life of a scope is said to be in `what`.
  class Scope {
   public:
    Scope(Check& check, std::string what) : check_(check) { check_.scopes_.push_back(std::move(what)); }
    ~Scope() { check_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Check& check_;
  };

  void fail(const std::string& what);
  // The case cannot be replayed; the reason is printed and counted.
  void skip(const std::string& reason) { skip_reason_ = reason; }

  void expect(bool holds, const std::string& what) {
    if (!holds) fail(what);
  }
  // Strings, integers, booleans, lists of them, null.
  void equal(const std::string& what, const Json& got, const Json& recorded);
  // |got - recorded| <= tolerance * max(1, |recorded|), not-a-number and infinities are equal.
  void number(const std::string& what, double got, const Json& recorded, double tolerance = 1e-6);
  // Within `factor` of the tolerances of conformance::difference. Null stands for an undefined tensor; a sparse one is
  // compared by its dense values.
  void tensor(const std::string& what, const at::Tensor& got, const Json& recorded, double factor = 1);
  // What `randint(0, 2^30)` draws next from the default generator: the recorded case's "then".
  void then(const Json& recorded);
  // Gradients of the results, multiplied with their cotangents, for `leaves`; `names` and `recorded` go with them.
  void gradients(const std::vector<at::Tensor>& results, const std::vector<at::Tensor>& leaves,
                 const std::vector<std::string>& names, const std::vector<Json>& recorded, double factor = 10);

  const std::vector<std::string>& failures() const { return failures_; }
  const std::string& skip_reason() const { return skip_reason_; }
  const Recordings& recordings() const { return recordings_; }

 private:
  const Recordings& recordings_;
  std::vector<std::string> scopes_, failures_;
  std::string skip_reason_;
};

}  // namespace recorded
