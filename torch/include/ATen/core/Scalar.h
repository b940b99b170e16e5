#pragma once

#include "c10/core/scalar.h"
