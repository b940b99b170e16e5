#pragma once

#include "c10/util/hash.h"
