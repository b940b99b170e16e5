#pragma once

#include "c10/util/exception.h"
#include "c10/util/warning.h"
