#pragma once

#include "c10/value/list.h"
