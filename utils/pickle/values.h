// From a pickle's tree to values: a closed table of what may be called, and nothing else.
//
// Tensors, numbers, texts, lists, tuples, dicts (OrderedDict and Counter, too), devices. dtypes, layouts, memory
// formats and quantization schemes are integers, torch.Size is a list of integers, bytes and bytearrays are strings,
// sets are lists. A list whose elements are all integers (floats, bools, texts, tensors) is declared so. Two tensors
// over one storage share memory; what the pickle mentions twice is one object. A list or dict that holds itself comes
// as it is: it lives until its owner empties it.
#pragma once

#include <optional>

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

// Throws FormatError for what the table does not have ("Unsupported global: ..."), NotImplementedError for what this
// library has no value for (nested tensors, quantized ones of 4 and 2 bits, integers beyond 64 bits).
// `script` also takes objects of TorchScript classes: they become dicts of their attributes.
c10::IValue to_value(const Tree& tree, StorageSource& source, const LoadOptions& options, bool script = false);

}  // namespace torch::pickle
