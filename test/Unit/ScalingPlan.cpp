//===- ScalingPlan.cpp - All-reduces beside measured ones -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases that `mp-run plan` does not show, since it takes the better one of a
// ring and a tree: how the time of a ring grows with its nodes, and the cost of
// both if one bandwidth dominates.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/ScalingPlan.h"

#include "llvm/Support/Error.h"

#include <cmath>
#include <cstdio>

using namespace mp;

static unsigned failures = 0;

static void expectNear(const char *what, double found, double expected,
                       double share) {
  if (std::abs(found - expected) <= share * expected)
    return;
  ++failures;
  std::fprintf(stderr, "failed: %s: %g, expected about %g\n", what, found,
               expected);
}

/// 8 bytes between p3dn.24xlarge, eight V100 each and EFA, when NCCL had only
/// rings there: gist.github.com/jacobkahn, a92f4425abf831ac0799fabe9079263d,
/// 1fb3977e99056b7935a6c63dda1e145f and 3150a1a38abba40f58d8263d9c55969f.
static void testRingLatency() {
  Network network = llvm::cantFail(Network::parse("1.525,27:8,123,1.9"));
  expectNear("2 nodes", network.getRingSeconds(8, 16), 163.4e-6, 0.04);
  expectNear("4 nodes", network.getRingSeconds(8, 32), 319.4e-6, 0.04);
  expectNear("8 nodes", network.getRingSeconds(8, 64), 631.3e-6, 0.04);
}

static void testLongMessages() {
  const double bytes = 1e12;
  // One rank per node: all data except a part of each rank's own are sent and
  // received.
  Network flat = llvm::cantFail(Network::parse("10,0"));
  expectNear("flat ring", flat.getRingSeconds(bytes, 4), 150, 1e-9);
  expectNear("flat tree", flat.getTreeSeconds(bytes, 4), 200 / 0.9, 1e-9);
  expectNear("the better one", flat.getSeconds(bytes, 4), 150, 1e-9);
  // The links of a node work in parallel: 40 GB/s, unless its inner links are
  // slower.
  Network nodes = llvm::cantFail(Network::parse("10,0:4,100,0"));
  expectNear("a node", nodes.getRingSeconds(bytes, 4), 15, 1e-9);
  expectNear("ring of nodes", nodes.getRingSeconds(bytes, 16), 46.875, 1e-9);
  expectNear("tree of nodes", nodes.getTreeSeconds(bytes, 16), 50 / 0.9, 1e-9);
  expectNear("two nodes", nodes.getTreeSeconds(bytes, 8), 25 / 0.9, 1e-9);
  Network slow = llvm::cantFail(Network::parse("10,0:4,20,0"));
  expectNear("slow nodes, ring", slow.getRingSeconds(bytes, 16), 93.75, 1e-9);
  expectNear("slow nodes, tree", slow.getTreeSeconds(bytes, 8), 100 / 0.9,
             1e-9);
}

int main() {
  testRingLatency();
  testLongMessages();
  return failures ? 1 : 0;
}
