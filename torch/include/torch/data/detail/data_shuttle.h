#pragma once

#include "data/detail/data_shuttle.h"
