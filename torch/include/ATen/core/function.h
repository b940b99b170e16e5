#pragma once

#include "c10/value/function.h"
