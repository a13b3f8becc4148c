/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   A model in a context of MLIR's that is yours: reads it, runs pipelines of
   passes on it, and prints the module.

     cc passes.c -I/usr/lib/llvm-22/include -lmp-opt -o passes
     ./passes model.onnx mp-mixed-precision precision=fp16                   */

#include <mp-opt-c/Dialects.h>
#include <mp-opt-c/Passes.h>

#include <mlir-c/Diagnostics.h>
#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>

#include <stdio.h>
#include <stdlib.h>

static void check(mp_opt_status status) {
  if (status != MP_OPT_STATUS_OK) {
    fprintf(stderr, "error: %s\n", mp_opt_error_text());
    exit(status);
  }
}

static void print(MlirStringRef text, void *user) {
  fwrite(text.data, 1, text.length, (FILE *)user);
}

/* Prints the diagnostics of import and passes. */
static MlirLogicalResult say(MlirDiagnostic diagnostic, void *user) {
  static const char *const kinds[] = {"error", "warning", "note", "remark"};
  fprintf((FILE *)user, "%s: ",
          kinds[mlirDiagnosticGetSeverity(diagnostic)]);
  mlirDiagnosticPrint(diagnostic, print, user);
  fputc('\n', (FILE *)user);
  return mlirLogicalResultSuccess();
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *content = NULL;
  long length;
  if (file && !fseek(file, 0, SEEK_END) && (length = ftell(file)) >= 0) {
    rewind(file);
    *size = (size_t)length;
    content = malloc(*size + 1);
    if (content && fread(content, 1, *size, file) != *size) {
      free(content);
      content = NULL;
    }
  }
  if (file)
    fclose(file);
  return content;
}

int main(int argc, char **argv) {
  MlirDialectRegistry registry;
  MlirContext context;
  MlirModule module;
  MlirPassManager manager;
  MlirLogicalResult result;
  size_t size = 0;
  char *content;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: %s MODEL PIPELINE [OPTIONS]\n", argv[0]);
    return 2;
  }
  content = read_file(argv[1], &size);
  if (!content) {
    perror(argv[1]);
    return 1;
  }
  registry = mlirDialectRegistryCreate();
  mlirMPOptRegisterAllDialects(registry);
  context = mlirContextCreateWithRegistry(registry, true);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(context, say, stderr, NULL);

  check(mlirMPOptImport(context, content, size, argv[1], &module));
  free(content);
  manager = mlirPassManagerCreate(context);
  check(mlirMPOptAddPipeline(mlirPassManagerGetAsOpPassManager(manager),
                             argv[2], argc > 3 ? argv[3] : NULL));
  /* One more, made by itself. */
  mlirPassManagerAddOwnedPass(manager, mlirCreateMPOptGraphFoldConstants());
  result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  if (mlirLogicalResultIsSuccess(result))
    mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);

  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return mlirLogicalResultIsSuccess(result) ? 0 : 1;
}
