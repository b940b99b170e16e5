#pragma once

#include "aten/core/custom_class.h"
#include "c10/value/custom_class_registry.h"
