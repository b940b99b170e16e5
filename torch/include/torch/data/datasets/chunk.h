#pragma once

#include "data/datasets/chunk.h"
