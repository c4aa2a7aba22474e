"""Plain values from a loop's reports: numbers of NumPy, torch, TensorFlow and JAX become numbers of Python, and values without a form in JSON are refused by their place."""


def plain(value, place="metrics"):
    """The value as dicts with texts as keys, lists, numbers, texts, booleans and None.

    :raises TypeError: for anything else, naming its place
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        # Subclasses, such as numpy.float64 and members of IntEnum, too.
        return float(value) if isinstance(value, float) else int(value)
    if isinstance(value, dict):
        return {_key(key, place): plain(item, "%s[%r]" % (place, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, "%s[%d]" % (place, index)) for index, item in enumerate(value)]
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        # A tensor of torch; bfloat16 has no array of NumPy.
        return value.detach().cpu().tolist()
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return plain(value.tolist(), place)
    raise TypeError(
        "Cannot report %s: metrics are numbers, texts, booleans, None, and lists and dicts of them: received %s" % (place, type(value).__name__)
    )


def _key(key, place):
    if isinstance(key, str):
        return key
    if isinstance(key, (int, float)):
        return str(key)
    raise TypeError("Cannot report %s: keys are texts: received %s" % (place, type(key).__name__))
