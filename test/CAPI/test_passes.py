# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes and pipelines by MLIR's C API, which libmp-opt.so has with its own."""

import os
import re
import subprocess

import pytest
from capi import BUILD_INCLUDE, LIBRARY, MODEL, ROOT, USAGE

EXAMPLE = ROOT / "examples/embed/passes.c"
INCLUDES = [f"-I{ROOT / 'include'}", f"-I{BUILD_INCLUDE}"]
INCLUDES += ["-isystem", os.environ.get("MLIR_INCLUDE", "")]
STAGES = "Autodiff Distribution Graph LossScaling Lowering Precision".split()


def compile(source, output, compiler="cc", standard="-std=c99"):
    folder = os.path.dirname(LIBRARY)
    command = [compiler, standard, "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command += [source, *INCLUDES, f"-L{folder}", "-lmp-opt"]
    command += [f"-Wl,-rpath,{folder}", "-o", output]
    subprocess.run(command, check=True)
    return output


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile(EXAMPLE, tmp_path_factory.mktemp("example") / "passes")


def run(program, *arguments, status=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done


@pytest.mark.parametrize("form", ["onnxtxt", "onnx", "mlir", "mlirbc"])
def test_a_pipeline_on_every_form(program, form, tmp_path):
    model = tmp_path / f"m.{form}"
    subprocess.run([os.environ["MP_OPT"], MODEL, "-o", model], check=True)
    text = run(program, model, "mp-mixed-precision", "precision=fp16").stdout
    assert re.search(r'"onnx.Gemm".*tensor<8x3xf16>', text)
    # mp-opt gives the same result by the same passes.
    expected = tmp_path / "expected.mlir"
    subprocess.run(
        [os.environ["MP_OPT"], model, "--mixed-fp16", "-o", expected],
        check=True, capture_output=True,
    )
    def nodes(text):
        return re.findall(r'"onnx\.\w+"\(.*', text)

    assert nodes(text) == nodes(expected.read_text())


@pytest.mark.parametrize("name, options, message", [
    ("mp-mixed-precison", None, "no pass or pipeline 'mp-mixed-precison'"),
    ("mp-mixed-precision", "precison=fp16", "no such option precison"),
    ("mp-mixed-precision", "opset-limit=new", "'opset-limit=new'"),
    ("mp-classify", "fast=1", "no such option fast"),
    ("", None, "no pass or pipeline ''"),
])  # fmt: skip
def test_pipelines_that_there_are_not(program, name, options, message):
    arguments = [name] if options is None else [name, options]
    done = run(program, MODEL, *arguments, status=USAGE)
    assert message in done.stderr and not done.stdout


def test_values_are_checked_by_passes(program):
    """By the handler of the context, and the result of the run."""
    done = run(program, MODEL, "mp-set-policy", "precision=bf61", status=1)
    assert "error: unknown precision 'bf61'" in done.stderr


def test_operations_that_a_pass_is_not_for(program):
    done = run(program, MODEL, "mp-assign-layouts", status=1)
    assert "unsupported operation" in done.stderr


def test_contents_that_are_no_model(program, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x08\x09\x3a\x05\x0a\xff\xff\xff\x01")
    done = run(program, path, "mp-classify", status=1)
    assert f"error: {path}: " in done.stderr


def test_lowering(program, tmp_path):
    """Dialects of MLIR, and the interfaces that lowering needs of them."""
    source = tmp_path / "loops.mlir"
    source.write_text(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>,\n"
        "    affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]}\n"
        "    ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {\n"
        "  ^bb0(%a: f32, %b: f32):\n"
        "    %s = arith.addf %a, %a : f32\n"
        "    linalg.yield %s : f32\n"
        "  } -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n"
        "}\n"
    )
    text = run(program, source, "mp-lower-to-llvm", "isa=avx2").stdout
    assert "llvm.func" in text and "linalg" not in text


DIALECTS = """
#include <mp-opt-c/Dialects.h>
#include <mp-opt-c/Passes.h>
#include <mlir-c/Diagnostics.h>
#include <mlir-c/Pass.h>
#include <stdio.h>
#include <string.h>

static void ignore(MlirStringRef text, void *user) { (void)text; (void)user; }
static MlirLogicalResult hear(MlirDiagnostic diagnostic, void *user) {
  ++*(int *)user;
  (void)diagnostic;
  return mlirLogicalResultSuccess();
}

int main(void) {
  MlirDialectHandle handles[5];
  MlirContext context = mlirContextCreate();
  MlirModule module, none = {NULL};
  MlirPassManager manager;
  MlirOpPassManager functions, no_manager = {NULL};
  mp_opt_bytes *bytes;
  const char *text = "<ir_version: 8, opset_import: [\\"\\" : 17]> "
                     "g (float[2] x) => (float[2] y) { y = Relu(x) }";
  int i, errors = 0;
  handles[0] = mlirGetDialectHandle__onnx__();
  handles[1] = mlirGetDialectHandle__mp__();
  handles[2] = mlirGetDialectHandle__runtime__();
  handles[3] = mlirGetDialectHandle__kernel__();
  handles[4] = mlirGetDialectHandle__device__();
  for (i = 0; i < 5; ++i) {
    MlirStringRef name = mlirDialectHandleGetNamespace(handles[i]);
    if (mlirDialectIsNull(mlirDialectHandleLoadDialect(handles[i], context)))
      return 1;
    printf("%.*s ", (int)name.length, name.data);
  }
  mlirContextAttachDiagnosticHandler(context, hear, &errors, NULL);
  if (mlirMPOptImport(context, text, strlen(text), NULL, &module))
    return 2;
  /* A round trip. */
  if (mlirMPOptExport(module, &bytes) ||
      mlirMPOptImport(context, mp_opt_bytes_data(bytes),
                      mp_opt_bytes_size(bytes), "m.onnx", &none))
    return 3;
  mp_opt_bytes_destroy(bytes);
  mlirModuleDestroy(none);
  none.ptr = NULL;
  if (errors || mlirMPOptImport(context, text, 20, NULL, &none) != 1 ||
      !errors || !mlirModuleIsNull(none))
    return 4;
  /* Null where something is expected. */
  if (mlirMPOptImport(context, NULL, 1, NULL, &none) != 2 ||
      mlirMPOptImport(context, text, 1, NULL, NULL) != 2 ||
      mlirMPOptExport(none, &bytes) != 2 || bytes ||
      mlirMPOptExport(module, NULL) != 2 ||
      mlirMPOptAddPipeline(no_manager, "mp-classify", NULL) != 2)
    return 5;
  /* A module of something else is not a model. */
  none = mlirModuleCreateEmpty(mlirLocationUnknownGet(context));
  errors = 0;
  if (mlirMPOptExport(none, &bytes) != 1 || bytes || !*mp_opt_error_text())
    return 6;
  mlirModuleDestroy(none);
  /* Add passes by name, each by itself, and where one does not belong. */
  mlirMPOptRegisterAllPasses();
  mlirRegisterMPOptGraphPasses();
  manager = mlirPassManagerCreate(context);
  if (mlirLogicalResultIsFailure(mlirOpPassManagerAddPipeline(
          mlirPassManagerGetAsOpPassManager(manager),
          mlirStringRefCreateFromCString("mp-set-policy{precision=fp16}"),
          ignore, NULL)))
    return 7;
  functions = mlirPassManagerGetNestedUnder(
      manager, mlirStringRefCreateFromCString("func.func"));
  if (mlirMPOptAddPipeline(functions, "mp-mixed-precision", NULL) != 2)
    return 8;
  printf("| %s\\n", mp_opt_error_text());
  if (mlirMPOptAddPipeline(functions, "mp-assign-layouts", NULL))
    return 9;
  mlirPassManagerAddOwnedPass(manager, mlirCreateMPOptPrecisionClassify());
  if (mlirLogicalResultIsFailure(
          mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))))
    return 10;
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_dialects_and_statuses(compiler, tmp_path):
    """What the headers promise, in C and in C++."""
    is_c = compiler == "cc"
    source = tmp_path / ("calls.c" if is_c else "calls.cpp")
    source.write_text(DIALECTS)
    program = compile(
        source, tmp_path / "calls", compiler, "-std=c99" if is_c else "-std=c++17"
    )
    told = run(program).stdout
    dialects, message = told.split(" | ")
    assert dialects == "onnx mp runtime kernel device"
    assert "'mp-mixed-precision'" in message and "func.func" in message


def test_every_pass_can_be_made():
    """Each pass of each Passes.td is a function of the library."""
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY],
        capture_output=True, text=True, check=True,
    ).stdout
    found = set(re.findall(r" T (mlirCreateMPOpt\w+)", shown))
    expected = set()
    for stage in STAGES:
        text = (ROOT / f"passes/{stage}/Passes.td").read_text()
        names = re.findall(r"^def (\w+) *: *\w*Pass<", text, re.M)
        assert names, stage
        expected |= {f"mlirCreateMPOpt{stage}{name}" for name in names}
    assert found == expected
