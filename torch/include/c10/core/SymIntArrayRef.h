#pragma once

#include "c10/core/sym_int.h"
