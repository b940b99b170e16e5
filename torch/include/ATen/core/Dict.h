#pragma once

#include "c10/value/dict.h"
