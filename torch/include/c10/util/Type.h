#pragma once

#include "c10/util/string_util.h"
