#pragma once

#include "nn/layers/embedding.h"
