"""Arrays in a safetensors file, read and written with numpy alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_TYPES: Final = {"I8": "<i1", "I64": "<i8", "F16": "<f2", "F32": "<f4"}
_NAMES: Final = {np.dtype(code): name for name, code in _TYPES.items()}
_HALF_OF_FLOAT: Final = "BF16"  # the upper two bytes of a float32, a type numpy has not
_LENGTH_BYTES: Final = 8  # the header's length, little-endian, stands in front of it


def read_tensors(path: Path) -> Arrays:
    """Return the arrays of a file by name."""
    data = path.read_bytes()
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    header: dict[str, Any] = json.loads(data[_LENGTH_BYTES:start])
    arrays: Arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        raw = data[start + first : start + last]
        if entry["dtype"] == _HALF_OF_FLOAT:
            upper = np.frombuffer(raw, dtype="<u2").astype(np.uint32)
            values = (upper << np.uint32(16)).view(np.float32)
        else:
            values = np.frombuffer(raw, dtype=_TYPES[entry["dtype"]])
        arrays[name] = values.reshape(entry["shape"])
    return arrays


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of 8-bit integers, float16 or float32."""
    header: dict[str, Any] = {}
    offset = 0
    for name, values in arrays.items():
        last = offset + values.nbytes
        shape = list(values.shape)
        dtype = _NAMES[values.dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, last]}
        offset = last
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)  # readers expect the data aligned
    parts = [np.ascontiguousarray(values).tobytes() for values in arrays.values()]
    path.write_bytes(len(text).to_bytes(_LENGTH_BYTES, "little") + text + b"".join(parts))
