#include "Commands.h"
namespace mp {

int runBench(Arguments arguments, mlir::DialectRegistry &registry) { return 1; }
int runCompare(Arguments arguments, mlir::DialectRegistry &registry) {
  return 1;
}

} // namespace mp
