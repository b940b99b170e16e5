#pragma once

#include "nn/functional/dropout.h"
