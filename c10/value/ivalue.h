// IValue: a value of any type that operators, programs and files know.
//
//   c10::IValue v(std::vector<int64_t>{1, 2});
//   v.isIntList();                    // true
//   v.toIntList().push_back(3);       // lists, dicts, tuples and objects are shared by their copies
//   v.to<std::vector<int64_t>>();     // {1, 2, 3}
//   v.toTensor();                     // TypeError: Expected Tensor but got GenericList
//
// What makes use of tensors (toTensor, ==, deepcopy, printing) is defined in //aten/core (tensor, ivalue_operators, ivalue_printing).
#pragma once

#include "c10/value/dict.h"
#include "c10/value/ivalue_class.h"
#include "c10/value/ivalue_to.h"
#include "c10/value/list.h"
#include "c10/value/type_of.h"
