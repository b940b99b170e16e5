#pragma once

// MapDataset stands in base.h, because every dataset can be mapped.
#include "data/datasets/base.h"
