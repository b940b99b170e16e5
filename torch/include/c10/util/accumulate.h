#pragma once

#include "c10/util/accumulate.h"
