#pragma once

#include "c10/core/event.h"
