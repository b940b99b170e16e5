#pragma once

#include "data/datasets/base.h"
