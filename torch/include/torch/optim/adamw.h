#pragma once

#include "optim/adamw.h"
