#pragma once

#include "nn/functional/pooling.h"
