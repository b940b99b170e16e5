#pragma once

#include "aten/aten.h"
#include "aten/core/dispatch.h"
