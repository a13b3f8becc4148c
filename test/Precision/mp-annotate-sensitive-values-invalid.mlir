// RUN: mp-opt %s --mp-annotate-sensitive-values=precision=fp8 --verify-diagnostics

// expected-error@below {{unknown precision 'fp8', expected 'bf16' or 'fp16'}}
module {
}
