#pragma once

#include "optim/rprop.h"
