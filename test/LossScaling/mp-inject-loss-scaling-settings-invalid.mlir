// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=often 2>&1 | FileCheck %s --check-prefix=OFTEN
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=none:init=2 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=1024:init=2 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=-2 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=1e39 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=nan 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:flor=2 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:init=x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:growth-interval=0.5 2>&1 | FileCheck %s --check-prefix=INTERVAL
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:hysteresis=0 2>&1 | FileCheck %s --check-prefix=HYSTERESIS
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:growth-factor=0.5 2>&1 | FileCheck %s --check-prefix=GROWTH
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:backoff-factor=2 2>&1 | FileCheck %s --check-prefix=BACKOFF
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:floor=4,cap=2 2>&1 | FileCheck %s --check-prefix=BOUNDS
// RUN: not mp-opt %s --mp-inject-loss-scaling=loss-scale=dynamic:init=4,cap=2 2>&1 | FileCheck %s --check-prefix=INIT

// What is no scale is an error in every module, trained or not.
// OFTEN: error: loss scale 'often': expected none, dynamic or a number
// NONE: error: loss scale 'none:init=2': expected none, dynamic or a number
// MODE: error: loss scale '1024:init=2': expected none, dynamic or a number
// ZERO: error: loss scale '0': expected a positive number that fp32 holds
// NEGATIVE: error: loss scale '-2': expected a positive number that fp32 holds
// HUGE: error: loss scale '1e39': expected a positive number that fp32 holds
// NAN: error: loss scale 'nan': expected a positive number that fp32 holds
// KEY: error: loss scale 'dynamic:flor=2': there is no setting 'flor'; did you mean 'floor'?
// NUMBER: error: loss scale 'dynamic:init=x': 'x' is not a number
// INTERVAL: error: loss scale 'dynamic:growth-interval=0.5': growth-interval and hysteresis are counts from 1 on
// HYSTERESIS: error: loss scale 'dynamic:hysteresis=0': growth-interval and hysteresis are counts from 1 on
// GROWTH: error: loss scale 'dynamic:growth-factor=0.5': expected a growth-factor of at least 1
// BACKOFF: error: loss scale 'dynamic:backoff-factor=2': expected a backoff-factor above 0 and at most 1
// BOUNDS: error: loss scale 'dynamic:floor=4,cap=2': expected a floor and a cap above it, both positive numbers that fp32 holds
// INIT: error: loss scale 'dynamic:init=4,cap=2': expected init between floor and cap
module {
}
