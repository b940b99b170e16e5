#pragma once

#include "aten/core/custom_class.h"
#include "aten/core/library.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/stack.h"
