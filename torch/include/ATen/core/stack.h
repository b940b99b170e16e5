#pragma once

#include "c10/value/stack.h"
