# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's files: everything that NumPy writes is read, nothing else is."""

import io
import struct
import zipfile

import ml_dtypes
import numpy as np
import pytest

from files import mp_run, refuse, show

TYPES = {
    "b1": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float",
    "f8": "double",
    "c8": "complex64",
    "c16": "complex128",
}


def numbers(dtype, shape=(3, 5, 2), seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        made = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    elif np.dtype(dtype).kind == "b":
        made = rng.integers(0, 2, size=shape)
    else:
        made = rng.integers(0, 100, size=shape)
    return made.astype(dtype)


def check(shown, array, kind):
    parts = np.ascontiguousarray(array)
    if parts.dtype.kind == "c":
        parts = parts.astype(parts.dtype.newbyteorder("="))
        parts = parts.view(parts.real.dtype)
    parts = parts.astype(np.float64)
    assert shown["type"] == kind
    assert tuple(shown["shape"]) == array.shape
    assert shown["min"] == parts.min() and shown["max"] == parts.max()
    assert shown["mean"] == pytest.approx(parts.mean(), rel=1e-12)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_type_order_and_endianness(tmp_path, save):
    arrays, kinds = {}, {}
    for code, kind in TYPES.items():
        for order in "CF":
            for endian in "<>":
                name = f"{code}{order}{'be' if endian == '>' else 'le'}"
                array = numbers(endian + code)
                arrays[name] = np.array(array, order=order)
                kinds[name] = kind
    save(tmp_path / "a.npz", **arrays)
    shown = show(tmp_path / "a.npz")
    assert list(shown) == list(arrays)
    for name, array in arrays.items():
        check(shown[name], array, kinds[name])


def identity(kind, shape):
    dims = ",".join(map(str, shape))
    return (
        '<ir_version: 9, opset_import: ["" : 21]>\n'
        f"copy ({kind}[{dims}] x) => ({kind}[{dims}] y) {{ y = Identity(x) }}\n"
    )


@pytest.mark.parametrize("code", ["f4", "f2", "i8", "u1", "b1", "bf16"])
def test_elements_come_back(tmp_path, code):
    """In their order: a mean does not see a wrong transposition."""
    dtype = ml_dtypes.bfloat16 if code == "bf16" else np.dtype(code)
    kind = "bfloat16" if code == "bf16" else TYPES[code]
    if code == "bf16":
        array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    else:
        array = np.asfortranarray(numbers(dtype, (2, 3, 4)))
    np.savez(tmp_path / "in.npz", x=array)
    (tmp_path / "copy.onnxtxt").write_text(identity(kind, array.shape))
    done = mp_run(
        "run",
        tmp_path / "copy.onnxtxt",
        tmp_path / "in.npz",
        "-o",
        tmp_path / "out.npz",
    )
    assert done.returncode == 0, done.stderr
    back = np.load(tmp_path / "out.npz")["y"]
    assert back.shape == array.shape
    assert back.tobytes() == np.ascontiguousarray(array).tobytes()


def test_bfloat16(tmp_path):
    array = np.array([1.5, -3.0, 65536.0]).astype(ml_dtypes.bfloat16)
    np.savez(tmp_path / "a.npz", x=array)
    shown = show(tmp_path / "a.npz")["x"]
    assert shown["type"] == "bfloat16"
    assert (shown["min"], shown["max"]) == (-3.0, 65536.0)


def test_shapes(tmp_path):
    arrays = {
        "scalar": np.float32(2.5),
        "one": np.ones(1, np.float32),
        "empty": np.zeros((0, 4), np.float32),
        "empty_f": np.zeros((4, 0, 2), np.float32, order="F"),
    }
    np.savez(tmp_path / "a.npz", **arrays)
    shown = show(tmp_path / "a.npz")
    for name, array in arrays.items():
        assert tuple(shown[name]["shape"]) == np.shape(array)


def test_npy_alone(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    (shown,) = show(tmp_path / "a.npy").values()
    assert shown["shape"] == [2, 3] and shown["max"] == 5


def test_header_versions(tmp_path):
    for version in (1, 0), (2, 0), (3, 0):
        with open(tmp_path / "a.npy", "wb") as file:
            np.lib.format.write_array(file, np.arange(4), version=version)
        (shown,) = show(tmp_path / "a.npy").values()
        assert shown["max"] == 3


def npy(descr="<f4", order="False", shape="(2,)", data=b"\0" * 8, text=None):
    text = text or (
        f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    )
    text = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def test_the_hand_made_header_is_read(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy())
    (shown,) = show(tmp_path / "a.npy").values()
    assert shown["shape"] == [2]


@pytest.mark.parametrize(
    "content, text",
    [
        (npy(shape="(3,)"), "expected 12 bytes of data for float[3], found 8"),
        (npy(shape="(99999999999999999999,)"), "the header"),
        (npy(shape="(9223372036854775807, 8)"), "more than 2^63"),
        (npy(shape="(-1,)"), "the header"),
        (npy(shape="(2)"), "the header"),
        (npy(shape="(1+1,)"), "the header"),
        (npy(order="0"), "the header"),
        (npy(descr="|O"), "'|O'"),
        (npy(descr="<U2"), "'<U2'"),
        (npy(descr="<f3"), "'<f3'"),
        (npy(descr="|b1", data=b"\1\2"), "booleans of 0 and 1, found 2"),
        (npy(text="__import__('os').system('id')"), "the header"),
        (npy(text="{'descr': '<f4', 'fortran_order': False}"), "the header"),
        (
            npy(text="{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}"),
            "the header",
        ),
        (npy()[:9], "NumPy's format"),
        (npy()[:20], "cut short"),
        (npy().replace(b"\x01\x00", b"\x09\x00", 1), "version 9"),
        (b"", "NumPy's format"),
    ],
)
def test_bad_npy(tmp_path, content, text):
    (tmp_path / "a.npy").write_bytes(content)
    refuse(tmp_path / "a.npy", text)


def test_errors_of_entries_name_the_tensor(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("weights.npy", npy(shape="(3,)"))
    refuse(tmp_path / "a.npz", "tensor 'weights'", "expected 12 bytes")


def small_archive(compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("x.npy", npy(data=bytes(range(8))))
        archive.writestr("y.npy", npy())
    return buffer.getvalue()


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]
)
def test_a_cut_off_archive_is_refused_at_any_length(tmp_path, compression):
    whole = small_archive(compression)
    (tmp_path / "a.npz").write_bytes(whole)
    assert len(show(tmp_path / "a.npz")) == 2
    for length in range(0, len(whole), 7):
        (tmp_path / "a.npz").write_bytes(whole[:length])
        refuse(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]
)
def test_a_flipped_bit_of_data_is_noticed(tmp_path, compression):
    whole = bytearray(small_archive(compression))
    if compression:
        place = whole.index(b"x.npy") + 20
    else:
        place = whole.index(bytes(range(8)))
    whole[place] ^= 1
    (tmp_path / "a.npz").write_bytes(whole)
    refuse(tmp_path / "a.npz", "entry 'x.npy'")


def test_zip64(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        with archive.open("x.npy", "w", force_zip64=True) as entry:
            entry.write(npy())
    assert show(tmp_path / "a.npz")["x"]["shape"] == [2]


def patch(archive, offset, fmt, value, signature=b"PK\1\2"):
    """The archive with a field of its first directory entry changed."""
    data = bytearray(archive)
    struct.pack_into(fmt, data, data.index(signature) + offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    "content, text",
    [
        # A size that no memory has room for.
        (patch(small_archive(), 24, "<I", 0xFFFFFFF0), "cannot have"),
        (
            patch(small_archive(8), 24, "<I", 0xFFFFFFF0),
            "cannot have 4294967280 bytes",
        ),
        (patch(small_archive(8), 24, "<I", 7), "does not unpack"),
        (patch(small_archive(), 8, "<H", 1), "is encrypted"),
        (patch(small_archive(), 10, "<H", 12), "compressed by method 12"),
        (patch(small_archive(), 42, "<I", 7), "is not where"),
        (patch(small_archive(), 16, "<I", 7), "wrong checksum"),
        (patch(small_archive(), 16, "<I", 10**9, b"PK\5\6"), "directory"),
        (patch(small_archive(), 10, "<H", 5000, b"PK\5\6"), "directory"),
    ],
)
def test_lying_archives(tmp_path, content, text):
    (tmp_path / "a.npz").write_bytes(content)
    refuse(tmp_path / "a.npz", text)


def test_entries_that_share_bytes(tmp_path):
    """A zip bomb without nesting: many entries over the same data."""
    data = small_archive()
    first = data.index(b"PK\1\2")
    second = data.index(b"PK\1\2", first + 4)
    end = data.index(b"PK\5\6")
    entry = data[first:second]
    tail = bytearray(data[end:])
    struct.pack_into("<IH", tail, 12, 2 * len(entry), first)
    twice = data[:first] + entry * 2 + bytes(tail)
    (tmp_path / "a.npz").write_bytes(twice)
    refuse(tmp_path / "a.npz", "twice")
    data = data.replace(b"y.npy", b"x.npy")
    (tmp_path / "a.npz").write_bytes(data)
    refuse(tmp_path / "a.npz", "entry 'x.npy' twice")


def test_other_entries_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    refuse(tmp_path / "a.npz", "'readme.txt' is not an .npy file")


def test_missing_file_and_folder(tmp_path):
    refuse(tmp_path / "no.npz", "cannot read it")
    (tmp_path / "a.npz").mkdir()
    refuse(tmp_path / "a.npz", "expected files such as 'input_0.pb'")
