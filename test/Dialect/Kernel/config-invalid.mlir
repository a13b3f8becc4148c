// RUN: kernel-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected mr of one or more and nr of some vectors of lanes, got mr = 8, nr = 20, lanes = 16}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 20, lanes = 16, mc = 480, nc = 512, kc = 256>

// -----

// expected-error @below {{expected no f of strategy blocked, got f = 2}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, f = 2, mc = 480, nc = 512, kc = 256>

// -----

// expected-error @below {{expected no f of strategy depthwise, got f = 2}}
#config = #kernel.config<strategy = depthwise, products = widen, mr = 4, nr = 32, lanes = 16, f = 2>

// -----

// expected-error @below {{expected f = 2 or 4 of strategy winograd, got f = 3}}
#config = #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48, lanes = 16, f = 3>

// -----

// expected-error @below {{expected mc, nc and kc of strategy blocked, got 480, 512 and 0}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512>

// -----

// expected-error @below {{expected no mc, nc and kc of strategy winograd_weights, got 480, 0 and 0}}
#config = #kernel.config<strategy = winograd_weights, products = widen, mr = 8, nr = 48, lanes = 16, f = 2, mc = 480>

// -----

// expected-error @below {{expected deep_mc, deep_nc and deep_kc of products amx, got 0, 0 and 0}}
#config = #kernel.config<strategy = blocked, products = amx, mr = 32, nr = 32, lanes = 16, mc = 480, nc = 512, kc = 256>

// -----

// expected-error @below {{expected no deep_mc, deep_nc and deep_kc of products dot, got 1, 1 and 1}}
#config = #kernel.config<strategy = blocked, products = dot, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512, kc = 256, deep_mc = 1, deep_nc = 1, deep_kc = 1>

// -----

// expected-error @below {{strategy winograd multiplies f32, got products = dot}}
#config = #kernel.config<strategy = winograd, products = dot, mr = 8, nr = 48, lanes = 16, f = 2>

// -----

// expected-error @below {{in_place needs strategy = blocked and products = widen}}
#config = #kernel.config<strategy = blocked, products = dot, mr = 8, nr = 48, lanes = 16, lhs = in_place, mc = 480, nc = 512, kc = 256>

// -----

// expected-error @below {{expected a cached operand to be packed, got in_place}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, rhs = in_place, mc = 480, nc = 512, kc = 256, cached = rhs>

// -----

// expected-error @below {{store = registers needs strategy = blocked and no products by amx}}
#config = #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48, lanes = 16, f = 2, store = registers>

// -----

// expected-error @below {{expected a tail of less than nr, got tail = 48, nr = 48}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, lhs = k_major, mc = 480, nc = 512, kc = 256, tail = 48>

// -----

// expected-error @below {{a tail needs strategy = blocked, products = widen, lhs = k_major and a right-hand side that is packed by each call}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512, kc = 256, tail = 1>

// -----

// expected-error @below {{rhs_ahead needs strategy = blocked, no products by amx, and a right-hand side that is packed by each call}}
#config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, rhs = in_place, mc = 480, nc = 512, kc = 256, rhs_ahead = true>
