"""Machine code of NVIDIA's GPUs out of files, and nvdisasm as a function: what the other scripts of this folder share."""
import os
import pathlib
import struct
import subprocess
import tempfile
import zipfile

CUDA_MACHINE = 190  # EM_CUDA
FAT_BINARY = 0xBA55ED50
# The bits that choose operands and modifiers; the control word, bits 105 to 121, is not in the text.
TEXT_BITS = ((1 << 105) - 1) | (0xF << 122)


def cubins_of_fat_binary(data, start):
    """The ELF images of the fat binary at byte `start`, unpacked."""
    _, _, header, size = struct.unpack_from("<IHHQ", data, start)
    at, end = start + header, start + header + size
    while at + 32 <= end:
        kind, _, header, size, packed = struct.unpack_from("<HHIQI", data, at)
        if header < 32 or size == 0:
            return
        flags = struct.unpack_from("<Q", data, at + 40)[0]
        unpacked = struct.unpack_from("<Q", data, at + 56)[0] if header >= 64 else 0
        content = data[at + header:at + header + (packed or size)]
        if kind == 2:
            if flags & 0x8000:
                import zstandard
                content = zstandard.ZstdDecompressor().decompress(content, max_output_size=unpacked)
            elif flags & 0x2000:
                import lz4.block
                content = lz4.block.decompress(content, uncompressed_size=unpacked)
            if content[:4] == b"\177ELF":
                yield content
        at += header + size


def cubins_of_bytes(data):
    """All cubins in a file's bytes: the file itself, or those of its fat binaries."""
    if data[:4] == b"\177ELF" and struct.unpack_from("<H", data, 18)[0] == CUDA_MACHINE:
        yield data
        return
    magic = struct.pack("<I", FAT_BINARY)
    at = data.find(magic)
    while at >= 0:
        try:
            if struct.unpack_from("<HH", data, at + 4) == (1, 16):
                yield from cubins_of_fat_binary(data, at)
        except (struct.error, IndexError):
            pass
        at = data.find(magic, at + 4)


def cubins_of(path):
    """All cubins of a cubin, fat binary, program, library, folder or wheel."""
    path = pathlib.Path(path)
    if path.is_dir():
        for one in sorted(path.rglob("*")):
            if one.is_file():
                yield from cubins_of(one)
    elif path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if ".so" in name or name.endswith((".cubin", ".fatbin")):
                    yield from cubins_of_bytes(wheel.read(name))
    else:
        yield from cubins_of_bytes(path.read_bytes())


def architecture_of(cubin):
    """75, 80, ... of a cubin."""
    flags = struct.unpack_from("<I", cubin, 48)[0]
    return flags >> 8 & 0xFF if cubin[8] >= 8 else flags & 0xFF


def code_of(cubin):
    """The words of all instructions in a cubin's sections of code."""
    table, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQII", cubin, table + i * size) for i in range(count)]
    for name, kind, _, _, offset, length, _, _ in headers:
        begin = headers[names][4] + name
        if kind == 1 and cubin[begin:begin + 6] == b".text.":
            for at in range(offset, offset + length, 16):
                yield int.from_bytes(cubin[at:at + 16], "little")


def architecture_name(architecture):
    return f"SM{architecture}" + ("a" if architecture >= 90 else "")


def disassemble(words, architecture, nvdisasm=None):
    """The text of each word, as if each stood at its place in one function; None for what nvdisasm refuses."""
    nvdisasm = nvdisasm or os.environ.get("HEDDLE_NVDISASM", "nvdisasm")
    result = []
    for begin in range(0, len(words), 20000):
        result += _disassemble_batch(words[begin:begin + 20000], architecture, nvdisasm)
    return result


def _disassemble_batch(words, architecture, nvdisasm):
    control = 0x000FE200 << 96  # two cycles and no barriers; some of what a word of zeros says is refused
    nop = 0x7918 | control
    refused = set()
    for _ in range(8):
        with tempfile.NamedTemporaryFile() as file:
            for place, word in enumerate(words):
                file.write((nop if place in refused else word & TEXT_BITS | control).to_bytes(16, "little"))
            file.flush()
            run = subprocess.run([nvdisasm, "-ndf", "-novliw", "-b", architecture_name(architecture), file.name],
                                 capture_output=True, text=True, errors="replace", check=False)
        before = len(refused)
        for line in run.stderr.splitlines():
            if " at address 0x" in line:
                refused.add(int(line.rsplit("0x", 1)[1].split()[0].rstrip(".,;:"), 16) // 16)
        if run.returncode == 0:
            break
        if len(refused) == before:
            raise RuntimeError(run.stderr[-500:])
    texts = {}
    for line in run.stdout.splitlines():
        begin, end = line.find("/*"), line.find("*/")
        last = line.rfind(";")
        if begin < 0 or end < 0 or last < end:
            continue
        text = line[end + 2:last]
        if "(*" in text:
            text = text[:text.index("(*")]
        texts[int(line[begin + 2:end], 16) // 16] = text.strip()
    return [None if place in refused else texts.get(place) for place in range(len(words))]
