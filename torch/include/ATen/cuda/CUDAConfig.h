#pragma once

#include "aten/cuda/program/config.h"
