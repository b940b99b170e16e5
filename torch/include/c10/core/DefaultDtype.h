#pragma once

#include "c10/core/default_dtype.h"
