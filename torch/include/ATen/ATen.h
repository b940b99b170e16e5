#pragma once

#include "aten/aten.h"
#include "aten/core/dispatch.h"
#include "c10/util/float8.h"
