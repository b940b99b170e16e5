#pragma once

#include "aten/core/custom_class.h"
