"""The numbers of the value format: extensions, markers, forms, kinds of buffers.

docs/value-format.md tells their meaning; ``src/runtime/wire/value/tags.ts`` is the same list for TypeScript.
"""

UNDEFINED = 0
HOLE = 1
BIGINT = 2
DATE = 3
UTF16_STRING = 4
BUFFER = 5
OUT_OF_BAND_BUFFER = 6
REFERENCE = 7
FORM = 16
SHARED = 17
CUSTOM = 18
SHAPE_DEFINITION = 19
SHAPE = 20
TIMESTAMP = -1
MARKERS = frozenset((FORM, SHARED, CUSTOM, SHAPE_DEFINITION, SHAPE))

FORM_MAP = 1
FORM_SET = 2
FORM_REG_EXP = 3
FORM_ERROR = 4
FORM_DOM_EXCEPTION = 5
FORM_NULL_PROTOTYPE = 6
FORM_BOXED = 7
FORM_MATCH = 8
FORM_SPARSE_ARRAY = 9

UINT8_ARRAY = 4
#: Kind of buffer by the name of its element type; those of ``bytes`` have none.
DTYPE_OF_KIND = {
    3: "int8",
    5: "uint8",
    6: "int16",
    7: "uint16",
    8: "int32",
    9: "uint32",
    10: "float16",
    11: "float32",
    12: "float64",
    13: "int64",
    14: "uint64",
}
KIND_OF_DTYPE = {dtype: kind for kind, dtype in DTYPE_OF_KIND.items()}
#: A ``Uint8Array`` is what JavaScript has for bytes of any meaning.
KIND_OF_DTYPE["uint8"] = UINT8_ARRAY
BYTES_KINDS = frozenset((0, 1, 2, UINT8_ARRAY))

SAFE_INTEGER_MAX = 2**53 - 1

#: Application types, as in ``src/core/serializer.ts``.
KIND_REF = 0
KIND_ACTOR = 1
KIND_REMOTE_FUNCTION = 2
KIND_ACTOR_CLASS = 3
KIND_DEPENDENCY = 4
KIND_REGISTERED = 5
KIND_SHOAL_ERROR = 6
KIND_ND_ARRAY = 30
KIND_ARROW = 31
KIND_TEXT = 32
KIND_TENSOR = 33
KIND_NAMED = 34
KIND_PYTHON_OBJECT = 35
KIND_TUPLE = 36
KIND_EXACT = 37
KIND_KEYWORDS = 38
