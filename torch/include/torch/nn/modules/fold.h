#pragma once

#include "nn/layers/fold.h"
