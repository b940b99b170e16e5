// Runs Python expressions over torch as the C++ calls that they stand for. Operators are called through the dispatcher,
// by the overload that takes the arguments; layers, functions and optimizers through their C++ classes.
//
// Values are Json: numbers, texts, null, lists, {"dtype": ...} and the like as in recordings. What Json cannot hold
// stands in a table: {"tensor": "3"}, {"object": 4}.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/tensor_indexing.h"
#include "c10/value/ivalue.h"
#include "tests/recorded/fields.h"
#include "tests/recorded/python_syntax.h"

namespace recorded {

// What C++ refuses before the program runs: an argument of a type that no overload takes, a choice that an option has
// no constant for, a member that is not there.
struct CompilerRefuses : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The expression cannot be run here.
struct NotExpressible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PythonArguments {
  std::vector<Json> positional;
  std::map<std::string, Json> named;

  bool given(const std::string& name) const { return named.count(name) > 0 && !named.at(name).is_null(); }
  // The arguments by their names in the signature "input, weight, bias=None": CompilerRefuses where they do not fit.
  Json by_name(const std::string& function, const std::string& signature) const;
};

class PythonInterpreter {
 public:
  Json evaluate(const PythonNode& node);

  at::Tensor tensor(const Json& value) const;
  Json value(const at::Tensor& tensor);
  // The results of a call.
  Json value(const c10::IValue& value);
  template <typename T>
  Json object(T any) {
    objects_.emplace_back(std::move(any));
    return Json{{"object", objects_.size() - 1}};
  }
  // Null where the value is no such object.
  template <typename T>
  T* object_of(const Json& value) {
    if (!value.is_object() || !value.contains("object")) return nullptr;
    return std::any_cast<T>(&objects_.at(value.at("object").get<size_t>()));
  }
  static std::string type_name(const Json& value);

 private:
  Json attribute(const Json& object, const std::string& name);
  Json call(const PythonNode& node);
  Json call_method(const Json& object, const std::string& name, const PythonArguments& arguments);
  Json index(const Json& object, const Json& index);
  std::vector<at::indexing::TensorIndex> tensor_indices(const Json& where);
  Json unary(const std::string& name, const Json& value);
  Json binary(const std::string& name, const Json& left, const Json& right);
  Json numbers(const std::string& name, const Json& left, const Json& right);
  bool truth(const Json& value);

  std::vector<at::Tensor> tensors_;
  std::vector<std::any> objects_;
  std::map<std::string, Json> names_;
};

// A call of the operator aten::`name`, by the overload that takes the arguments. Throws NotExpressible where there is
// no operator of that name.
Json call_operator(PythonInterpreter& python, const std::string& name, const PythonArguments& arguments);
// A call of one overload, "aten::add.Tensor".
Json call_overload(PythonInterpreter& python, const std::string& full_name, const PythonArguments& arguments);
// Functions of the namespace torch: those that are no operators of their own, then operators. `path` is what follows
// "torch.".
Json call_torch(PythonInterpreter& python, const std::string& path, const PythonArguments& arguments);
// Methods of tensors that are no operators of their own; false where `name` is none.
bool call_tensor_method(PythonInterpreter& python, const at::Tensor& self, const std::string& name,
                        const PythonArguments& arguments, Json& result);
// torch.nn.functional, torch.nn and its utilities, torch.optim: by the name behind "F.", "nn." and "optim.".
Json call_functional(PythonInterpreter& python, const std::string& name, const PythonArguments& arguments);
Json call_nn(PythonInterpreter& python, const std::string& name, const PythonArguments& arguments);
Json call_optim(PythonInterpreter& python, const std::string& name, const PythonArguments& arguments);
// torch.func.functional_call of a layer.
Json call_functional_call(PythonInterpreter& python, const PythonArguments& arguments);
// A call of what call_nn or call_optim made; false where `object` is none of it.
bool call_object(PythonInterpreter& python, const Json& object, const std::string& method,
                 const PythonArguments& arguments, Json& result);

}  // namespace recorded
