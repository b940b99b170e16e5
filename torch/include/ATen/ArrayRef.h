#pragma once

#include "c10/util/array_ref.h"
