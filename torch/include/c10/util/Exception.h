#pragma once

#include "c10/util/exception.h"
