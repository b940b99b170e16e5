#pragma once

#include "aten/cuda/program/mem_pool.h"
