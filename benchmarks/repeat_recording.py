"""Repeats a recorded step until a recording is as long as that of a long run.

    benchmarks/repeat_recording.py RECORDING OUTPUT [COUNT]

RECORDING is a trace of PyTorch's profiler or an execution trace (.json, .gz, the only member of a .tar.gz), or a Chakra
execution trace; OUTPUT gets COUNT (1,000,000) events or nodes, with numbers, times and places in memory of their own in
every repetition, so that nothing can be kept once for all. Then, for time and memory of the reader:

    /usr/bin/time -v heddle trace inspect OUTPUT
"""

import gzip
import io
import json
import re
import sys
import tarfile


def content(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[257:262] == b"ustar":
        archive = tarfile.open(fileobj=io.BytesIO(data))
        data = archive.extractfile([m for m in archive.getmembers() if m.isfile()][0]).read()
    return data


def moved(value, shift):
    """Operands, with tensors [id, storage, offset, elements, bytes, device] of another repetition."""
    if not isinstance(value, list):
        return value
    if len(value) == 6 and isinstance(value[5], str) and all(isinstance(v, int) for v in value[:5]):
        return [value[0] + shift, value[1] + shift] + value[2:]
    return [moved(v, shift) for v in value]


def repeat_events(step, out, count):
    """The profiler's: times and numbers move on."""
    events = [e for e in step.pop("traceEvents") if isinstance(e, dict)]
    timed = [e for e in events if e.get("ph") == "X" and isinstance(e.get("ts"), (int, float))]
    numbers = ("External id", "external id", "correlation", "Record function id", "Sequence number")
    begin = min(e["ts"] for e in timed)
    span = max(e["ts"] + e.get("dur", 0) for e in timed) - begin + 100
    stride = 1 + max((e["args"].get(n, 0) for e in timed for n in numbers if "args" in e), default=0)
    out.write(json.dumps(step)[:-1] + ', "traceEvents": [\n')
    for i in range(count):
        turn, event = i // len(events), dict(events[i % len(events)])
        if isinstance(event.get("ts"), (int, float)):
            event["ts"] = round(event["ts"] + turn * span, 3)
        if "args" in event:
            event["args"] = {k: v + turn * stride if k in numbers and v > 0 else v for k, v in event["args"].items()}
        out.write((",\n" if i else "") + json.dumps(event))
    out.write("]}\n")


def repeat_nodes(step, out, count):
    """An execution trace's."""
    nodes = step.pop("nodes")
    stride = 1 + max(n["id"] for n in nodes)
    out.write(json.dumps(step)[:-1] + ', "nodes": [\n')
    for i in range(count):
        shift, node = i // len(nodes) * stride, dict(nodes[i % len(nodes)])
        node["id"] += shift
        for caller in ("ctrl_deps", "parent"):
            if node.get(caller, 0) > 0:
                node[caller] += shift
        for side in ("inputs", "outputs"):
            if isinstance(node.get(side), dict):
                node[side] = dict(node[side], values=moved(node[side]["values"], shift))
            else:
                node[side] = moved(node.get(side, []), shift)
        numbered = ("rf_id", "seq_id")
        if "attrs" in node:
            node["attrs"] = [dict(a, value=a["value"] + shift) if a["name"] in numbered and a["value"] > 0 else a
                             for a in node["attrs"]]
        for key in numbered:
            if node.get(key, 0) > 0:
                node[key] += shift
        out.write((",\n" if i else "") + json.dumps(node))
    out.write("]}\n")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def varint_bytes(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def fields(message):
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        else:
            length, at = varint(message, at) if key & 7 == 2 else (4 if key & 7 == 5 else 8, at)
            value, at = message[at:at + length], at + length
        yield key, value


def repeat_chakra(data, out, count):
    """Node.id = 1, ctrl_deps = 4, data_deps = 5, inputs = 8, outputs = 9 with values = 1."""
    messages, at = [], 0
    while at < len(data):
        length, at = varint(data, at)
        messages.append(data[at:at + length])
        at += length
    tensor = re.compile(rb"\[(\d+), (\d+)(?=, \d+, \d+, \d+, ')")

    def field(key, value):
        if key & 7 == 0:
            return varint_bytes(key) + varint_bytes(value)
        return varint_bytes(key) + (varint_bytes(len(value)) if key & 7 == 2 else b"") + value

    def shifted(key, value, shift):
        if key == 1 << 3:
            value += shift
        elif key >> 3 in (4, 5):
            if key & 7 == 0:
                value += shift
            else:
                ids, at = b"", 0
                while at < len(value):
                    one, at = varint(value, at)
                    ids += varint_bytes(one + shift)
                value = ids
        elif key >> 3 in (8, 9):
            value = b"".join(field(k, tensor.sub(lambda m: b"[%d, %d" % (int(m[1]) + shift, int(m[2]) + shift), v)
                                   if k >> 3 == 1 else v) for k, v in fields(value))
        return field(key, value)

    nodes = [list(fields(m)) for m in messages[1:]]
    stride = 1 + max(dict(node)[8] for node in nodes)
    out.write(varint_bytes(len(messages[0])) + messages[0])
    for i in range(count):
        body = b"".join(shifted(k, v, i // len(nodes) * stride) for k, v in nodes[i % len(nodes)])
        out.write(varint_bytes(len(body)) + body)


def main(recording, output, count=1000000):
    data = content(recording)
    if data.lstrip()[:1] not in (b"{", b"["):
        with open(output, "wb") as out:
            repeat_chakra(data, out, int(count))
        return
    step = json.loads(data)
    with open(output, "w") as out:
        (repeat_nodes if "nodes" in step else repeat_events)(step, out, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
