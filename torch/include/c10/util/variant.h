#pragma once

#include "c10/util/variant.h"
