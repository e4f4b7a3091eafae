"""Check arguments of public functions against annotations, and translate exceptions.

An argument is refused only if it matches no alternative of its annotation: a string in place of a list of strings, a
path in place of an object. Classes of PySpark are recognized by name and not imported, as Spark Connect has its own
classes. An annotation that cannot be resolved accepts every value.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from functools import cache, wraps
from importlib import import_module
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, get_args, get_origin

from parquet_core.errors import WrongUse
from parquet_core.printable import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_LONGEST = 60
_BY_NAME = {"pyspark"}
# Modules of generic classes whose type arguments describe elements.
_OF_ELEMENTS = {"builtins", "collections.abc"}


def public_function(
    function: Callable[Arguments, Result],
    package: str,
    *,
    makers: Callable[[], Mapping[str, str]],
    failure: Callable[[Exception], Exception] | None,
) -> Callable[Arguments, Result]:
    """Wrap a public function: check its arguments first, and translate its exceptions by `failure`.

    `makers`: returns texts that show users how to create an object, by class name. The text for a mapping has the key
    `function.parameter`. Called only for an error.
    """

    @wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        check_arguments(function, args, kwargs, makers=makers)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if failure is None or (translated := failure(error)) is error:
                raise
            raise translated from error

    # pickle imports the function by this name.
    checked.__module__ = package
    return checked


def check_arguments(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    *,
    makers: Callable[[], Mapping[str, str]],
) -> None:
    """Raise WrongUse for an argument whose type the annotation excludes.

    Missing and extra arguments are not reported here: the call itself raises a TypeError that names them.
    """
    signature, hints = _signature(function)
    places = sum(parameter.kind is not parameter.KEYWORD_ONLY for parameter in signature.parameters.values())
    try:
        given = signature.bind_partial(*args[:places], **kwargs).arguments
    except TypeError:
        return
    for name, value in given.items():
        hint = hints.get(name, object)
        if not matches(value, hint) or _is_other_number(value, hint):
            known_makers = makers()
            made = (
                {**known_makers, "dict": known_makers[key]}
                if (key := f"{function.__name__}.{name}") in known_makers
                else known_makers
            )
            problem = _parameter_hint(name, value, hints, known_makers) or _problem(name, value, hint, made)
            raise WrongUse(f"{function.__name__}: {problem}")


def _parameter_hint(name: str, value: object, hints: Mapping[str, Any], makers: Mapping[str, str]) -> str:
    """Return a message that suggests another parameter for a value of this class; "" if no parameter accepts it.

    `name`: parameter to which the value was passed.
    """
    classes = {ancestor.__name__ for ancestor in type(value).__mro__} & makers.keys()
    other = next(
        (parameter for parameter, hint in hints.items() if parameter != name and classes & {*_nouns(hint)}), None
    )
    return "" if other is None else f"{name} is {_with_article(_class_of(value))}; pass it as {other}="


def _problem(name: str, value: object, hint: Any, makers: Mapping[str, str]) -> str:
    nouns = [*dict.fromkeys(_nouns(hint))]
    literal = shown(value)[:_LONGEST] if isinstance(value, str | bytes | Number | os.PathLike) else ""
    given = "is None" if value is None else f"is {_with_article(_class_of(value))}"
    expected = _either([noun if noun == "None" else _with_article(noun) for noun in nouns])
    if isinstance(value, str) and any(noun.startswith("list of") for noun in nouns):
        steps = [f"{name}=[{literal}]"]
    else:
        steps = [makers[noun] for noun in nouns if noun in makers]
    return f"{name}{literal and f'={literal}'} {given}; give {expected}{': ' if steps else ''}{', or '.join(steps)}"


def _class_of(value: object) -> str:
    """Return the class name of a value; for a list, also of its elements."""
    name = type(value).__name__
    if not isinstance(value, list | tuple | set) or not value:
        return name
    return f"{name} of {_either(sorted({type(element).__name__ for element in value}))}"


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _either(nouns: list[str]) -> str:
    *first, last = nouns
    return f"{', '.join(first)} or {last}" if first else last


def _nouns(hint: Any) -> Iterator[str]:
    """Yield a noun for each alternative type of a hint, for messages."""
    arguments, origin = get_args(hint), get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        for part in arguments:
            yield from _nouns(part)
    elif origin is Literal:
        yield from (repr(argument) for argument in arguments)
    elif origin is os.PathLike:
        yield "Path"
    elif inspect.isclass(origin) and issubclass(origin, Mapping):
        yield "dict"
    elif inspect.isclass(origin) and issubclass(origin, Iterable) and origin.__module__ in _OF_ELEMENTS:
        elements = [noun for part in arguments if part is not Ellipsis for noun in _nouns(part)]
        yield f"list of {_either(elements)}" if elements else "list"
    else:
        yield "None" if hint in {None, types.NoneType} else getattr(hint, "__name__", str(hint))


def matches(value: object, hint: Any) -> bool:
    """Return True unless the type of a value contradicts the annotation.

    The elements of lists and mappings are checked too.

    >>> from collections.abc import Sequence
    >>> [matches(value, Sequence[str] | None) for value in (["a"], ("a",), {"a"}, None, "a", 1, [1])]
    [True, True, True, True, False, False, False]
    """
    arguments, origin = get_args(hint), get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        return any(matches(value, part) for part in arguments)
    if origin is Literal:
        return any(isinstance(value, type(argument)) for argument in arguments)
    if not inspect.isclass(origin):
        return _is_instance(value, hint)
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and _all(value, arguments[:1]) and _all(value.values(), arguments[1:])
    # The type arguments of other generic classes do not describe elements: for a numpy array they are shape and dtype.
    if issubclass(origin, Iterable) and origin.__module__ in _OF_ELEMENTS and origin is not tuple:
        return hasattr(type(value), "__iter__") and not isinstance(value, str | bytes) and _all(value, arguments[:1])
    return _is_instance(value, origin)


def _is_other_number(value: object, hint: Any) -> bool:
    """Return True for a bool where only numbers are valid, and for a fraction where only integers are."""
    hints = set(get_args(hint) if get_origin(hint) in {typing.Union, types.UnionType} else [hint])
    if bool in hints or not hints & {int, float}:
        return False
    is_fraction = isinstance(value, float) and not value.is_integer()
    return type(value).__name__ in {"bool", "bool_"} or (is_fraction and float not in hints)


def _all(values: Any, hints: tuple[Any, ...]) -> bool:
    """Return True if one element of each class matches the hint; an iterator is not consumed."""
    if not hints or not hasattr(type(values), "__len__") or not hasattr(type(values), "__iter__"):
        return True
    return all(matches(value, hints[0]) for value in {type(value): value for value in values}.values())


def _is_instance(value: object, hint: Any) -> bool:
    if hint is None or hint is types.NoneType:
        return value is None
    if hint in {int, float, bool}:
        # numpy's numbers are included. numpy's bool is not registered as a number.
        return isinstance(value, Number) or type(value).__name__ in {"bool", "bool_"}
    if not inspect.isclass(hint):
        return True
    try:
        return isinstance(value, hint)
    except TypeError:  # such as a protocol
        return True


@cache
def _signature(function: Callable[..., object]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Return the signature of a function and its annotations.

    Annotations that cannot be resolved are `object`.
    """
    signature = inspect.signature(function)
    module = sys.modules[function.__module__]
    names = _Names(module)
    return signature, {
        name: evaluated(parameter.annotation, module, names)
        if isinstance(parameter.annotation, str)
        else parameter.annotation
        for name, parameter in signature.parameters.items()
        if parameter.annotation is not parameter.empty
    }


class _Names(dict[str, Any]):
    """Names that a module defines for its annotations only, below `if TYPE_CHECKING`."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__()
        self._module = module
        self._nodes: dict[str, ast.Import | ast.ImportFrom | ast.Assign] = {}
        for block in ast.parse(inspect.getsource(module)).body:
            for node in block.body if isinstance(block, ast.If) else ():
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._nodes.update({alias.asname or alias.name: node for alias in node.names})
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    self._nodes[node.targets[0].id] = node

    def __missing__(self, name: str) -> Any:
        node = self._nodes[name]
        if isinstance(node, ast.Assign):
            return evaluated(ast.unparse(node.value), self._module, self)
        original = next(alias.name for alias in node.names if name == (alias.asname or alias.name))
        if isinstance(node, ast.Import):
            return import_module(original)
        home = node.module or ""
        if home.partition(".")[0] in _BY_NAME:
            return _by_name(original)
        return getattr(import_module(home), original)


def evaluated(annotation: str, module: types.ModuleType, names: Mapping[str, Any]) -> Any:
    """Return the type of a module's annotation; `object` if it cannot be resolved."""
    try:
        return eval(annotation, vars(module), names)  # noqa: S307 - annotations of our own source
    except (NameError, AttributeError, TypeError, ImportError):
        return object


class _ByName(type):
    """Metaclass of a stand-in: instances of any class with the same name count as instances of the stand-in."""

    def __instancecheck__(cls, value: object) -> bool:
        return any(ancestor.__name__ == cls.__name__ for ancestor in type(value).__mro__)


@cache
def _by_name(name: str) -> type:
    return _ByName(name, (), {})
