#pragma once

#include "c10/util/optional.h"
