#pragma once

#include "aten/cuda/program/exceptions.h"
