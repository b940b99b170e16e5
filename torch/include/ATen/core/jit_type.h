#pragma once

#include "c10/value/class_type.h"
#include "c10/value/type.h"
#include "c10/value/type_of.h"
