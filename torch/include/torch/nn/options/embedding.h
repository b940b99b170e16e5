#pragma once

#include "nn/options/embedding.h"
