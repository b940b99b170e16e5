// torch::distributions: probability distributions, transforms, constraints, divergences (docs/distributions.md).
#pragma once

#include "distributions/composed.h"
#include "distributions/constraint.h"
#include "distributions/constraint_registry.h"
#include "distributions/continuous.h"
#include "distributions/discrete.h"
#include "distributions/distribution.h"
#include "distributions/gamma.h"
#include "distributions/kl.h"
#include "distributions/location_scale.h"
#include "distributions/multivariate.h"
#include "distributions/transform.h"
#include "distributions/transformed.h"
