// From a pickle's tree to values: a closed table of what may be called, and nothing else.
//
// Tensors, numbers, texts, lists, tuples, dicts (OrderedDict and Counter, too), devices. dtypes, layouts, memory
// formats and quantization schemes are integers, torch.Size is a list of integers, bytes and bytearrays are strings,
// sets are lists. A list whose elements are all integers (floats, bools, texts, tensors) is declared so. Two tensors
// over one storage share memory; what the pickle mentions twice is one object. A list or dict that holds itself comes
// as it is: it lives until its owner empties it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "c10/core/device.h"
#include "c10/value/ivalue.h"
#include "utils/pickle/storages.h"
#include "utils/pickle/tree.h"

namespace torch::pickle {

struct LoadOptions {
  // Where all tensors go; without it, where they were saved from.
  std::optional<c10::Device> map_location;
  // Checks every record's checksum, also of records that nothing refers to.
  bool verify = false;
};

// What objects of TorchScript classes become. What these throw is a FormatError with the object's place.
class ScriptObjects {
 public:
  virtual ~ScriptObjects() = default;
  // An object of the class ("__torch__.a.Block") whose state comes later; nothing where the state stands for it.
  virtual std::optional<c10::IValue> make(const std::string& class_name) = 0;
  virtual void set_state(const c10::IValue& object, const c10::IValue& state) = 0;
  // The member with this value; nothing where enumerations have no place.
  virtual std::optional<c10::IValue> member(const std::string& enumeration, const c10::IValue& value) = 0;
  // A list or dict that is said to be of a type ("Dict[str, int]").
  virtual c10::IValue tagged(const c10::IValue& value, const std::string& type) = 0;
};

// The globals ("module.name") that the table does not have, sorted, each once.
std::vector<std::string> unknown_globals(const Tree& tree);

// Throws FormatError for what the table does not have ("Unsupported global: ..."), NotImplementedError for what this
// library has no value for (nested tensors, quantized ones of 4 and 2 bits, integers beyond 64 bits).
// With `objects` the pickle may have objects of TorchScript classes.
c10::IValue to_value(const Tree& tree, StorageSource& source, const LoadOptions& options,
                     ScriptObjects* objects = nullptr);

}  // namespace torch::pickle
