#pragma once

#include "nn/options/linear.h"
