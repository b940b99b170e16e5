#pragma once

#include "nn/functional/conv.h"
