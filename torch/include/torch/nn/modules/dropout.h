#pragma once

#include "nn/layers/dropout.h"
