#pragma once

#include "nn/options/dropout.h"
