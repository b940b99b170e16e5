#pragma once

#include "nn/utils/convert_parameters.h"
