#pragma once

#include "nn/layers/padding.h"
