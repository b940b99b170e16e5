#pragma once

#include "c10/value/ivalue_to.h"
