#pragma once

#include "c10/util/irange.h"
