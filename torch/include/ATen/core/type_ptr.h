#pragma once

#include "c10/value/type.h"
