"""Files made to do harm, cut files and altered ones: refused, nothing run, memory bounded."""

from __future__ import annotations

import collections
import io
import pickle
import struct
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import dtypes, serialization
from retrograd.serialization import npz, safetensors

FILES = Path(__file__).parents[1] / "data" / "files"
REFUSED = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)
WATCHED = {"import", "exec", "compile", "os.system", "subprocess.Popen", "os.exec", "os.remove"}
watching: list[list[str]] = []


def watch(event, args):
    """Note what Python is about to do while a file is read."""
    writes = event == "open" and args[1] not in ("r", "rb", None)
    if watching and (event in WATCHED or writes):
        watching[-1].append(event)


sys.addaudithook(watch)  # it cannot be taken away, so it looks at `watching`
LOADED = (
    rg.nn.Parameter,
    rg.bfloat16,
    rg.ones(1, device="meta"),
)  # before, so that no import is seen


def harmless(read, most=1 << 27):
    """What reading gives, or the error; fails if that ran something or took much memory."""
    done: list[str] = []
    tracemalloc.start()
    watching.append(done)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except REFUSED as error:
        return error
    finally:
        watching.pop()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert done == []
        assert peak < most


def packed(records):
    """An archive, as zipfile makes it, of records by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, record in records.items():
            archive.writestr(name, record)
    return file.getvalue()


def forged(pickled, **storages):
    """An archive that carries a pickle of our own making."""
    records = {f"archive/data/{key[1:]}": value for key, value in storages.items()}
    return packed({"archive/data.pkl": pickled, "archive/version": "3\n", **records})


def loaded(content, **settings):
    return harmless(lambda: rg.load(io.BytesIO(content), **settings))


def check_refused(content, match="Weights only load failed"):
    found = loaded(content)
    assert isinstance(found, REFUSED), found
    with pytest.raises(type(found), match=match):
        raise found


# -- pickles by hand ---------------------------------------------------------------------------


def name(full):
    module, _, own = full.rpartition(".")
    return f"c{module}\n{own}\n".encode()


def text(value):
    return b"X" + struct.pack("<L", len(value)) + value.encode()


def number(value):
    return b"\x8a\x10" + value.to_bytes(16, "little", signed=True)


def storage(count, kind="torch.FloatStorage", key="0", place="cpu"):
    return b"(" + text("storage") + name(kind) + text(key) + text(place) + number(count) + b"tQ"


def numbers(*values):
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(memory, offset, size, stride):
    parts = memory + offset + size + stride + b"\x89N"
    return name("torch._utils._rebuild_tensor_v2") + b"(" + parts + b"tR"


ONE = tensor(storage(2), number(0), numbers(2), numbers(1))
BYTES = np.array([1.5, 2.5], np.float32).tobytes()


META = name("torch._utils._rebuild_meta_tensor_no_storage")
FLOAT = name("torch.float32")


@pytest.mark.parametrize(
    "parts",
    [
        FLOAT + numbers(-1) + numbers(1) + b"\x89",
        FLOAT + numbers(2) + numbers() + b"\x89",
        FLOAT + numbers(2) + numbers(2**63) + b"\x89",
        FLOAT + number(2) + number(1) + b"\x89",
        FLOAT + numbers(2) + b"\x89",
        text("float32") + numbers(2) + numbers(1) + b"\x89",
        numbers(2) + numbers(2) + numbers(1) + b"\x89",
    ],
)
def test_tensors_without_data_are_checked(parts):
    assert isinstance(loaded(forged(META + b"(" + parts + b"tR.")), REFUSED)


def test_a_forged_file_that_does_no_harm_is_read():
    assert loaded(forged(ONE + b".", _0=BYTES)).tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    "full",
    [
        *("os.system", "posix.system", "nt.system", "subprocess.Popen", "builtins.eval"),
        *("builtins.exec", "__builtin__.eval", "builtins.getattr", "builtins.__import__"),
        *("importlib.import_module", "pickle.loads", "torch.load", "torch.hub.load", "sys.exit"),
        *(
            "retrograd.load",
            "retrograd.serialization.files.write",
            "numpy.load",
            "numpy.lib.format",
        ),
        *("torch._utils.os.system", "torch.serialization.os", "copyreg._reconstructor"),
        *("retrograd.nn.Module", "torch.nn.Linear", "codecs.decode", "operator.attrgetter"),
    ],
)
def test_names_that_are_not_in_the_table_are_refused(full):
    check_refused(forged(name(full) + text("true") + b"\x85R."), "Unsupported global")
    module, _, own = full.rpartition(".")
    check_refused(forged(b"\x80\x04" + text(module) + text(own) + b"\x93)R."), "Unsupported global")
    assert isinstance(loaded(forged(b"(" + text("true") + b"i" + name(full)[1:] + b".")), REFUSED)


@pytest.mark.parametrize(
    "pickled",
    [
        name("torch.Tensor") + numbers(10**9) + b"R.",
        name("torch.Tensor") + numbers(10**9) + b"\x81.",
        name("numpy.ndarray") + numbers(10**9) + b"R.",
        name("numpy.ndarray") + numbers(10**9) + b"\x81.",
        name("torch.float32") + b")R.",
        name("torch.nn.parameter.Parameter") + ONE + b"\x85\x81.",
        name("collections.OrderedDict") + b")\x81.",
        text("print") + b")R.",
        b"N)R.",
        b"\x82\x01)R.",
    ],
)
def test_what_is_no_function_of_the_table_is_neither_called_nor_made(pickled):
    check_refused(forged(pickled, _0=BYTES))


@pytest.mark.parametrize(
    "target",
    [
        *map(name, ["torch._utils._rebuild_tensor_v2", "torch.float32", "torch.Tensor"]),
        name("torch.device") + text("cpu") + b"\x85R",
        name("torch.Size") + numbers(1) + b"\x85R",
        *(ONE, b"N", b"]", b"}", text("a")),
    ],
)
def test_only_data_gets_a_state(target):
    check_refused(forged(target + b"}" + text("altered") + b"K\x01sb.", _0=BYTES))
    assert not hasattr(dtypes.float32, "altered")
    assert not hasattr(rg.Tensor, "altered")


@pytest.mark.parametrize("own", ["_array", "_cell", "_view_of", "__class__", "grad", "data", "sum"])
def test_attributes_that_the_engine_knows_are_refused(own):
    state = b"}" + text(own) + b"K\x01s"
    plain = b"(" + storage(2) + number(0) + numbers(2) + numbers(1) + b"\x89Nt"
    parts = name("torch._utils._rebuild_tensor_v2") + name("torch.Tensor") + plain + state
    check_refused(
        forged(name("torch._tensor._rebuild_from_type_v2") + b"(" + parts + b"tR.", _0=BYTES)
    )
    ordered = name("collections.OrderedDict") + b")R}" + text("items") + b"K\x01sb."
    check_refused(forged(ordered))


class Careful(rg.Tensor):
    """A class whose methods must not run."""

    def __setstate__(self, state):
        raise AssertionError("it ran")


class Writing(rg.Tensor):
    """A class whose methods must not run either."""

    def __setattr__(self, name, value):
        raise AssertionError("it ran")


class Quiet(rg.Tensor):
    """A class of which tensors can be made without its methods."""

    def __init__(self, *args):
        raise AssertionError("it ran")

    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise AssertionError("it ran")


def test_no_code_of_a_class_of_tensors_runs():
    plain = b"(" + storage(2) + number(0) + numbers(2) + numbers(1) + b"\x89Nt"
    for kind, ran in ((Careful, False), (Writing, False), (Quiet, True)):
        full = f"{kind.__module__}.{kind.__qualname__}"
        parts = (
            name("torch._utils._rebuild_tensor_v2")
            + name(full)
            + plain
            + b"}"
            + text("a")
            + b"K\x01s"
        )
        content = forged(
            name("torch._tensor._rebuild_from_type_v2") + b"(" + parts + b"tR.", _0=BYTES
        )
        found = loaded(content)
        assert (type(found) is kind and found.a == 1) if ran else isinstance(found, REFUSED)


@pytest.mark.parametrize(
    "made",
    [
        tensor(storage(2), number(0), numbers(3), numbers(1)),
        tensor(storage(2), number(1), numbers(2), numbers(1)),
        tensor(storage(2), number(0), numbers(2), numbers(2**62)),
        tensor(storage(2), number(0), numbers(5), numbers(2**60)),
        tensor(storage(2), number(0), numbers(2, 2), numbers(2**63 - 1, 1)),
        tensor(storage(2), number(-1), numbers(1), numbers(1)),
        tensor(storage(2), number(1), numbers(2), numbers(-1)),
        tensor(storage(2), number(0), numbers(-2), numbers(1)),
        tensor(storage(2), number(0), numbers(2), numbers(1, 1)),
        tensor(storage(2), b"G" + bytes(8), numbers(2), numbers(1)),
        tensor(storage(2), b"\x88", numbers(1), numbers(1)),
        tensor(storage(2), number(0), b"N", numbers(1)),
        tensor(storage(2), number(0), numbers(*[1] * 65), numbers(*[1] * 65)),
        tensor(text("0"), number(0), numbers(2), numbers(1)),
        tensor(storage(2, "torch.storage.UntypedStorage"), number(0), numbers(2), numbers(1)),
        tensor(storage(3), number(0), numbers(2), numbers(1)),
        tensor(storage(2**61), number(0), numbers(2), numbers(1)),
        tensor(storage(-1), number(0), numbers(2), numbers(1)),
        tensor(storage(2, key="1"), number(0), numbers(2), numbers(1)),
        tensor(storage(2, key="../../etc/passwd"), number(0), numbers(2), numbers(1)),
        tensor(storage(2, kind="torch.float32"), number(0), numbers(2), numbers(1)),
        ONE + tensor(storage(1, "torch.DoubleStorage") + b"0", number(0), numbers(2), numbers(1)),
    ],
)
def test_a_tensor_stays_within_its_storage(made):
    check_refused(forged(made + b".", _0=BYTES), ".")


def test_a_tensor_expanded_without_end_takes_no_memory():
    made = tensor(storage(2), number(0), numbers(10**6, 10**6), numbers(0, 0))
    found = loaded(forged(made + b".", _0=BYTES))
    assert found.shape == (10**6, 10**6)
    conjugated = made.replace(b"\x89NtR", b"\x89N}" + text("conj") + b"\x88stR")
    check_refused(forged(conjugated + b".", _0=BYTES), "would take more than")


# -- pickles that take time or memory ----------------------------------------------------------


def nested(depth):
    """A tuple of two tuples of two, and so on: a few bytes, 2 ** depth parts."""
    return b")" + b"2\x86" * depth


@pytest.mark.parametrize(
    "pickled",
    [
        b"}" + nested(60) + b"Ns.",
        b"\x8f(" + nested(60) + b"\x90.",
        b"(" + nested(60) + b"\x91.",
        name("builtins.set") + b"]" + nested(60) + b"a\x85R.",
        name("collections.OrderedDict") + b"]" + nested(60) + b"N\x86a\x85R.",
        b"}" + name("builtins.slice") + nested(60) + b"2\x86RNs.",
        b"}" + b")" + b"\x85" * 300_000 + b"Ns.",
    ],
)
def test_keys_that_take_long_to_hash_are_refused(pickled):
    check_refused(forged(pickled), "parts")


@pytest.mark.parametrize("kind", ["", "builtins.range", "builtins.slice"])
def test_numbers_that_take_long_to_hash_are_refused(kind):
    long = b"\x8b" + struct.pack("<l", 10_000) + b"\x01" * 10_000
    key = name(kind) + long + b"\x85R" if kind else long
    check_refused(forged(b"}" + key + b"Ns."), "a number of more than 4096 bits")


def called(full, *args):
    return name(full) + b"(" + b"".join(args) + b"tR."


ENDLESS = nested(60)


@pytest.mark.parametrize(
    "pickled",
    [
        ENDLESS + b"Q.",
        b"(" + text("storage") + ENDLESS + b"NNNtQ.",
        ENDLESS + b")R.",
        ENDLESS + b")\x81.",
        called("numpy.dtype", ENDLESS),
        called("numpy.core.multiarray.scalar", ENDLESS, ENDLESS),
        name("numpy.core.multiarray._reconstruct")
        + name("numpy.ndarray")
        + b"NN\x87R("
        + ENDLESS * 5
        + b"tb.",
        called("torch._utils._rebuild_meta_tensor_no_storage", FLOAT, ENDLESS, b")", b"N"),
        called("torch._utils._rebuild_tensor_v2", storage(2), number(0), ENDLESS, ENDLESS),
        called("torch._utils._rebuild_sparse_tensor", ENDLESS, b")"),
        called("torch._tensor._rebuild_from_type_v2", ENDLESS * 4),
        called("torch.nn.parameter.UninitializedParameter", ENDLESS * 3),
        called("torch.serialization._get_layout", ENDLESS),
        called("torch.Size", ENDLESS),
        called("_codecs.encode", text("a"), ENDLESS),
    ],
)
def test_an_error_does_not_tell_what_would_take_for_ever(pickled):
    check_refused(forged(pickled, _0=bytes(8)))


def test_keys_of_storages_before_archives_are_text():
    begins = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {}, 1)]
    check_refused(b"".join(begins) + b"]" + ENDLESS + b"a.", "storages are not those")


def test_data_nested_deeply_comes_back():
    found = loaded(forged(b"]" * 100_000 + b"a" * 99_999 + b"."))
    depth = 0
    while found:
        found, depth = found[0], depth + 1
    assert depth == 99_999


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x8e" + struct.pack("<Q", 2**62) + b"a.",
        b"\x8d" + struct.pack("<Q", 2**62) + b"a.",
        b"\x96" + struct.pack("<Q", 2**62) + b"a.",
        b"X" + struct.pack("<L", 2**32 - 1) + b"a.",
        b"\x8b" + struct.pack("<l", 2**31 - 1) + b"a.",
        *(b"h\x05.", b"j\xff\xff\xff\xff.", b".", b"", b"0.", b"t.", b"e.", b"s.", b"\x93.", b"R."),
        *(
            b"c" + b"a" * 5000,
            b"cos\nsystem",
            b"\x97.",
            b"Q.",
            b"NQ.",
            b"I1\n.",
            b"}(NNNu.",
            b"\xff.",
        ),
    ],
)
def test_broken_pickles_are_refused(pickled):
    check_refused(forged(pickled))


def test_the_memo_takes_no_more_than_it_holds():
    assert loaded(forged(b"Nr" + struct.pack("<L", 2**32 - 1) + b".")) is None


def test_functions_that_copy_are_charged():
    long = b"X" + struct.pack("<L", 1 << 20) + b"a" * (1 << 20)
    copied = name("_codecs.encode") + b"q\x000" + long + text("latin1") + b"\x86q\x010"
    check_refused(forged(b"](" + copied + b"h\x00h\x01R" * 1000 + b"e."), "would take more than")


def test_arrays_of_objects_and_of_other_sizes_are_refused():
    made = (
        name("numpy._core.multiarray._reconstruct")
        + name("numpy.ndarray")
        + numbers(0)
        + b"C\x01b\x87R"
    )
    kind = name("numpy.dtype") + text("{}") + b"\x89\x88\x87R"

    def state(code, size, content):
        parts = number(1) + numbers(size) + kind.replace(text("{}"), text(code)) + b"\x89"
        return forged(made + b"(" + parts + b"C" + bytes([len(content)]) + content + b"tb.")

    assert loaded(state("f4", 1, bytes(4))).tolist() == [0.0]
    check_refused(state("O8", 1, bytes(8)), "none of numbers")
    check_refused(state("V4", 1, bytes(4)), "none of numbers")
    check_refused(state("f4", 2, bytes(4)))
    check_refused(state("f4", 2**62, bytes(4)))
    check_refused(state("f4", -1, bytes(4)))


# -- archives ----------------------------------------------------------------------------------


def good():
    file = io.BytesIO()
    rg.save({"a": rg.arange(6.0), "b": rg.zeros(3)}, file)
    return file.getvalue()


def test_a_file_that_grows_too_much_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", ONE.replace(number(2), number(1 << 26), 1) + b".")
        archive.writestr("archive/data/0", bytes(1 << 28))
    check_refused(file.getvalue(), "would take more than")


def test_a_compressed_file_is_read_and_one_that_lies_about_its_size_is_not():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", ONE + b".")
        archive.writestr("archive/data/0", BYTES)
    assert loaded(file.getvalue()).tolist() == [1.5, 2.5]
    lying = bytearray(file.getvalue())
    at = lying.rfind(b"PK\1\2")
    lying[at + 24 : at + 28] = struct.pack("<L", 4)
    check_refused(bytes(lying), "another size than it says")


def test_records_that_overlap_are_refused():
    content = bytearray(good())
    first = content.find(b"PK\1\2")
    second = content.find(b"PK\1\2", first + 1)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    check_refused(bytes(content), "PytorchStreamReader failed")


def test_a_record_that_reaches_into_the_next_is_refused():
    content = bytearray(good())
    at = content.find(b"PK\1\2")
    longer = struct.unpack_from("<L", content, at + 20)[0] + 1000
    content[at + 20 : at + 28] = struct.pack("<2L", longer, longer)
    check_refused(bytes(content), "reaches into the next one")


def test_two_records_of_one_name_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("archive/data.pkl", b"N.")
            archive.writestr("archive/data.pkl", b"K\x01.")
    check_refused(file.getvalue(), "two records")


def test_names_of_records_are_not_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = {"../data.pkl": b"N.", "../../etc/passwd": b"x", "/tmp/x": b"y"}
    assert loaded(packed(records)) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "records",
    [
        {},
        {"a/version": b"3"},
        {"a/data.pkl": b"N.", "b/data.pkl": b"N."},
        {"data.pkl": b"N."},
        {"a/x.npy": b""},
        {"a/b/data.pkl": b"N."},
    ],
)
def test_archives_of_another_kind_are_refused(records):
    check_refused(packed(records), r"PytorchStreamReader|npz|Invalid magic number")


def test_numbers_that_an_archive_claims_allocate_nothing():
    content = good()
    end = content.rfind(b"PK\5\6")
    for at, width in ((8, 2), (10, 2), (12, 4), (16, 4), (20, 2)):
        forged_end = bytearray(content)
        forged_end[end + at : end + at + width] = b"\xff" * width
        check_refused(bytes(forged_end), "PytorchStreamReader|the file ends early")
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**62, 2**62, 2**62, 2**61)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    check_refused(content[:end] + wide + locator + content[end:], "PytorchStreamReader|early")


def test_what_follows_an_archive_is_refused():
    check_refused(good() + b"x", "bytes follow its end")
    check_refused(good() + good(), "not where it should be")


@pytest.mark.parametrize("name", ["views.pt", "legacy.pt", "x.safetensors"])
def test_a_file_that_was_cut_anywhere_is_refused(name):
    content = (FILES / name).read_bytes()
    for keep in [*range(0, len(content), 7), *range(len(content) - 40, len(content))]:
        assert isinstance(loaded(content[:keep]), REFUSED), keep


def test_an_altered_byte_of_a_tensor_is_noticed():
    content = bytearray(good())
    at = content.find(np.arange(6, dtype=np.float32).tobytes())
    content[at + 5] ^= 1
    check_refused(bytes(content), "the checksum of the record")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "Ran out of input"),
        (b"<html>not found</html>", "Invalid magic number"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Invalid magic number"),
        (b"PK\3\4 and so on, a file of something else", "PytorchStreamReader failed"),
        (bytes(1000), "Invalid magic number"),
        (b"x" * 257 + b"ustar", "tar archive"),
        (b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.", "Invalid magic number"),
    ],
)
def test_files_of_another_kind_are_refused(content, match):
    check_refused(content, match)
    found = loaded(content, weights_only=False)
    assert isinstance(found, REFUSED)


def test_bytes_of_no_format_raise_both_errors_that_pytorch_has_for_them():
    plain = [pickle.dumps(value, protocol=4) for value in ([1, 2], np.ones(2), 0)]
    for content in (b"<html>not found</html>", *plain):
        for weights_only in (True, False):
            for kind in (pickle.UnpicklingError, RuntimeError):
                with pytest.raises(kind, match="Invalid magic number"):
                    rg.load(io.BytesIO(content), weights_only=weights_only)


# -- the format before archives ----------------------------------------------------------------


def legacy(pickled, keys, *storages):
    begins = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    head = b"".join(pickle.dumps(value, 2) for value in begins)
    return head + pickled + pickle.dumps(keys, 2) + b"".join(storages)


def counted(count, content):
    return struct.pack("<q", count) + content


LEGACY = ONE.replace(b"tQ", b"NtQ") + b"."


def test_storages_of_the_format_before_archives_are_checked():
    assert loaded(legacy(LEGACY, ["0"], counted(2, BYTES))).tolist() == [1.5, 2.5]
    for content in (
        legacy(LEGACY, [], counted(2, BYTES)),
        legacy(LEGACY, ["0", "0"], counted(2, BYTES), counted(2, BYTES)),
        legacy(LEGACY, ["1"], counted(2, BYTES)),
        legacy(LEGACY, ["0"], counted(3, BYTES)),
        legacy(LEGACY, ["0"], counted(-2, BYTES)),
        legacy(LEGACY, ["0"], counted(2, BYTES[:4])),
        legacy(LEGACY.replace(number(2), number(2**40), 1), ["0"], counted(2**40, BYTES)),
    ):
        check_refused(content, ".")


def test_a_part_of_a_storage_stays_within_it():
    def part(offset, count):
        view = b"(" + text("v") + number(offset) + number(count) + b"t"
        return legacy(ONE.replace(b"tQ", view + b"tQ") + b".", ["0"], counted(2, BYTES))

    assert isinstance(loaded(part(1, 1)), REFUSED)  # two elements of a part of one
    assert loaded(part(0, 2)).tolist() == [1.5, 2.5]
    for offset, count in ((1, 2), (-1, 2), (0, 3), (0, -1)):
        check_refused(part(offset, count), ".")


# -- other formats -----------------------------------------------------------------------------


def headed(header, content=b""):
    return struct.pack("<Q", len(header)) + header.encode() + content


@pytest.mark.parametrize(
    "content",
    [
        headed('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(7)),
        headed('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(9)),
        headed('{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}', bytes(8)),
        headed('{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}', bytes(8)),
        headed('{"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}', bytes(8)),
        headed('{"a":{"dtype":"F32","shape":[true,2],"data_offsets":[0,8]}}', bytes(8)),
        headed('{"a":{"dtype":"F9","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
        headed('{"a":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}}', bytes(8)),
        headed('{"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}', bytes(8)),
        headed('{"a":{"dtype":"U8","shape":[0,4611686018427387904,16],"data_offsets":[0,0]}}'),
        headed(
            '{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},'
            '"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}',
            bytes(8),
        ),
        headed(
            '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},'
            '"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
            bytes(4),
        ),
        headed('{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}}', bytes(4)),
        headed('{"a":[]}'),
        headed('{"__metadata__":{"a":1}}'),
        headed('{"__metadata__":[]}'),
        headed('{"a":' + "[" * 100_000),
        headed('{"a":' + "9" * 100_000 + "}"),
        struct.pack("<Q", 2**62) + b'{"a"',
        struct.pack("<Q", 3) + b'{"\xff',
    ],
)
def test_altered_safetensors_are_refused(content):
    check_refused(content, ".")
    assert isinstance(harmless(lambda: safetensors.load(content)), RuntimeError)


def test_arrays_of_objects_in_an_npz_are_refused():
    file = io.BytesIO()
    np.savez(file, a=np.array([print], object))
    found = harmless(lambda: npz.load_file(io.BytesIO(file.getvalue())))
    assert isinstance(found, RuntimeError)
    assert "cannot be read" in str(found)


# -- altered at random -------------------------------------------------------------------------


def altered(content, generator):
    """The content with a few bytes overwritten, left out, doubled or moved."""
    made = bytearray(content)
    for _ in range(generator.integers(1, 4)):
        at = int(generator.integers(len(made)))
        length = int(generator.integers(1, 9))
        kind = generator.integers(5)
        if kind == 0:
            made[at] ^= 1 << int(generator.integers(8))
        elif kind == 1:
            made[at : at + length] = generator.bytes(length)
        elif kind == 2:
            del made[at : at + length]
        elif kind == 3:
            made[at:at] = made[at : at + length]
        else:
            made[at : at + length] = b"\xff" * length
    return bytes(made)


def readers(paths):
    """How reference files, and the pickles within them, are read."""
    for path in paths:
        content = path.read_bytes()
        yield pytest.param(content, lambda made: rg.load(io.BytesIO(made)), id=path.name)
        if content.startswith(b"PK") and path.name != "unchecked.pt":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                records = {each: archive.read(each) for each in archive.namelist()}
            (own,) = [each for each in records if each.endswith("/data.pkl")]

            def within(made, records=records, own=own):
                return rg.load(io.BytesIO(packed({**records, own: made})))

            yield pytest.param(records[own], within, id=f"pickle of {path.name}")


def arrays():
    """How a file of arrays is read."""
    file = io.BytesIO()
    np.savez(file, a=np.arange(6.0).reshape(2, 3), b=np.ones(2, np.int8))
    content = file.getvalue()
    return pytest.param(content, lambda made: npz.load_file(io.BytesIO(made)), id="arrays.npz")


PATHS = [
    path
    for path in sorted(FILES.iterdir())
    if path.suffix in (".pt", ".rg", ".safetensors") and path.name != "sparse.pt"
]  # that one: tests/torch/sparse


@pytest.mark.parametrize(("content", "read"), [*readers(PATHS), arrays()])
def test_a_file_altered_at_random_gives_data_or_a_clear_error(content, read):
    generator = np.random.default_rng(0)
    outcomes = collections.Counter()
    for _ in range(150):
        made = altered(content, generator)
        outcomes[type(harmless(lambda made=made: read(made)))] += 1
    assert outcomes[RuntimeError] + outcomes[pickle.UnpicklingError] > 20


def test_unsafe_names_are_told_without_running_anything():
    pickled = name("os.system") + text("true") + b"\x85R}" + ONE + b"sb."
    content = forged(pickled.replace(b"}" + ONE + b"s", b"}N" + ONE + b"s"), _0=BYTES)
    found = harmless(lambda: serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(content)))
    assert found == ["os.system"]
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"N."))
