#pragma once

#include "aten/core/tensor.h"
#include "c10/value/future.h"
#include "c10/value/ivalue.h"
#include "c10/value/object.h"
