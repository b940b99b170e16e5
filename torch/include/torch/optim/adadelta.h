#pragma once

#include "optim/adadelta.h"
