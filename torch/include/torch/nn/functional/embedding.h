#pragma once

#include "nn/functional/embedding.h"
