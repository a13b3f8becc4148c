//===- Library.cpp - libmp-opt-onnxruntime.so -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library consists of the whole archive of the provider; linkers require a
// source.
//
//===----------------------------------------------------------------------===//
