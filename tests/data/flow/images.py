"""Writes the masks of this folder and of tests/corpus/vti by VTK: `pip install vtk`, then `python3 images.py`."""

from pathlib import Path

import numpy as np
import vtk
from vtk.util.numpy_support import numpy_to_vtk

HERE = Path(__file__).parent
CORPUS = HERE.parent.parent / "corpus" / "vti"
WIDTH = 0.125


def image(solid, dtype, *, points=False, low=(0, 0, 0), value=1, others=False):
    """An image of the array `mask`, whose lower corner is -WIDTH/2 times its count, with first indices `low`."""
    count = solid.shape[::-1]
    data = vtk.vtkImageData()
    more = -1 if points else 0
    data.SetExtent(*(end for first, n in zip(low, count) for end in (first, first + n + more)))
    data.SetSpacing(WIDTH, WIDTH, WIDTH)
    half = 0.5 if points else 0
    data.SetOrigin(*(WIDTH * (half - n / 2 - first) for n, first in zip(count, low)))
    values = data.GetPointData() if points else data.GetCellData()

    def add(to, name, array):
        array = numpy_to_vtk(array, deep=1)
        array.SetName(name)
        to.AddArray(array)

    if others:
        add(values, "colour", np.zeros((solid.size, 3), np.float32))
        add(values, "pores", (~solid).astype(np.uint8).ravel())
        add(data.GetFieldData(), "TimeValue", np.array([0.5]))
    add(values, "mask", (solid.ravel() * value).astype(dtype))
    return data


def write(data, path, mode, *, compressor="None", encode=True, big=False, wide=False, block=None):
    writer = vtk.vtkXMLImageDataWriter()
    writer.SetInputData(data)
    writer.SetFileName(str(path))
    getattr(writer, f"SetDataModeTo{mode}")()
    getattr(writer, f"SetCompressorTypeTo{compressor}")()
    writer.SetEncodeAppendedData(encode)
    writer.SetByteOrder(0 if big else 1)
    writer.SetHeaderType(64 if wide else 32)
    if block:
        writer.SetBlockSize(block)
    assert writer.Write() == 1


z, y, x = np.meshgrid(*(np.arange(n) + 0.5 for n in (6, 7, 8)), indexing="ij")
ball = ((x - 4) / 3) ** 2 + ((y - 3.5) / 2.6) ** 2 + ((z - 3) / 2.2) ** 2 < 1
# No mirror image is the same.
ball[1, 3, 2], ball[4, 2, 5] = True, False
np.save(HERE / "ball.npy", ball)
write(image(ball, np.int16, value=-3), HERE / "ascii.vti", "Ascii")
write(image(ball, np.float32, points=True, low=(3, -2, 5)), HERE / "binary-zlib.vti", "Binary", compressor="ZLib", big=True)
write(image(ball, np.uint8, others=True), HERE / "appended-raw-zlib.vti", "Appended", compressor="ZLib", encode=False, wide=True)
write(image(ball, np.uint16, low=(-4, 0, 1)), HERE / "appended-base64.vti", "Appended", big=True, wide=True)

few = np.zeros((2, 2, 3), bool)
few.flat[[0, 7, 11]] = True
write(image(few, np.uint8), CORPUS / "ascii.vti", "Ascii")
write(image(few, np.int32, points=True), CORPUS / "binary-zlib.vti", "Binary", compressor="ZLib")
write(image(few, np.float64), CORPUS / "binary.vti", "Binary", big=True, wide=True)
write(image(few, np.uint8, others=True), CORPUS / "raw-zlib.vti", "Appended", compressor="ZLib", encode=False, wide=True)
write(image(few, np.float32), CORPUS / "raw.vti", "Appended", encode=False)
write(image(few, np.int64), CORPUS / "base64-zlib.vti", "Appended", compressor="ZLib", block=64)
write(image(few, np.uint8), CORPUS / "lz4.vti", "Binary", compressor="LZ4")
