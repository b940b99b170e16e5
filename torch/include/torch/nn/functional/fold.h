#pragma once

#include "nn/functional/fold.h"
