#pragma once

#include "nn/parallel/data_parallel.h"
