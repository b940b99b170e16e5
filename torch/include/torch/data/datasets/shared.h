#pragma once

#include "data/datasets/shared.h"
