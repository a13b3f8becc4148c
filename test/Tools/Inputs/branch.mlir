func.func @choose(%condition: i1, %x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %again = arith.constant 1 : i32
  %result = scf.if %condition -> i32 {
    %sum = arith.addi %x, %again : i32
    scf.yield %sum : i32
  } else {
    %sum = arith.addi %x, %one : i32
    scf.yield %sum : i32
  }
  return %result : i32
}
