#pragma once

#include "c10/util/optional_array_ref.h"
