# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
def fft(name, **given):
    """Of torch, on the last axis, which holds real and imaginary parts."""

    def apply(x):
        if x.shape[-1] == 1:
            signal = x[..., 0]
        else:
            signal = torch.view_as_complex(x)
        result = getattr(torch.fft, name)(signal, **given)
        if not result.is_complex():
            return result[..., None]
        return torch.view_as_real(result)

    return apply


def dft(name, shape, torch, length=None, axis=None, opset=22, **given):
    body, operands = "", "x"
    if length is not None:
        body += f"n = Constant<value_int={length}>() "
    if axis is not None and opset >= 20:
        body += f"axis = Constant<value_int={axis}>() "
        operands += f", {'n' if length else ''}, axis"
    elif length is not None:
        operands += ", n"
    if axis is not None and opset < 20:
        given["axis"] = axis
    given.setdefault("inverse", 0)
    attributes = ", ".join(f"{k}={v}" for k, v in given.items())
    body += f"y = DFT<{attributes}>({operands})"
    return Case(name, body, {"x": shape}, torch=torch, opset=opset)


def stft(name, shape, length, step, window, onesided):
    """Frames of torch are not centred here."""

    def reference(x, *w):
        signal = x[..., 0] if x.shape[-1] == 1 else torch.view_as_complex(x)
        found = torch.stft(
            signal,
            length,
            hop_length=step,
            window=w[0] if w else torch.ones(length, dtype=torch.float64),
            center=False,
            onesided=bool(onesided),
            return_complex=True,
        )
        return torch.view_as_real(found.transpose(1, 2))

    body = f"step = Constant<value_int={step}>() "
    body += f"length = Constant<value_int={length}>() "
    inputs = {"x": shape, **({"w": (length,)} if window else {})}
    body += f"y = STFT<onesided={onesided}>"
    body += f"(x, step, {'w' if window else ''}, length)"
    return Case(name, body, inputs, torch=reference)


CASES = [
    dft("real", (2, 5, 1), fft("fft")),
    dft("complex", (2, 6, 2), fft("fft")),
    dft("one-sided-even", (2, 6, 1), fft("rfft"), onesided=1),
    dft("one-sided-odd", (2, 5, 1), fft("rfft"), onesided=1),
    dft("inverse", (3, 5, 2), fft("ifft"), inverse=1),
    dft("padded", (2, 4, 1), fft("fft", n=7), length=7),
    dft("cut", (2, 6, 2), fft("fft", n=4), length=4),
    dft("cut-one-sided", (2, 7, 1), fft("rfft", n=4), length=4, onesided=1),
    dft("padded-inverse", (2, 4, 2), fft("ifft", n=6), length=6, inverse=1),
    dft("axis", (3, 2, 4, 1), fft("fft", dim=0), axis=0),
    dft("axis-negative", (3, 2, 4, 2), fft("fft", dim=1), axis=-3),
    dft("attribute", (3, 4, 2), fft("fft", dim=1), opset=18, axis=1),
    dft(
        "attribute-inverse",
        (3, 4, 2),
        fft("ifft", dim=0),
        opset=18,
        axis=0,
        inverse=1,
    ),
    dft("to-real", (2, 4, 2), fft("irfft"), inverse=1, onesided=1),
    dft(
        "to-real-odd",
        (2, 4, 2),
        fft("irfft", n=7),
        length=7,
        inverse=1,
        onesided=1,
    ),
    dft(
        "to-real-cut",
        (2, 4, 2),
        fft("irfft", n=4),
        length=4,
        inverse=1,
        onesided=1,
    ),
    stft("frames", (2, 11, 1), 4, 2, True, 1),
    stft("frames-two-sided", (1, 9, 1), 4, 3, True, 0),
    stft("frames-complex", (1, 9, 2), 4, 2, True, 0),
    stft("frames-no-window", (2, 9, 1), 5, 2, False, 1),
]
