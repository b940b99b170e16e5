#pragma once

#include "c10/core/scalar_type.h"
