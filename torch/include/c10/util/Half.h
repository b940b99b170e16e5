#pragma once

#include "c10/util/half.h"
