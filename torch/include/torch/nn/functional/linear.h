#pragma once

#include "nn/functional/linear.h"
