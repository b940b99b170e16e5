#pragma once

#include "aten/core/interop.h"
