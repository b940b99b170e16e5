#pragma once

#include "c10/util/float8.h"
