#pragma once

#include "nn/utils/utils.h"
