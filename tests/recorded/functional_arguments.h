// The arguments of a recorded call of a function, by place and by name.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "nn/options/expanding_array.h"
#include "tests/recorded/recordings.h"

namespace recorded {

class Arguments {
 public:
  Arguments(const Json& one, const Recordings& recordings);
  // Of a call whose tensors `tensor` knows.
  Arguments(const Json& args, const Json& kwargs, const std::function<at::Tensor(const Json&)>& tensor);

  size_t count() const { return args_.size(); }
  const Json& value(size_t place) const {
    places_read_.insert(place);
    return args_.at(place);
  }
  const Json& value(const std::string& name) const { return read(kwargs_, name.c_str()); }
  // There and not null.
  bool given(const std::string& name) const { return has(kwargs_, name.c_str()); }

  // Undefined for null and what is missing.
  at::Tensor tensor(size_t place) const {
    places_read_.insert(place);
    return place < places_.size() ? places_[place] : at::Tensor();
  }
  at::Tensor tensor(const std::string& name) const;
  bool is_tensor(size_t place) const { return conformance::is_tensor(args_.at(place)); }

  int64_t integer(size_t place) const { return conformance::integer(value(place)); }
  int64_t integer(const std::string& name, int64_t otherwise) const {
    return integer_of(kwargs_, name.c_str(), otherwise);
  }
  double number(size_t place) const { return conformance::number(value(place)); }
  double number(const std::string& name, double otherwise) const { return number_of(kwargs_, name.c_str(), otherwise); }
  bool flag(const std::string& name, bool otherwise) const { return flag_of(kwargs_, name.c_str(), otherwise); }
  std::string text(const std::string& name, const char* otherwise) const {
    return text_of(kwargs_, name.c_str(), otherwise);
  }
  at::ScalarType dtype(const std::string& name) const;

  // One number stands for all.
  template <size_t D>
  torch::ExpandingArray<D> array(size_t place) const {
    return expanded<D>(value(place));
  }
  template <size_t D>
  torch::ExpandingArray<D> array(const std::string& name, torch::ExpandingArray<D> otherwise) const {
    return given(name) ? expanded<D>(value(name)) : otherwise;
  }

  // Throws std::runtime_error with the place or name of an argument that the function did not look at.
  void check_all_read() const;

  // The tensors that gradients are taken for, in the order of the recorded gradients.
  const std::vector<at::Tensor>& leaves() const { return leaves_; }
  const std::vector<std::string>& leaf_names() const { return leaf_names_; }

 private:
  template <size_t D>
  static torch::ExpandingArray<D> expanded(const Json& v) {
    std::vector<int64_t> all = integers(v);
    if (all.size() == 1) all.assign(D, all[0]);
    return torch::ExpandingArray<D>(all);
  }
  at::Tensor take(const Json& v, const std::string& name, const std::function<at::Tensor(const Json&)>& tensor);

  const Json& args_;
  const Json& kwargs_;
  std::vector<at::Tensor> places_;
  mutable std::set<size_t> places_read_;
  std::map<std::string, at::Tensor> names_;
  std::vector<at::Tensor> leaves_;
  std::vector<std::string> leaf_names_;
};

// A function of torch.nn.functional; null for a name that is not known here.
using Function = std::vector<at::Tensor> (*)(const Arguments&);
Function functional(const std::string& name);

}  // namespace recorded
