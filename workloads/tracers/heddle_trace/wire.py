"""The bytes of a Chakra execution trace: a length before each protobuf message, written without a protobuf library.

Field numbers are those of MLCommons Chakra (et_def.proto): GlobalMetadata version 1, attributes 2; Node id 1, name 2,
type 3, ctrl_deps 4, data_deps 5, start 6, duration 7, inputs 8, outputs 9, attributes 10; operands values 1, shapes 2,
types 3; attributes name 1, then one field for each type of value (see `_VALUE_FIELDS`).
"""

COMPUTE, COLLECTIVE = 4, 7


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field, value):
    return _bytes(field, value.encode("utf-8", "replace"))


def _attribute(name, value):
    body = _text(1, name)
    if isinstance(value, bool):
        body += _integer(_VALUE_FIELDS["bool"], int(value))
    elif isinstance(value, int):
        body += _integer(_VALUE_FIELDS["int64"], value)
    else:
        body += _text(_VALUE_FIELDS["string"], str(value))
    return body


_VALUE_FIELDS = {"int64": 9, "bool": 27, "string": 29}


def operands(values, shapes, types):
    return _text(1, values) + _text(2, shapes) + _text(3, types)


def metadata(attributes):
    body = _text(1, "0.0.4")
    for name, value in attributes.items():
        body += _bytes(2, _attribute(name, value))
    return _varint(len(body)) + body


def node(number, name, kind, callers, dependencies, start_us, duration_us, inputs, outputs, attributes):
    body = _integer(1, number) + _text(2, name) + _integer(3, kind)
    if callers:
        body += _bytes(4, b"".join(_varint(c) for c in callers))
    if dependencies:
        body += _bytes(5, b"".join(_varint(d) for d in dependencies))
    body += _integer(6, start_us) + _integer(7, duration_us)
    body += _bytes(8, operands(*inputs)) + _bytes(9, operands(*outputs))
    for key, value in attributes.items():
        body += _bytes(10, _attribute(key, value))
    return _varint(len(body)) + body
