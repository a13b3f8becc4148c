// RUN: not mp-opt %s --mp-annotate-observed-ranges=precision=fp8 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TYPE
// RUN: not mp-opt %s --mp-annotate-observed-ranges=head-room=-1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ROOM
// RUN: not mp-opt %s --mp-annotate-observed-ranges=head-room=0.5 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ROOM

// TYPE: unknown precision 'fp8', expected 'bf16' or 'fp16'
// ROOM: head-room: expected a factor from 1 on, found
module attributes {onnx.opset_import = [["", 17]]} {
}
