// Pickles with their storages beside them: of TorchScript archives (values with objects of classes, and lists and dicts
// that say their types), and of others.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/core/scalar_type.h"
#include "c10/core/storage.h"
#include "c10/value/ivalue.h"
#include "utils/pickle/zip.h"

namespace torch::pickle {

struct PickledStorage {
  c10::Storage storage;
  c10::ScalarType dtype;
  bool untyped;
};
struct PickledValue {
  std::string bytes;
  std::vector<PickledStorage> storages;  // that it names "0", "1", ...
};

// `class_name` gives a class's or enumeration's name in the file ("__torch__.a.Block"), `state_of` what an object is
// made of: a dict of its attributes, or what its __setstate__ takes. TypeError for values without a place in such
// files.
PickledValue pickle_script(const c10::IValue& value, const std::function<std::string(const c10::IValue&)>& class_name,
                           const std::function<c10::IValue(const c10::IValue& object)>& state_of);

// The same of a value as torch::pickle::save writes it. `before` are storages that pickles of the same file name
// already: the result's begin with them.
PickledValue pickle_value(const c10::IValue& value, std::vector<PickledStorage> before = {});

// The storages as records NAME/0, NAME/1 ..., each with `ending`; those of the CPU are the caller's until the file is
// finished.
void add_storages(ZipWriter& zip, const std::string& name, const PickledValue& pickle, std::string_view ending = "");
// The same with the record NAME.pkl.
void add_pickle(ZipWriter& zip, const std::string& name, const PickledValue& pickle);

}  // namespace torch::pickle
