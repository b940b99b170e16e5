#pragma once

#include "data/datasets/stateful.h"
