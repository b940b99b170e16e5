#pragma once

#include "c10/util/qint.h"
