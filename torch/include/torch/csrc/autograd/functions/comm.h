#pragma once

#include "nn/parallel/comm.h"
