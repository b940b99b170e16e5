#pragma once

#include "aten/aten.h"
#include "aten/core/context.h"
#include "aten/core/dispatch.h"
#include "aten/core/legacy_type_dispatch.h"
#include "aten/extension/expand_utils.h"
#include "aten/extension/scalar_ops.h"
#include "aten/extension/tensor_geometry.h"
#include "aten/extension/tensor_refs.h"
#include "c10/core/sym_int.h"
#include "c10/util/accumulate.h"
#include "c10/util/float8.h"
#include "c10/util/maybe_owned.h"

#include <c10/core/WrapDimMinimal.h>
