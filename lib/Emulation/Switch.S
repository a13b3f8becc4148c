//===- Switch.S - From one stack to another -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// void mp_emulation_switch(void **from, void *to): puts the registers that a
// function keeps for its caller on the stack, its end into *from, and goes on
// with what was put on the stack that ends in `to`.
//
// At the first time, that is what `prepare` in Fibers.cpp has put there.
//
//===----------------------------------------------------------------------===//

  .text
  .globl mp_emulation_switch
  .hidden mp_emulation_switch
  .type mp_emulation_switch, %function
  .balign 16
mp_emulation_switch:
#if defined(__x86_64__)
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  // Fibers wait in few places: processors foresee where most of them return to.
  ret
#elif defined(__aarch64__)
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
#else
#error "expected x86-64 or aarch64"
#endif
  .size mp_emulation_switch, . - mp_emulation_switch

  .section .note.GNU-stack, "", %progbits
