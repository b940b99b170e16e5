#pragma once

#include "c10/util/arg.h"
