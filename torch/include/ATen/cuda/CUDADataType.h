#pragma once

#include "aten/cuda/program/data_type.h"
