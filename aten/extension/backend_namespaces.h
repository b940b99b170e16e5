// at::f under the names of namespaces that say where a kernel comes from; here a call goes to its tensors' backend.
#pragma once

#include "aten/aten.h"

namespace at::cpu {
using namespace ::at;
}
namespace at::compositeexplicitautograd {
using namespace ::at;
}
namespace at::compositeimplicitautograd {
using namespace ::at;
}
