# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt-lsp-server, as an editor talks to it: JSON over pipes."""

import json
import pathlib
import queue
import subprocess
import threading

import pytest
from support import MP_OPT, attempt

SERVER = pathlib.Path(MP_OPT).with_name("mp-opt-lsp-server")
SECONDS = 30
URI = "file:///net.mlir"
# A model in the form that mp-opt prints.
NET = """\
module attributes {onnx.opset_import = [["", 22]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %w: tensor<4x2xf32>):
    %h = "onnx.MatMul"(%x, %w) {onnx.name = "fc"} : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
    %y = "onnx.Softmax"(%h) {onnx.name = "p"} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    onnx.yield %y : tensor<?x2xf32>
  }
}
"""
PRODUCT, SOFTMAX = 3, 4


class Editor:
    def __init__(self):
        self.server = subprocess.Popen(
            [SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.received = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.number = 0
        self.diagnostics = []

    def read(self):
        while line := self.server.stdout.readline():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
                while self.server.stdout.readline().strip():
                    pass
                self.received.put(json.loads(self.server.stdout.read(size)))

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.server.stdin.flush()

    def wait(self, holds):
        while True:
            message = self.received.get(timeout=SECONDS)
            if message.get("method") == "textDocument/publishDiagnostics":
                self.diagnostics = message["params"]["diagnostics"]
            if holds(message):
                return message

    def ask(self, method, **params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        answer = self.wait(lambda message: message.get("id") == self.number)
        assert "error" not in answer, answer
        return answer["result"]

    def ask_at(self, method, text, word, offset=0):
        """About the first place of a word."""
        place = text.index(word) + offset
        before = text[:place]
        line = before.count("\n")
        return self.ask(
            method, textDocument={"uri": URI},
            position={"line": line, "character": place - before.rfind("\n") - 1},
        )

    def show(self, text):
        """Opens a file; what is wrong with it."""
        self.send(method="textDocument/didOpen", params={"textDocument": {
            "uri": URI, "languageId": "mlir", "version": 1, "text": text}})
        self.wait(lambda message: message.get("method")
                  == "textDocument/publishDiagnostics")
        return self.diagnostics


@pytest.fixture
def editor():
    made = Editor()
    made.answer = made.ask("initialize", processId=None, rootUri=None,
                           capabilities={})
    made.send(method="initialized", params={})
    yield made
    made.ask("shutdown")
    made.send(method="exit")
    assert made.server.wait(SECONDS) == 0


def test_initialize(editor):
    able = editor.answer["capabilities"]
    assert able["hoverProvider"] and able["definitionProvider"]
    assert able["referencesProvider"] and able["completionProvider"]


def test_a_right_file_has_no_diagnostics(editor):
    assert editor.show(NET) == []


def test_hover(editor):
    editor.show(NET)
    text = editor.ask_at("textDocument/hover", NET, '"onnx.MatMul"', 3)
    shown = text["contents"]["value"]
    assert "onnx.MatMul" in shown and "fc" in shown
    shown = editor.ask_at("textDocument/hover", NET, "%h", 1)["contents"]["value"]
    assert "onnx.MatMul" in shown and "tensor<?x2xf32>" in shown


def test_definition_and_references(editor):
    editor.show(NET)
    use = editor.ask_at("textDocument/definition", NET, "(%h)", 2)
    assert [place["range"]["start"]["line"] for place in use] == [PRODUCT]
    places = editor.ask("textDocument/references",
                        textDocument={"uri": URI}, context={},
                        position={"line": PRODUCT, "character": 5})
    assert {place["range"]["start"]["line"] for place in places} == {
        PRODUCT, SOFTMAX}


def test_completion_knows_the_dialects(editor):
    text = NET.replace("  onnx.yield", "  onnx.\n    onnx.yield")
    editor.show(text)
    found = editor.ask_at("textDocument/completion", text, "  onnx.\n", 7)
    labels = {item["label"] for item in found["items"]}
    assert {"MatMul", "Softmax", "initializer", "yield"} <= labels


@pytest.mark.parametrize("wrong, line, message", [
    # The verifier asks ONNX's schemas.
    (NET.replace('"onnx.Softmax"(%h) {onnx.name = "p"} : (tensor<?x2xf32>)',
                 '"onnx.Softmax"(%h, %h) {onnx.name = "p"} : '
                 '(tensor<?x2xf32>, tensor<?x2xf32>)'), SOFTMAX, "Softmax"),
    (NET.replace("(%x, %w)", "(%x, %v)"), PRODUCT, "undeclared"),
    (NET.replace('{onnx.name = "p"}', '{axis = "last"}'), SOFTMAX, "axis"),
    (NET.replace("onnx.yield", "onnx.yeld"), SOFTMAX + 1, "yeld"),
])
def test_diagnostics(editor, wrong, line, message):
    assert wrong != NET
    found = editor.show(wrong)
    assert found, "nothing is said"
    assert found[0]["range"]["start"]["line"] == line, found
    assert message in found[0]["message"], found
    assert found[0]["severity"] == 1
    # The server continues, and reports no error for a correct file.
    assert editor.show(NET) == []


def test_what_is_no_mlir(editor):
    for text in ("", "\0\1\2", "ir_version: 10", "{" * 5000):
        editor.show(text)
    assert editor.show(NET) == []


def test_version():
    done = attempt("--version", program=SERVER, code=0)
    assert done.stdout.startswith("mp-opt-lsp-server ") and "LLVM" in done.stdout
