#pragma once

#include "data/datasets/map.h"
