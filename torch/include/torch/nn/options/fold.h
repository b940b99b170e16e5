#pragma once

#include "nn/options/fold.h"
