#pragma once

#include "c10/value/ivalue.h"
