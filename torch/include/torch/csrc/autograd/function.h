#pragma once

#include "autograd/engine/node.h"
