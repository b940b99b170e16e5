#pragma once

#include "nn/functional/padding.h"
