#pragma once

#include "aten/core/deprecated_type.h"
